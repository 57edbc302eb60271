#include "http/in_process.h"

namespace agenttier::http {

async::Task<base::Result<Response>> InProcessClient::send(Request request) {
  const bool is_head = request.method == "HEAD";
  Response response = co_await service_.handle(std::move(request));
  if (response.upgrade) co_return base::unimplemented("an in-process call cannot open a WebSocket");
  if (is_head) response.body = Body();
  co_return response;
}

}  // namespace agenttier::http
