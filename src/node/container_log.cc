#include "node/container_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "async/task_group.h"
#include "observe/log.h"
#include "os/file.h"

namespace agenttier::node {

namespace asio = boost::asio;
using base::Result;
using base::Status;
using Descriptor = asio::posix::stream_descriptor;

namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::size_t kDrainBytesMax = 1UL << 20U;
constexpr auto kChunkPause =
    std::chrono::nanoseconds(std::chrono::seconds(1)) * kChunkBytes / kLogBytesPerSecondMax;

Result<os::Fd> open_fifo(const std::string& path, int flags) {
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) {
    return base::from_errno("make " + path, errno);
  }
  // Both ways: opening never waits, and there is always a reader.
  return os::open_file(path, O_RDWR | O_NOFOLLOW | flags);
}

// The newest file; touched by one call at a time.
struct LogFile {
  std::string path;
  os::Fd fd;
  std::uint64_t bytes = 0;

  Status append(const std::string& text) {
    if (!fd.is_open()) {
      AT_TRY(fd, os::open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
      struct stat info;
      bytes = ::fstat(fd.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
    }
    if (::write(fd.get(), text.data(), text.size()) < 0) {
      return base::from_errno("write " + path, errno);
    }
    bytes += text.size();
    if (bytes < kLogFileBytesMax) return {};
    fd.reset();
    return os::rename_path(path, path + ".1");
  }
};

}  // namespace

Result<LogStreams> make_log_streams(const std::string& base) {
  LogStreams streams;
  AT_TRY(streams.out, open_fifo(base + ".out", 0));
  AT_TRY(streams.err, open_fifo(base + ".err", 0));
  return streams;
}

struct ContainerLog::Shared {
  Shared(async::Executor executor, async::BlockingPool& blocking_in, async::Timers& timers_in,
         std::string base_in)
      : blocking(blocking_in),
        timers(timers_in),
        base(std::move(base_in)),
        file(std::make_shared<LogFile>()),
        changed(executor),
        out(executor),
        err(executor) {
    file->path = base + ".log";
  }

  async::BlockingPool& blocking;
  async::Timers& timers;
  const std::string base;
  std::shared_ptr<LogFile> file;
  async::Event changed;
  Descriptor out;
  Descriptor err;
  bool writing = false;
  bool finishing = false;
  bool finished = false;
};

namespace {

struct Chunk {
  std::string bytes;
  enum class End : std::uint8_t { kMore, kEmpty } end = End::kEmpty;
};

Chunk read_chunk(int fd) {
  Chunk chunk;
  chunk.bytes.resize(kChunkBytes);
  ssize_t count = 0;
  do {
    count = ::read(fd, chunk.bytes.data(), chunk.bytes.size());
  } while (count < 0 && errno == EINTR);
  chunk.bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  chunk.end = count > 0 ? Chunk::End::kMore : Chunk::End::kEmpty;
  return chunk;
}

template <class Shared>
async::Task<void> write_lines(std::shared_ptr<Shared> log, std::string lines) {
  if (lines.empty()) co_return;
  while (log->writing) co_await log->changed.wait_shielded();
  log->writing = true;
  const auto file = log->file;
  auto append = [file, lines = std::move(lines)] { return file->append(lines); };
  const auto written = co_await log->blocking.run(std::move(append));
  log->writing = false;
  log->changed.notify_all();
  if (!written) observe::log_warning("container output lost", {{"why", written.error().message}});
}

// The end of a container leaves at most what its fifo holds.
template <class Shared>
async::Task<void> pump(std::shared_ptr<Shared> log, Descriptor& fifo, LogStream stream) {
  LogLineWriter writer(stream);
  co_await asio::this_coro::throw_if_cancelled(false);
  std::size_t drained = 0;
  while (drained < kDrainBytesMax && !co_await async::is_cancelled()) {
    const Chunk chunk = read_chunk(fifo.native_handle());
    if (chunk.end == Chunk::End::kEmpty) {
      if (log->finishing) break;
      (void)co_await fifo.async_wait(Descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
      continue;
    }
    co_await write_lines(log, writer.add(chunk.bytes, log->timers.clock().now()));
    if (log->finishing) {
      drained += chunk.bytes.size();
    } else if (chunk.bytes.size() == kChunkBytes) {
      co_await log->timers.sleep_for(kChunkPause);
    }
  }
  co_await write_lines(log, writer.finish(log->timers.clock().now()));
}

}  // namespace

ContainerLog::ContainerLog(async::Executor executor, async::BlockingPool& blocking,
                           async::Timers& timers, std::string base)
    : shared_(std::make_shared<Shared>(std::move(executor), blocking, timers, std::move(base))) {}

ContainerLog::~ContainerLog() = default;

const std::string& ContainerLog::base() const {
  return shared_->base;
}
bool ContainerLog::finished() const {
  return shared_->finished;
}

async::Task<async::Wake> ContainerLog::wait_change() {
  const auto log = shared_;
  co_return co_await log->changed.wait();
}

void ContainerLog::finish() {
  shared_->finishing = true;
  boost::system::error_code ignored;
  shared_->out.cancel(ignored);
  shared_->err.cancel(ignored);
}

async::Task<void> ContainerLog::run() {
  const auto log = shared_;
  auto out = open_fifo(log->base + ".out", O_NONBLOCK);
  auto err = open_fifo(log->base + ".err", O_NONBLOCK);
  if (out && err) {
    log->out.assign(out->release());
    log->err.assign(err->release());
    using asio::experimental::awaitable_operators::operator&&;
    co_await (pump(log, log->out, LogStream::kStdout) && pump(log, log->err, LogStream::kStderr));
    boost::system::error_code ignored;
    log->out.close(ignored);
    log->err.close(ignored);
  } else {
    observe::log_warning("container log cannot be read", {{"log", log->base}});
  }
  log->file->fd.reset();
  log->finished = true;
  log->changed.notify_all();
}

}  // namespace agenttier::node
