#include "runtime/output_pump.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "async/task_group.h"
#include "async/timers.h"
#include "runtime/limits.h"

namespace agenttier::runtime {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// One buffer for all pumps: it is filled and emptied within one turn of the loop.
std::array<char, kPipeReadBytes>& shared_buffer() {
  static std::array<char, kPipeReadBytes> buffer;
  return buffer;
}

}  // namespace

OutputPump::OutputPump(async::Executor executor, os::Fd source, Channel channel, FollowedLog& log)
    : source_(executor, source.release()), channel_(channel), log_(log) {}

async::Task<void> OutputPump::run() {
  while (!settled()) {
    if (!log_.has_room()) {
      if (co_await log_.wait_room() == async::Wake::kCancelled) co_return;
      continue;
    }
    const Step step = read_once();
    if (step == Step::kEnd) {
      reached_end_ = true;
      source_.close();
      co_return;
    }
    if (step == Step::kMore) {
      co_await asio::post(asio::use_awaitable);  // let the others have a turn
    } else if (!settling_) {
      // Ends early when settle() cancels it.
      co_await source_.async_wait(asio::posix::descriptor_base::wait_read, kAwait);
    }
    if (co_await async::is_cancelled()) co_return;
  }
}

OutputPump::Step OutputPump::read_once() {
  auto& buffer = shared_buffer();
  const std::size_t wanted = log_.append_bytes_max();
  const ssize_t count = ::read(source_.native_handle(), buffer.data(), wanted);
  if (count > 0) {
    const auto size = static_cast<std::size_t>(count);
    log_.append(channel_, {buffer.data(), size});
    owed_bytes_ -= std::min(owed_bytes_, size);
    return Step::kMore;
  }
  if (count < 0 && errno == EINTR) return Step::kMore;
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    owed_bytes_ = 0;
    return Step::kWait;
  }
  return Step::kEnd;  // also EIO, which is how a terminal ends
}

void OutputPump::program_exited() {
  int waiting = 0;
  if (source_.is_open() && ioctl(source_.native_handle(), FIONREAD, &waiting) == 0) {
    owed_bytes_ = static_cast<std::size_t>(std::max(waiting, 0));
  }
}

void OutputPump::settle() {
  settling_ = true;
  if (source_.is_open()) source_.cancel();
}

os::Fd OutputPump::release() {
  return os::Fd(source_.is_open() ? source_.release() : -1);
}

LingeringPipes::LingeringPipes(async::TaskGroup& tasks, async::Executor executor)
    : tasks_(tasks), executor_(std::move(executor)) {}

void LingeringPipes::adopt(os::Fd pipe) {
  if (!pipe.is_open()) return;
  if (pipes_.size() >= kLingeringPipesMax) {
    pipes_.front()->close();
    pipes_.pop_front();
  }
  auto kept = std::make_shared<Pipe>(executor_, pipe.release());
  pipes_.push_back(kept);
  if (!tasks_.spawn(discard(std::move(kept)))) pipes_.pop_back();
}

async::Task<void> LingeringPipes::discard(std::shared_ptr<Pipe> pipe) {
  async::RealTimers timers;
  while (pipe->is_open()) {
    const ssize_t count =
        ::read(pipe->native_handle(), shared_buffer().data(), shared_buffer().size());
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) break;
    if (count > 0) {
      // What nobody will read need not be read fast.
      co_await timers.sleep_for(1ms);
    } else {
      co_await pipe->async_wait(asio::posix::descriptor_base::wait_read, kAwait);
    }
    if (co_await async::is_cancelled()) break;
  }
  std::erase(pipes_, pipe);
}

}  // namespace agenttier::runtime
