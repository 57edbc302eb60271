#include "identity/authenticator.h"

#include <optional>
#include <string_view>
#include <utility>

#include "identity/api_keys.h"

namespace agenttier::identity {
namespace {

constexpr std::size_t kAuthorizationBytesMax = 16 * 1024;

base::Error refused(std::string reason, std::string message) {
  base::Error error = base::unauthenticated(std::move(message));
  error.reason = std::move(reason);
  return error;
}

bool equal_without_case(std::string_view left, std::string_view right) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (lower(left[i]) != lower(right[i])) return false;
  }
  return true;
}

// The token of "Bearer <token>".
std::optional<std::string> bearer_token(std::string_view authorization) {
  const std::size_t space = authorization.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  if (!equal_without_case(authorization.substr(0, space), "bearer")) return std::nullopt;
  const std::string_view token = authorization.substr(space + 1);
  if (token.empty() || token.find(' ') != std::string_view::npos) return std::nullopt;
  return std::string(token);
}

}  // namespace

// Not a coroutine: the headers are read before anything is awaited.
async::Task<base::Result<Claims>> Authenticator::authenticate(const http::Headers& headers) {
  const auto key = headers.find("X-API-Key");
  if (key && !key->empty()) return keys_.verify(std::string(*key));
  return verify_token(std::string(headers.find("Authorization").value_or("")));
}

async::Task<base::Result<Claims>> Authenticator::verify_token(std::string authorization) {
  if (authorization.empty()) {
    co_return refused("missing_authorization",
                      "send an API key in X-API-Key or a token in Authorization: Bearer");
  }
  auto token = bearer_token(authorization);
  if (!token || authorization.size() > kAuthorizationBytesMax) {
    co_return refused("invalid_authorization_format", "Authorization must be: Bearer <token>");
  }
  if (tokens_ == nullptr) {
    co_return refused("invalid_token", "this server accepts no tokens; use an API key");
  }
  co_return co_await tokens_->verify(*std::move(token));
}

}  // namespace agenttier::identity
