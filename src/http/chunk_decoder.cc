#include "http/chunk_decoder.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "http/text.h"

namespace agenttier::http {
namespace {

constexpr std::size_t kLineBytesMax = 4 * 1024;
constexpr std::size_t kTrailerBytesMax = 16 * 1024;

base::Error malformed(const char* what) {
  return base::invalid(std::string("malformed chunked body: ") + what);
}

}  // namespace

base::Result<std::size_t> ChunkDecoder::decode(std::string_view data, std::string& content) {
  const std::size_t given = data.size();
  while (!data.empty() && state_ != State::kDone) {
    if (state_ == State::kContent) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, data.size()));
      content.append(data.substr(0, size));
      data.remove_prefix(size);
      left_ -= size;
      if (left_ == 0) state_ = State::kContentEnd;
      continue;
    }
    AT_TRY(const bool complete, take_line(data));
    if (!complete) break;
    const std::string line = std::exchange(line_, std::string());
    if (state_ == State::kSizeLine) {
      AT_OK(take_size(line));
    } else if (state_ == State::kTrailers) {
      AT_OK(take_trailer(line));
    } else if (line.empty()) {
      state_ = State::kSizeLine;
    } else {
      return malformed("a chunk is longer than its size");
    }
  }
  return given - data.size();
}

base::Result<bool> ChunkDecoder::take_line(std::string_view& data) {
  const auto end = data.find('\n');
  const auto size = end == std::string_view::npos ? data.size() : end + 1;
  line_.append(data.substr(0, std::min(size, kLineBytesMax + 1)));
  if (line_.size() > kLineBytesMax) return malformed("a line is too long");
  if (state_ == State::kContentEnd && line_ != "\r" && line_ != "\r\n") {
    return malformed("a chunk is longer than its size");
  }
  data.remove_prefix(size);
  if (end == std::string_view::npos) return false;
  if (line_.size() < 2 || line_[line_.size() - 2] != '\r')
    return malformed("a line ends without CR");
  line_.resize(line_.size() - 2);
  if (!is_field_value(line_)) return malformed("a control character");
  return true;
}

base::Status ChunkDecoder::take_size(std::string_view line) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), left_, 16);
  const std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
  if (error != std::errc() || line.front() == '-') return malformed("a chunk has no valid size");
  if (!rest.empty() && rest.front() != ';') return malformed("a chunk has no valid size");
  state_ = left_ == 0 ? State::kTrailers : State::kContent;
  return {};
}

base::Status ChunkDecoder::take_trailer(std::string_view line) {
  if (line.empty()) {
    state_ = State::kDone;
    return {};
  }
  trailer_bytes_ += line.size();
  if (trailer_bytes_ > kTrailerBytesMax) return malformed("the trailers are too long");
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return malformed("a trailer is no field");
  }
  return {};
}

}  // namespace agenttier::http
