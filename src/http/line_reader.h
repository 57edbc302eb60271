#pragma once
// Splits a stream of bytes into lines, for newline-delimited JSON such as a Kubernetes watch.
//
// A line's end is "\n" or "\r\n" and is not part of it; a last line without an end counts. A line
// beyond the limit is an error (kInvalid, reason "line_too_long"), after which nothing can be read.
//
// Example:
//   LineReader lines(response.body.into_reader(), {.line_bytes_max = 4 * 1024 * 1024});
//   while (true) {
//     AT_CO_TRY(auto line, co_await lines.next());
//     if (!line) break;
//     handle(*line);
//   }

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "async/task.h"
#include "base/result.h"
#include "http/message.h"

namespace agenttier::http {

class LineReader {
 public:
  struct Limits {
    std::size_t line_bytes_max;
  };

  LineReader(std::unique_ptr<BodyReader> reader, Limits limits);

  // The next line, which may be empty; nothing at the end of the stream.
  async::Task<base::Result<std::optional<std::string>>> next();

 private:
  std::optional<std::string> take_line();

  std::unique_ptr<BodyReader> reader_;
  Limits limits_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line
  std::size_t searched_ = 0;  // no line end before it
  bool ended_ = false;
};

}  // namespace agenttier::http
