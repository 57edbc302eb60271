#include "http/outgoing_body.h"

#include <boost/asio/buffer.hpp>

#include "http/head_text.h"

namespace agenttier::http {

using boost::asio::buffer;

async::Task<base::Status> send_stream(std::shared_ptr<Link> link, std::string head,
                                      std::unique_ptr<BodyReader> reader, StreamFraming framing) {
  const bool chunked = framing.framing == Framing::kChunked;
  std::uint64_t left = framing.content_length;
  Buffers head_only{buffer(head)};
  AT_CO_OK(co_await link->write(head_only));
  while (true) {
    AT_CO_TRY(const std::string piece, co_await reader->read());
    if (piece.empty()) break;
    if (framing.framing == Framing::kLength) {
      if (piece.size() > left) co_return base::internal("the body is longer than announced");
      left -= piece.size();
    }
    const std::string size_line = chunked ? chunk_header(piece.size()) : std::string();
    Buffers buffers{buffer(size_line), buffer(piece), buffer("\r\n", chunked ? 2 : 0)};
    AT_CO_OK(co_await link->write(buffers));
  }
  if (framing.framing == Framing::kLength && left > 0) {
    co_return base::internal("the body ended " + std::to_string(left) + " bytes too early");
  }
  if (!chunked) co_return base::Status();
  Buffers last{buffer("0\r\n\r\n", 5)};
  co_return co_await link->write(last);
}

}  // namespace agenttier::http
