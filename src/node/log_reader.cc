#include "node/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/time_format.h"
#include "os/fd.h"
#include "os/file.h"

namespace agenttier::node {

using base::Result;

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

// Where a reader is in the files of a log; used by one call at a time.
struct Cursor {
  std::string base;
  LogQuery query;
  os::Fd fd;
  ino_t inode = 0;
  std::string rest;  // an incomplete line
  bool started = false;
  bool exhausted = false;  // of limit_bytes
  std::uint64_t skip_lines = 0;
  std::uint64_t given = 0;
};

ino_t inode_of(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

void open_at(Cursor& cursor, const std::string& path) {
  cursor.fd.reset();
  cursor.inode = 0;
  auto fd = os::open_file(path, O_RDONLY | O_NOFOLLOW);
  if (!fd) return;
  struct stat info;
  cursor.fd = *std::move(fd);
  if (::fstat(cursor.fd.get(), &info) == 0) cursor.inode = info.st_ino;
}

std::string read_some(int fd) {
  std::string text(kPieceBytes, '\0');
  ssize_t count = 0;
  do {
    count = ::read(fd, text.data(), text.size());
  } while (count < 0 && errno == EINTR);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

// Whole lines only count; parts of one line end in one newline for the reader.
bool ends_line(std::string_view line) {
  const auto parsed = parse_log_line(line);
  return parsed && !parsed->partial;
}

std::uint64_t count_lines(const std::string& path) {
  const auto fd = os::open_file(path, O_RDONLY | O_NOFOLLOW);
  if (!fd) return 0;
  std::uint64_t lines = 0;
  std::string rest;
  for (std::string piece = read_some(fd->get()); !piece.empty(); piece = read_some(fd->get())) {
    rest += piece;
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos;
         end = rest.find('\n', begin)) {
      lines += ends_line(std::string_view(rest).substr(begin, end - begin)) ? 1U : 0U;
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
  return lines;
}

void start(Cursor& cursor) {
  cursor.started = true;
  const std::string newest = cursor.base + ".log", older = newest + ".1";
  if (cursor.query.tail_lines) {
    const std::uint64_t all = count_lines(older) + count_lines(newest);
    cursor.skip_lines = all - std::min(all, *cursor.query.tail_lines);
  }
  open_at(cursor, os::exists(older) ? older : newest);
}

void give_line(Cursor& cursor, std::string_view line, std::string& out) {
  const auto parsed = parse_log_line(line);
  if (!parsed) return;
  if (cursor.skip_lines > 0) {
    cursor.skip_lines -= parsed->partial ? 0U : 1U;
    return;
  }
  if (cursor.query.since) {
    const auto time = base::parse_rfc3339(parsed->time);
    if (time && *time < *cursor.query.since) return;
  }
  if (cursor.query.times == LogTimes::kShow) out.append(parsed->time).append(" ");
  out.append(parsed->text);
  if (!parsed->partial) out += '\n';
}

// What there is beyond the cursor, at most a piece; empty at the end of what is written.
std::string advance(Cursor& cursor) {
  if (!cursor.started) start(cursor);
  const std::string newest = cursor.base + ".log";
  std::string out;
  while (out.empty() && !cursor.exhausted) {
    if (!cursor.fd.is_open()) open_at(cursor, newest);
    const std::string piece = cursor.fd.is_open() ? read_some(cursor.fd.get()) : "";
    if (piece.empty()) {
      // The end of a file that was renamed away: go on in the one that took its place.
      const ino_t current = inode_of(newest);
      if (current == 0 || current == cursor.inode) break;
      open_at(cursor, newest);
      continue;
    }
    cursor.rest += piece;
    std::size_t begin = 0;
    for (std::size_t end = cursor.rest.find('\n'); end != std::string::npos;
         end = cursor.rest.find('\n', begin)) {
      give_line(cursor, std::string_view(cursor.rest).substr(begin, end - begin), out);
      begin = end + 1;
    }
    cursor.rest.erase(0, begin);
  }
  if (cursor.query.limit_bytes && cursor.given + out.size() >= *cursor.query.limit_bytes) {
    out.resize(static_cast<std::size_t>(*cursor.query.limit_bytes - cursor.given));
    cursor.exhausted = true;
  }
  cursor.given += out.size();
  return out;
}

class LogBody final : public http::BodyReader {
 public:
  LogBody(async::BlockingPool& blocking, std::shared_ptr<Cursor> cursor,
          std::shared_ptr<ContainerLog> live)
      : blocking_(blocking), cursor_(std::move(cursor)), live_(std::move(live)) {}

  async::Task<Result<std::string>> read() override {
    while (true) {
      // Asked before reading: what is written between the two is read in the next round.
      const bool last = cursor_->query.follow == LogFollow::kOnce || !live_ || live_->finished();
      const auto cursor = cursor_;
      std::string piece = co_await blocking_.run([cursor] { return advance(*cursor); });
      if (!piece.empty() || last || cursor->exhausted) co_return piece;
      if (live_->finished()) continue;
      if (co_await live_->wait_change() == async::Wake::kCancelled) {
        co_return base::cancelled("log no longer followed");
      }
    }
  }

 private:
  async::BlockingPool& blocking_;
  std::shared_ptr<Cursor> cursor_;
  std::shared_ptr<ContainerLog> live_;
};

}  // namespace

std::unique_ptr<http::BodyReader> open_log(async::BlockingPool& blocking, std::string base,
                                           std::shared_ptr<ContainerLog> live, LogQuery query) {
  auto cursor = std::make_shared<Cursor>();
  cursor->base = std::move(base);
  cursor->query = query;
  return std::make_unique<LogBody>(blocking, std::move(cursor), std::move(live));
}

}  // namespace agenttier::node
