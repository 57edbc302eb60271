#include "router/middleware.h"

#include <algorithm>

namespace agenttier::router {
namespace {

constexpr std::size_t kRequestIdBytesMax = 128;

bool is_id_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == ':';
}

base::Error key_refused(std::string message) {
  base::Error error = base::denied(std::move(message));
  error.reason = "scope_required";
  return error;
}

std::string_view bound_sandbox_of(const RouteMatch& match) {
  const auto found = match.parameters.find("id");
  return found == match.parameters.end() ? std::string_view() : std::string_view(found->second);
}

// A key bound to one sandbox may call nothing unless the row says so.
base::Status check_bound_key(const identity::Claims& caller, const RouteMatch& match) {
  const api::Scope scope = match.route->scope;
  if (scope == api::Scope::kNone) {
    return key_refused("this API key is bound to sandbox " + caller.sandbox_id +
                       " and cannot be used for this call");
  }
  if (bound_sandbox_of(match) != caller.sandbox_id) {
    return key_refused("this API key is bound to sandbox " + caller.sandbox_id +
                       " and cannot be used for another");
  }
  if (scope == api::Scope::kBound) return {};
  const std::string_view group = api::scope_name(scope);
  if (std::ranges::find(caller.action_groups, group) != caller.action_groups.end()) return {};
  return key_refused("this API key does not have the action group " + std::string(group));
}

}  // namespace

std::string request_id_of(const http::Headers& headers, base::Random& random) {
  const auto given = headers.find("X-Request-ID");
  if (given && !given->empty() && given->size() <= kRequestIdBytesMax &&
      std::ranges::all_of(*given, is_id_character)) {
    return std::string(*given);
  }
  return random.hex(8);
}

base::Status check_may_call(const identity::Claims& caller, const RouteMatch& match) {
  if (caller.is_bound()) AT_OK(check_bound_key(caller, match));
  if (match.route->who == api::Access::kAdmin && !caller.is_admin) {
    base::Error error = base::denied("only an administrator may do this");
    error.reason = "admin_required";
    return error;
  }
  return {};
}

base::Status check_body_length(const http::Body& body, const api::Route& route) {
  const auto length = body.length();
  if (!length || *length <= route.body_bytes_max) return {};
  base::Error error = base::invalid(route.body_bytes_max == 0
                                        ? "this call takes no request body"
                                        : "the request body is larger than the limit of " +
                                              std::to_string(route.body_bytes_max) + " bytes");
  error.reason = "body_too_large";
  return error;
}

}  // namespace agenttier::router
