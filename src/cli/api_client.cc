#include "cli/api_client.h"

#include <boost/json.hpp>
#include <utility>

namespace agenttier::cli {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kReplyBytesMax = 256ULL << 20;

// "http://host:port" → "host:port"; the CLI speaks plain HTTP.
base::Result<std::string> authority_of(const std::string& url) {
  if (url.empty()) {
    return base::invalid(
        "no server is configured; run 'agenttier login --api-url URL' or set AGENTTIER_API_URL");
  }
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) {
    return base::unimplemented(
        "--api-url: https is not supported yet; reach the server through a local http address");
  }
  if (!url.starts_with(kScheme)) {
    return base::invalid_field(
        "--api-url", "'" + url + "' must begin with http://, for example http://127.0.0.1:8080");
  }
  std::string rest = url.substr(kScheme.size());
  if (rest.empty() || rest.find('/') != std::string::npos) {
    return base::invalid_field("--api-url",
                               "'" + url + "' must be a scheme, a host and a port, without a path");
  }
  const auto bracket = rest.rfind(']');
  const auto colon = rest.rfind(':');
  if (colon == std::string::npos || (bracket != std::string::npos && colon < bracket))
    rest += ":80";
  return rest;
}

base::Error described(int status, const std::string& body) {
  base::Error error;
  error.code = base::code_from_http_status(status);
  boost::system::error_code failed;
  const auto value = json::parse(body, failed);
  const auto* object = failed ? nullptr : value.if_object();
  const auto text = [&](const char* key) {
    const auto* field = object == nullptr ? nullptr : object->if_contains(key);
    return field != nullptr && field->is_string() ? std::string(field->as_string()) : std::string();
  };
  error.reason = text("error");
  error.message = text("message");
  if (error.message.empty()) error.message = error.reason;
  if (error.message.empty())
    error.message = body.empty() ? "HTTP status " + std::to_string(status) : body.substr(0, 500);
  if (const auto* violations = object == nullptr ? nullptr : object->if_contains("violations");
      violations != nullptr && violations->is_array()) {
    for (const auto& violation : violations->as_array()) {
      const auto* message =
          violation.is_object() ? violation.as_object().if_contains("message") : nullptr;
      if (message != nullptr && message->is_string())
        error.message += "; " + std::string(message->as_string());
    }
  }
  return error;
}

}  // namespace

std::string quoted(const std::string& text) {
  return http::percent_encode(text);
}

ApiClient::ApiClient(boost::asio::io_context& loop, Config config)
    : loop_(loop),
      config_(std::move(config)),
      client_(http::NetworkClient::make(loop.get_executor(),
                                        {.user_agent = "agenttier-cli/" AGENTTIER_VERSION})) {
  if (auto authority = authority_of(config_.api_url)) authority_ = *authority;
}

// Closed connections end on the loop.
ApiClient::~ApiClient() {
  client_.reset();
  loop_.restart();
  loop_.poll();
}

http::Request ApiClient::request(std::string method, const std::string& path) const {
  http::Request request;
  request.method = std::move(method);
  request.target = "/api/v1" + path;
  request.authority = authority_;
  if (!config_.api_key.empty()) {
    request.headers.set("X-API-Key", config_.api_key);
  } else if (!config_.token.empty()) {
    request.headers.set("Authorization", "Bearer " + config_.token);
  }
  return request;
}

async::Task<base::Result<http::Response>> ApiClient::call(http::Request request) {
  if (authority_.empty()) co_return authority_of(config_.api_url).error();
  auto answer = co_await client_->send(std::move(request));
  if (!answer) {
    co_return base::unavailable("cannot reach " + config_.api_url + ": " + answer.error().message +
                                "; is the server running, and is --api-url right?");
  }
  http::Response response = std::move(*answer);
  if (response.status >= 200 && response.status < 300) co_return std::move(response);
  auto body = co_await response.body.read_all(kReplyBytesMax);
  co_return described(response.status, body ? *body : "");
}

base::Result<http::Response> ApiClient::raw(http::Request request) {
  return run(call(std::move(request)));
}

namespace {

async::Task<base::Result<std::string>> read_piece(http::BodyReader& body) {
  co_return co_await body.read();
}

async::Task<base::Result<json::value>> call_for_json(ApiClient& api, http::Request request) {
  auto answer = co_await api.call(std::move(request));
  if (!answer) co_return std::move(answer).error();
  http::Response response = std::move(*answer);
  auto body = co_await response.body.read_all(kReplyBytesMax);
  if (!body) co_return std::move(body).error();
  if (body->empty()) co_return json::value(nullptr);
  boost::system::error_code failed;
  auto value = json::parse(*body, failed);
  if (failed)
    co_return base::internal("the server's answer is not JSON; is --api-url an AgentTier server?");
  co_return value;
}

}  // namespace

base::Result<std::string> ApiClient::read(http::BodyReader& body) {
  return run(read_piece(body));
}

base::Result<json::value> ApiClient::get(std::string path) {
  return send("GET", std::move(path));
}

base::Result<json::value> ApiClient::send(std::string method, std::string path,
                                          std::optional<json::value> body) {
  http::Request made = request(std::move(method), path);
  if (body) {
    made.headers.set("Content-Type", "application/json");
    made.body = http::Body(json::serialize(*body));
  }
  return run(call_for_json(*this, std::move(made)));
}

}  // namespace agenttier::cli
