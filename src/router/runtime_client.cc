#include "router/runtime_client.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <utility>

#include "base/bytes.h"

namespace agenttier::router {
namespace {

namespace json = boost::json;

constexpr std::size_t kMessageBytesMax = 1024;

base::Error unreachable(const std::string& sandbox, std::string_view why) {
  base::Error error =
      base::unavailable("sandbox " + sandbox + " cannot be reached: " + std::string(why) +
                        "; it may be starting or restarting, try again");
  error.reason = "sandbox_unreachable";
  return error;
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  const auto& text = value->get_string();
  return base::to_valid_utf8(
      std::string_view(text.data(), text.size()).substr(0, kMessageBytesMax));
}

http::Request make_request(const RuntimeEndpoint& endpoint, RuntimeCall call) {
  http::Request request;
  request.method = std::move(call.method);
  request.target = std::move(call.target);
  request.authority = endpoint.authority;
  request.headers = std::move(call.headers);
  request.headers.set("Authorization", "Bearer " + endpoint.token);
  request.body = std::move(call.body);
  return request;
}

}  // namespace

base::Error runtime_error(const std::string& sandbox, int status, std::string_view body) {
  if (status == 401) return unreachable(sandbox, "its runtime refused this server's token");
  boost::system::error_code broken;
  const json::value value = json::parse(body, broken);
  const json::object* object = broken ? nullptr : value.if_object();
  base::Error error;
  error.code = base::code_from_http_status(status);
  if (object != nullptr) {
    error.message = text_of(*object, "message");
    error.reason = text_of(*object, "error");
  }
  if (error.message.empty()) {
    error.message = "the sandbox's runtime answered " + std::to_string(status);
  }
  if (status == 413) error.reason = "body_too_large";
  if (status == 416) error.reason = "range_not_satisfiable";
  if (status == 507) {
    error.code = base::ErrorCode::kExhausted;
    error.reason = "no_space";
  }
  // The word of a plain code says nothing that the status does not.
  if (error.reason == base::code_name(error.code)) error.reason.clear();
  return error;
}

async::Task<base::Result<http::Response>> RuntimeClient::call(RuntimeEndpoint endpoint,
                                                              RuntimeCall call) {
  http::Request request = make_request(endpoint, std::move(call));
  base::Result<http::Response> sent = co_await client_.send(std::move(request));
  if (!sent) {
    if (sent.error().code == base::ErrorCode::kCancelled) co_return std::move(sent).error();
    co_return unreachable(endpoint.sandbox, sent.error().message);
  }
  http::Response response = *std::move(sent);
  if (response.status < 400) co_return std::move(response);
  base::Result<std::string> body = co_await response.body.read_all(kRuntimeErrorBytesMax);
  co_return runtime_error(endpoint.sandbox, response.status, body ? *body : std::string());
}

async::Task<base::Result<std::string>> RuntimeClient::call_for_text(RuntimeEndpoint endpoint,
                                                                    RuntimeCall call) {
  base::Result<http::Response> answer = co_await this->call(endpoint, std::move(call));
  if (!answer) co_return std::move(answer).error();
  http::Response response = *std::move(answer);
  base::Result<std::string> text = co_await response.body.read_all(kRuntimeJsonBytesMax);
  if (!text) co_return std::move(text).error().context("sandbox " + endpoint.sandbox);
  co_return *std::move(text);
}

}  // namespace agenttier::router
