#pragma once
// Writes the heads of requests and responses, with the fields that frame the body.

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "http/message.h"
#include "http/parser.h"

namespace agenttier::http {

struct HeadFraming {
  Framing framing = Framing::kNone;  // kLength: content_length; kNone: no field at all
  std::uint64_t content_length = 0;
  Persistence persistence = Persistence::kKeep;
};

// Control characters in a handler's header values become spaces, so that data cannot make fields.
// Content-Length, Transfer-Encoding, Connection and Keep-Alive of `headers` are left out.
std::string response_head(int status, const Headers& headers, const HeadFraming& framing,
                          int version);
// kInvalid if the method, the target or a field could not be sent as it is.
base::Result<std::string> request_head(const Request& request, const HeadFraming& framing,
                                       const std::string& user_agent);
// "OK" for 200; "Status" if the number has no name.
std::string_view status_text(int status);
// "1a2b\r\n": what comes before a chunk of that size.
std::string chunk_header(std::size_t size);

}  // namespace agenttier::http
