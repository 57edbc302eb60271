#pragma once
// Decodes a body sent in chunks (RFC 9112, section 7.1), from bytes split anywhere.
//
// Written here because the parser behind parser.h aborts on a last chunk that comes in pieces.
// Strict where readers differ: a line ends with CRLF only, a size is hexadecimal digits only, and a
// size line, or all trailers together, have a limit. Extensions and trailers are checked and
// dropped.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agenttier::http {

class ChunkDecoder {
 public:
  // Appends content to `content` until `data` is used up or the body is complete; gives the number
  // of bytes used. After an error the decoder is of no more use.
  base::Result<std::size_t> decode(std::string_view data, std::string& content);
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State : std::uint8_t { kSizeLine, kContent, kContentEnd, kTrailers, kDone };

  // Moves bytes from `data` to line_; whether the line is complete (without its CRLF).
  base::Result<bool> take_line(std::string_view& data);
  base::Status take_size(std::string_view line);
  base::Status take_trailer(std::string_view line);

  State state_ = State::kSizeLine;
  std::uint64_t left_ = 0;  // of the chunk's content
  std::size_t trailer_bytes_ = 0;
  std::string line_;
};

}  // namespace agenttier::http
