#include "node/log_lines.h"

#include <chrono>
#include <cstdio>

#include "base/time_format.h"

namespace agenttier::node {

namespace {

std::string format_nanos(base::WallTime time) {
  using std::chrono::nanoseconds;
  const auto since = std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count();
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%09lldZ",
                static_cast<long long>(since % 1'000'000'000));
  std::string text = base::format_rfc3339(time);
  text.pop_back();
  return text + fraction;
}

}  // namespace

void LogLineWriter::append_line(std::string& out, std::string_view text, char mark,
                                base::WallTime now) const {
  out += format_nanos(now);
  out += stream_ == LogStream::kStdout ? " stdout " : " stderr ";
  out += mark;
  out += ' ';
  out += text;
  out += '\n';
}

std::string LogLineWriter::add(std::string_view bytes, base::WallTime now) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t room = kLogLineBytesMax - partial_.size();
    const bool whole = newline != std::string_view::npos && newline <= room;
    const std::size_t take = whole ? newline : std::min(room, bytes.size());
    partial_ += bytes.substr(0, take);
    bytes.remove_prefix(whole ? take + 1 : take);
    if (!whole && partial_.size() < kLogLineBytesMax) break;
    append_line(out, partial_, whole ? 'F' : 'P', now);
    partial_.clear();
  }
  return out;
}

std::string LogLineWriter::finish(base::WallTime now) {
  std::string out;
  if (!partial_.empty()) append_line(out, partial_, 'F', now);
  partial_.clear();
  return out;
}

std::optional<LogLine> parse_log_line(std::string_view line) {
  LogLine result;
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || line.size() < space + 10) return std::nullopt;
  result.time = line.substr(0, space);
  line.remove_prefix(space + 1);
  if (!line.starts_with("stdout ") && !line.starts_with("stderr ")) return std::nullopt;
  result.stream = line.starts_with("stdout") ? LogStream::kStdout : LogStream::kStderr;
  line.remove_prefix(7);
  if (line.size() < 2 || line[1] != ' ') return std::nullopt;
  result.partial = line[0] == 'P';
  result.text = line.substr(2);
  return result;
}

}  // namespace agenttier::node
