#include "http/line_reader.h"

#include <utility>

namespace agenttier::http {

LineReader::LineReader(std::unique_ptr<BodyReader> reader, Limits limits)
    : reader_(std::move(reader)), limits_(limits) {}

std::optional<std::string> LineReader::take_line() {
  const auto end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return std::nullopt;
  }
  std::string line = buffer_.substr(begin_, end - begin_);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  begin_ = searched_ = end + 1;
  return line;
}

async::Task<base::Result<std::optional<std::string>>> LineReader::next() {
  while (true) {
    auto line = take_line();
    const std::size_t size = line ? line->size() : buffer_.size() - begin_;
    if (size > limits_.line_bytes_max) {
      base::Error error = base::invalid("a line is longer than the limit of " +
                                        std::to_string(limits_.line_bytes_max) + " bytes");
      error.reason = "line_too_long";
      reader_.reset();
      ended_ = true;
      buffer_.clear();
      begin_ = searched_ = 0;
      co_return error;
    }
    if (line) co_return line;
    if (ended_) break;
    buffer_.erase(0, std::exchange(begin_, 0));
    searched_ = buffer_.size();
    AT_CO_TRY(std::string piece, co_await reader_->read());
    ended_ = piece.empty();
    if (buffer_.empty()) {
      buffer_ = std::move(piece);
    } else {
      buffer_ += piece;
    }
  }
  if (begin_ == buffer_.size()) co_return std::optional<std::string>();
  std::optional<std::string> last = buffer_.substr(std::exchange(begin_, buffer_.size()));
  co_return last;
}

}  // namespace agenttier::http
