#include "http/service.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace agenttier::http {

Response json_response(int status, std::string json_text) {
  Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = Body(std::move(json_text));
  return response;
}

Response text_response(int status, std::string text) {
  Response response;
  response.status = status;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.body = Body(std::move(text));
  return response;
}

Response error_response(const base::Error& error) {
  boost::json::object body;
  body["error"] = error.reason.empty() ? std::string(base::code_name(error.code)) : error.reason;
  body["message"] = error.message;
  if (!error.causes.empty()) {
    boost::json::array causes;
    for (const auto& cause : error.causes) {
      causes.push_back({{"field", cause.field}, {"message", cause.message}});
    }
    body["causes"] = std::move(causes);
  }
  const int status = error.reason == "body_too_large" ? 413 : base::http_status(error.code);
  Response response = json_response(status, boost::json::serialize(body));
  if (error.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*error.retry_after);
    response.headers.set("Retry-After", std::to_string(seconds.count()));
  }
  return response;
}

}  // namespace agenttier::http
