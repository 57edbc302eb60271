#include "kube/status.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <charconv>
#include <chrono>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "kube/wire.h"

namespace agenttier::kube {
namespace {

using base::ErrorCode;

constexpr std::size_t kCausesMax = 64;
constexpr std::size_t kForeignBodyBytesMax = 512;
constexpr std::int64_t kRetryAfterSecondsMax = 3600;

struct ReasonRow {
  std::string_view reason;
  ErrorCode code;
};

constexpr std::array kReasons = {
    ReasonRow{"NotFound", ErrorCode::kNotFound},
    ReasonRow{"AlreadyExists", ErrorCode::kExists},
    ReasonRow{"Conflict", ErrorCode::kConflict},
    ReasonRow{"Invalid", ErrorCode::kInvalid},
    ReasonRow{"BadRequest", ErrorCode::kInvalid},
    ReasonRow{"RequestEntityTooLarge", ErrorCode::kInvalid},
    ReasonRow{"UnsupportedMediaType", ErrorCode::kInvalid},
    ReasonRow{"NotAcceptable", ErrorCode::kInvalid},
    ReasonRow{"Unauthorized", ErrorCode::kUnauthenticated},
    ReasonRow{"Forbidden", ErrorCode::kDenied},
    ReasonRow{"Gone", ErrorCode::kNotFound},
    ReasonRow{"Expired", ErrorCode::kNotFound},
    ReasonRow{"MethodNotAllowed", ErrorCode::kUnimplemented},
    ReasonRow{"NotImplemented", ErrorCode::kUnimplemented},
    ReasonRow{"TooManyRequests", ErrorCode::kExhausted},
    ReasonRow{"ServerTimeout", ErrorCode::kUnavailable},
    ReasonRow{"ServiceUnavailable", ErrorCode::kUnavailable},
    ReasonRow{"Timeout", ErrorCode::kDeadline},
    ReasonRow{"InternalError", ErrorCode::kInternal},
};

std::string_view text_of(const boost::json::object& object, std::string_view name) {
  const boost::json::value* field = object.if_contains(name);
  if (field == nullptr || !field->is_string()) return {};
  return field->get_string();
}

ErrorCode code_of(std::string_view reason, int http_status) {
  const auto row = std::ranges::find(kReasons, reason, &ReasonRow::reason);
  return row != kReasons.end() ? row->code : base::code_from_http_status(http_status);
}

std::optional<std::chrono::milliseconds> seconds(std::int64_t count) {
  if (count <= 0) return std::nullopt;
  return std::chrono::seconds(std::min(count, kRetryAfterSecondsMax));
}

void add_details(const boost::json::object& details, base::Error& error) {
  if (const auto* retry = details.if_contains("retryAfterSeconds"); retry && retry->is_int64()) {
    error.retry_after = seconds(retry->get_int64());
  }
  const auto* causes = details.if_contains("causes");
  if (causes == nullptr || !causes->is_array()) return;
  for (const auto& cause : causes->get_array()) {
    if (!cause.is_object() || error.causes.size() >= kCausesMax) continue;
    error.causes.push_back({std::string(text_of(cause.get_object(), "field")),
                            std::string(text_of(cause.get_object(), "message"))});
  }
}

base::Error foreign_error(int http_status, std::string_view body) {
  base::Error error;
  error.code = base::code_from_http_status(http_status);
  error.message = "the server answered " + std::to_string(http_status);
  const std::string start = base::to_valid_utf8(body.substr(0, kForeignBodyBytesMax));
  if (!start.empty()) error.message += ": " + start;
  return error;
}

std::optional<std::chrono::milliseconds> retry_after_header(const http::Headers& headers) {
  const auto text = headers.find("Retry-After");
  if (!text) return std::nullopt;
  std::int64_t count = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (failed != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return seconds(count);
}

}  // namespace

bool is_expired(const base::Error& error) {
  return error.code == ErrorCode::kNotFound && error.reason == kExpiredReason;
}

base::Error error_from_status(const boost::json::object& status, int http_status) {
  if (const auto* code = status.if_contains("code"); code != nullptr && code->is_int64()) {
    const std::int64_t number = code->get_int64();
    if (number >= 400 && number < 600) http_status = static_cast<int>(number);
  }
  const std::string_view reason = text_of(status, "reason");
  base::Error error;
  error.code = code_of(reason, http_status);
  error.message = text_of(status, "message");
  if (error.message.empty()) error.message = "the server answered " + std::to_string(http_status);
  if (http_status == 410 || reason == "Expired" || reason == "Gone") {
    error.code = ErrorCode::kNotFound;
    error.reason = kExpiredReason;
  }
  if (const auto* details = status.if_contains("details"); details && details->is_object()) {
    add_details(details->get_object(), error);
  }
  return error;
}

base::Error error_from_response(int http_status, const http::Headers& headers,
                                std::string_view body) {
  auto parsed = parse_object(body);
  const bool is_status = parsed && text_of(*parsed, "kind") == "Status";
  base::Error error =
      is_status ? error_from_status(*parsed, http_status) : foreign_error(http_status, body);
  if (http_status == 410) error.reason = kExpiredReason;
  if (!error.retry_after) error.retry_after = retry_after_header(headers);
  return error;
}

}  // namespace agenttier::kube
