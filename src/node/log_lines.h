#pragma once
// Lines of a container's log file, written and read. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace agenttier::node {

inline constexpr std::size_t kLogLineBytesMax = 16 * 1024;

enum class LogStream : std::uint8_t { kStdout, kStderr };

// Cuts a stream of bytes into log lines.
class LogLineWriter {
 public:
  explicit LogLineWriter(LogStream stream) : stream_(stream) {}
  // The lines that `bytes` complete, in the file's form.
  std::string add(std::string_view bytes, base::WallTime now);
  // What is left without a newline.
  std::string finish(base::WallTime now);

 private:
  void append_line(std::string& out, std::string_view text, char mark, base::WallTime now) const;

  LogStream stream_;
  std::string partial_;
};

struct LogLine {
  std::string_view time;  // RFC 3339 with nine digits
  LogStream stream = LogStream::kStdout;
  bool partial = false;  // the next line continues it
  std::string_view text;
};

// Nothing for what is not a line of a log file.
std::optional<LogLine> parse_log_line(std::string_view line);

}  // namespace agenttier::node
