#pragma once
// The Authenticator turns the headers of a request into Claims.
//
// X-API-Key, if it is not empty, decides alone, even when the key is bad; otherwise the token of
// "Authorization: Bearer". Every refusal is kUnauthenticated with one of the reasons
// "invalid_api_key", "missing_authorization", "invalid_authorization_format" and "invalid_token".
// When the key cannot be looked up the error is that of the look-up (kUnavailable): a server in
// trouble never says that a key is bad, and never lets one pass.
//
// Example:
//   Authenticator authenticator(keys, nullptr);
//   AT_CO_TRY(Claims caller, co_await authenticator.authenticate(request.headers));

#include <string>

#include "async/task.h"
#include "base/result.h"
#include "http/message.h"
#include "identity/claims.h"

namespace agenttier::identity {

class ApiKeys;

class TokenVerifier {
 public:
  virtual ~TokenVerifier() = default;
  // kUnauthenticated (reason "invalid_token") says in its message why.
  virtual async::Task<base::Result<Claims>> verify(std::string token) = 0;
};

class Authenticator {
 public:
  // Both outlive the authenticator. Without a verifier every token is refused.
  Authenticator(ApiKeys& keys, TokenVerifier* tokens) : keys_(keys), tokens_(tokens) {}

  async::Task<base::Result<Claims>> authenticate(const http::Headers& headers);

 private:
  async::Task<base::Result<Claims>> verify_token(std::string authorization);

  ApiKeys& keys_;
  TokenVerifier* tokens_;
};

}  // namespace agenttier::identity
