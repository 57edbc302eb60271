#include "runtime/stdin_writer.h"

#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

namespace agenttier::runtime {

namespace asio = boost::asio;

namespace {

base::Error closed() {
  return base::conflict("stdin: it is closed");
}

}  // namespace

StdinWriter::StdinWriter(async::Executor executor, os::Fd target, Kind kind)
    : target_(executor, target.release()), kind_(kind), free_(executor) {}

async::Task<base::Status> StdinWriter::write(std::string bytes) {
  while (busy_) {
    if (co_await free_.wait() == async::Wake::kCancelled) co_return base::cancelled("stdin");
  }
  busy_ = true;
  auto written = co_await write_all(std::move(bytes));
  busy_ = false;
  free_.notify_all();
  co_return written;
}

async::Task<base::Status> StdinWriter::end() {
  if (kind_ == Kind::kTerminal) {
    const char end_of_file = 4;  // what Ctrl-D types
    std::string typed(1, end_of_file);
    co_return co_await write(std::move(typed));
  }
  AT_CO_OK(co_await write({}));  // after the writes that came first
  if (!target_.is_open()) co_return closed();
  close();
  co_return base::Status();
}

void StdinWriter::close() {
  boost::system::error_code ignored;
  target_.close(ignored);
}

async::Task<base::Status> StdinWriter::write_all(std::string bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    if (!target_.is_open()) co_return closed();
    const ssize_t count =
        ::write(target_.native_handle(), bytes.data() + done, bytes.size() - done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count < 0 && errno == EAGAIN) {
      co_await target_.async_wait(asio::posix::descriptor_base::wait_write,
                                  asio::as_tuple(asio::use_awaitable));
      if (co_await async::is_cancelled()) co_return base::cancelled("stdin");
    } else if (count < 0 && errno != EINTR) {
      close();
      co_return closed();
    }
  }
  if (!target_.is_open()) co_return closed();
  co_return base::Status();
}

}  // namespace agenttier::runtime
