#pragma once
// Sends a body's stream on a link, framed as its head said.

#include "http/link.h"
#include "http/message.h"
#include "http/parser.h"

namespace agenttier::http {

struct StreamFraming {
  Framing framing = Framing::kChunked;
  std::uint64_t content_length = 0;  // kLength: exactly so many bytes must come
};

// An error of the reader, a wrong number of bytes, or a broken link. After an error the message is
// cut short, so the link must be aborted. `head` goes first, at once.
async::Task<base::Status> send_stream(std::shared_ptr<Link> link, std::string head,
                                      std::unique_ptr<BodyReader> reader, StreamFraming framing);

}  // namespace agenttier::http
