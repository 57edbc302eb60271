#pragma once
// The steps between a request and its handler that need nothing but the request and its row.

#include <string>
#include <string_view>

#include "api/route.h"
#include "base/random.h"
#include "base/result.h"
#include "http/message.h"
#include "identity/claims.h"
#include "router/route_lookup.h"

namespace agenttier::router {

// The caller's X-Request-ID if it is 1 to 128 letters, digits and "._-:", else 16 random hex
// digits.
std::string request_id_of(const http::Headers& headers, base::Random& random);

// Whether the caller may use the route at all: the gate for keys bound to a sandbox, and for
// admins.
base::Status check_may_call(const identity::Claims& caller, const RouteMatch& match);

// kInvalid (reason "body_too_large") if the request says that its body is larger than the row
// allows.
base::Status check_body_length(const http::Body& body, const api::Route& route);

}  // namespace agenttier::router
