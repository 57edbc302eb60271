#include "router/system_routes.h"

#include <utility>

#include "api/rest_system.h"
#include "router/reply.h"

namespace agenttier::router {
namespace {

using Answer = base::Result<http::Response>;

async::Task<Answer> answer(http::Response response) {
  co_return std::move(response);
}

http::Response readiness(const base::Status& ready) {
  if (ready) return reply_text(200, "ok");
  return reply_text(503, "not ready: " + ready.error().message);
}

http::Response metrics_reply(std::string text) {
  http::Response response = reply_text(200, std::move(text));
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  return response;
}

http::Response version_reply() {
  api::ServerVersion reply;
  reply.version = AGENTTIER_VERSION;
  return reply_json(200, reply.to_json());
}

http::Response openapi_reply(std::string_view text) {
  http::Response response = reply_text(200, std::string(text));
  response.headers.set("Content-Type", "application/json");
  return response;
}

}  // namespace

void add_system_routes(Handlers& handlers, SystemParts parts) {
  handlers.add("healthz", [](Call) { return answer(reply_text(200, "ok")); });
  handlers.add("version", [](Call) { return answer(version_reply()); });
  handlers.add("readyz",
               [ready = std::move(parts.ready)](Call) { return answer(readiness(ready())); });
  handlers.add("metrics", [metrics = std::move(parts.metrics)](Call) {
    return answer(metrics_reply(metrics()));
  });
  handlers.add("openapi", [text = parts.openapi](Call) { return answer(openapi_reply(text)); });
}

}  // namespace agenttier::router
