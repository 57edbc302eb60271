#include "router/reply.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <utility>

#include "api/rest_error.h"

namespace agenttier::router {
namespace {

namespace json = boost::json;

// Published clients compare `error` with these.
constexpr std::array<std::string_view, 4> kKeptErrorWords = {
    "policy_violation", "quota_would_exceed", "rate_limited", "concurrency_exceeded"};

struct ReasonStatus {
  std::string_view reason;
  int status;
};
constexpr std::array<ReasonStatus, 4> kReasonStatuses = {{
    {"body_too_large", 413},
    {"range_not_satisfiable", 416},
    {"no_space", 507},
    {"method_not_allowed", 405},
}};

}  // namespace

int status_of(const base::Error& error) {
  for (const ReasonStatus& row : kReasonStatuses) {
    if (row.reason == error.reason) return row.status;
  }
  return base::http_status(error.code);
}

http::Response reply_json(int status, const json::object& body) {
  http::Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = http::Body(json::serialize(body));
  return response;
}

http::Response reply_text(int status, std::string text) {
  http::Response response;
  response.status = status;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.body = http::Body(std::move(text));
  return response;
}

http::Response reply_empty(int status) {
  http::Response response;
  response.status = status;
  return response;
}

http::Response reply_error(const base::Error& error, std::string_view request_id) {
  const bool keep = std::ranges::find(kKeptErrorWords, error.reason) != kKeptErrorWords.end();
  api::ErrorReply reply;
  reply.code = error.reason.empty() ? std::string(base::code_name(error.code)) : error.reason;
  reply.error = keep ? reply.code : error.message;
  reply.message = error.message;
  reply.request_id = request_id;
  for (const base::FieldCause& each : error.causes) {
    api::ErrorCause cause;
    cause.field = each.field;
    cause.message = each.message;
    reply.causes.push_back(std::move(cause));
  }
  if (error.retry_after) {
    const std::int64_t seconds = (error.retry_after->count() + 999) / 1000;
    reply.retry_after = std::max<std::int64_t>(1, seconds);
  }
  http::Response response = reply_json(status_of(error), reply.to_json());
  if (reply.retry_after) response.headers.set("Retry-After", std::to_string(*reply.retry_after));
  return response;
}

}  // namespace agenttier::router
