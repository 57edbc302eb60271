#include "base/error.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace agenttier::base {
namespace {

struct Row {
  ErrorCode code;
  int http_status;
  std::string_view kubernetes_reason;
  std::string_view name;
};

constexpr std::array kTable = {
    Row{ErrorCode::kInvalid, 400, "BadRequest", "invalid"},
    Row{ErrorCode::kUnauthenticated, 401, "Unauthorized", "unauthenticated"},
    Row{ErrorCode::kDenied, 403, "Forbidden", "denied"},
    Row{ErrorCode::kNotFound, 404, "NotFound", "not_found"},
    Row{ErrorCode::kExists, 409, "AlreadyExists", "already_exists"},
    Row{ErrorCode::kConflict, 409, "Conflict", "conflict"},
    Row{ErrorCode::kExhausted, 429, "TooManyRequests", "exhausted"},
    Row{ErrorCode::kUnavailable, 503, "ServiceUnavailable", "unavailable"},
    Row{ErrorCode::kDeadline, 504, "Timeout", "deadline_exceeded"},
    Row{ErrorCode::kCancelled, 499, "ClientClosedRequest", "cancelled"},
    Row{ErrorCode::kUnimplemented, 501, "NotImplemented", "unimplemented"},
    Row{ErrorCode::kInternal, 500, "InternalError", "internal"},
};

const Row& row(ErrorCode code) {
  for (const Row& r : kTable) {
    if (r.code == code) return r;
  }
  return kTable.back();
}

Error make(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

}  // namespace

Error Error::context(std::string_view phrase) && {
  message = std::string(phrase) + ": " + message;
  return std::move(*this);
}

Error invalid(std::string message) {
  return make(ErrorCode::kInvalid, std::move(message));
}

Error invalid_field(std::string field, std::string message) {
  Error error = make(ErrorCode::kInvalid, field + ": " + message);
  error.causes.push_back({std::move(field), std::move(message)});
  return error;
}

Error unauthenticated(std::string message) {
  return make(ErrorCode::kUnauthenticated, std::move(message));
}
Error denied(std::string message) {
  return make(ErrorCode::kDenied, std::move(message));
}
Error not_found(std::string message) {
  return make(ErrorCode::kNotFound, std::move(message));
}
Error exists(std::string message) {
  return make(ErrorCode::kExists, std::move(message));
}
Error conflict(std::string message) {
  return make(ErrorCode::kConflict, std::move(message));
}
Error exhausted(std::string message) {
  return make(ErrorCode::kExhausted, std::move(message));
}
Error unavailable(std::string message) {
  return make(ErrorCode::kUnavailable, std::move(message));
}
Error deadline_exceeded(std::string message) {
  return make(ErrorCode::kDeadline, std::move(message));
}
Error cancelled(std::string message) {
  return make(ErrorCode::kCancelled, std::move(message));
}
Error unimplemented(std::string message) {
  return make(ErrorCode::kUnimplemented, std::move(message));
}
Error internal(std::string message) {
  return make(ErrorCode::kInternal, std::move(message));
}

Error from_errno(std::string_view step, int error_number) {
  ErrorCode code = ErrorCode::kInternal;
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      code = ErrorCode::kExhausted;
      break;
    case ENOENT:
      code = ErrorCode::kNotFound;
      break;
    case EACCES:
    case EPERM:
      code = ErrorCode::kDenied;
      break;
    case EEXIST:
      code = ErrorCode::kExists;
      break;
    default:
      break;
  }
  return make(code, std::string(step) + ": " + std::strerror(error_number));
}

int http_status(ErrorCode code) {
  return row(code).http_status;
}
std::string_view kubernetes_reason(ErrorCode code) {
  return row(code).kubernetes_reason;
}
std::string_view code_name(ErrorCode code) {
  return row(code).name;
}

ErrorCode code_from_http_status(int status) {
  switch (status) {
    case 409:
      return ErrorCode::kConflict;
    case 408:
      return ErrorCode::kDeadline;
    case 410:
      return ErrorCode::kNotFound;
    case 502:
      return ErrorCode::kUnavailable;
    default:
      break;
  }
  for (const Row& r : kTable) {
    if (r.http_status == status) return r.code;
  }
  return status >= 400 && status < 500 ? ErrorCode::kInvalid : ErrorCode::kInternal;
}

}  // namespace agenttier::base
