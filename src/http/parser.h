#pragma once
// Parses the heads of HTTP/1.1 messages from bytes as they come.
//
// Guarantees: what two servers could read differently is an error (two lengths, a length and a
// transfer coding, an unknown coding, no or two Host fields), heads are bounded, names and values
// hold no control characters. Boost.Beast stays behind this header.
//
// Example:
//   AT_TRY(std::size_t used, parser.parse_head(bytes));   // again with more bytes until
//   head_done()

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace agenttier::http {

// How the end of a message's body is found.
enum class Framing : std::uint8_t { kNone, kLength, kChunked, kToEnd };
// Whether the connection may carry another message after this one.
enum class Persistence : std::uint8_t { kClose, kKeep };
// Whether the response answers a HEAD, so that its length announces no bytes.
enum class BodyPresence : std::uint8_t { kNormal, kOmitted };

struct MessageHead {
  std::string method;  // request
  std::string target;  // request, in origin form
  int status = 0;      // response
  int version = 11;    // 10 or 11
  Headers headers;
  Framing framing = Framing::kNone;
  std::uint64_t content_length = 0;
  Persistence persistence = Persistence::kKeep;
  bool expects_continue = false;
};

class HeadParser {
 public:
  explicit HeadParser(std::uint32_t head_bytes_max);
  ~HeadParser();

  void start_request();
  void start_response(BodyPresence body);

  // Parses a head that begins at `data`; gives the number of bytes used. Without head_done() the
  // unused bytes must be given again, followed by more. An error of reason "head_too_large" is a
  // head beyond the limit; every other one is malformed.
  base::Result<std::size_t> parse_head(std::string_view data);
  bool head_done() const;
  MessageHead take_head();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agenttier::http
