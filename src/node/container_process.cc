#include "node/container_process.h"

#include <poll.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace agenttier::node {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

// Another process is the parent of an adopted container; it needs a moment to reap it.
constexpr int kStatusTriesMax = 50;
constexpr auto kStatusPause = std::chrono::milliseconds(4);

bool has_ended(int pidfd) {
  pollfd readable{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&readable, 1, 0) > 0;
}

}  // namespace

ContainerProcess::ContainerProcess(async::Executor executor, pid_t pid,
                                   unsigned long long start_ticks, int pidfd)
    : pid_(pid), start_ticks_(start_ticks), pidfd_(std::move(executor), pidfd) {}

Result<ContainerProcess> ContainerProcess::open(async::Executor executor, pid_t pid,
                                                unsigned long long start_ticks) {
  // The descriptor first: from then on the pid cannot come to mean another process unnoticed.
  AT_TRY(os::Fd pidfd, os::open_pidfd(pid));
  AT_TRY(const unsigned long long ticks, os::process_start_ticks(pid));
  if (start_ticks != 0 && ticks != start_ticks) {
    return base::not_found("process " + std::to_string(pid) + " is another one by now");
  }
  return ContainerProcess(std::move(executor), pid, ticks, pidfd.release());
}

Status ContainerProcess::signal(int signal) {
  return os::send_signal(pidfd_.native_handle(), signal);
}

async::Task<ContainerProcess::Ending> ContainerProcess::wait(async::Timers& timers) {
  while (!has_ended(pidfd_.native_handle())) {
    if (co_await async::is_cancelled()) co_return Ending{async::Wake::kCancelled, std::nullopt};
    (void)co_await pidfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::as_tuple(asio::use_awaitable));
  }
  Ending ending{async::Wake::kNotified, os::take_exit_status(pidfd_.native_handle())};
  for (int tries = 0; !ending.status && tries < kStatusTriesMax; ++tries) {
    if (co_await timers.sleep_for(kStatusPause) == async::Wake::kCancelled) break;
    ending.status = os::take_exit_status(pidfd_.native_handle());
  }
  co_return ending;
}

}  // namespace agenttier::node
