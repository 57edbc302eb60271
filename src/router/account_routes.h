#pragma once
// The calls about the caller and their API keys.

#include "router/call.h"

namespace agenttier::identity {
class ApiKeys;
}

namespace agenttier::router {

class SandboxAccess;

// Both must outlive the handlers.
void add_account_routes(Handlers& handlers, identity::ApiKeys& keys, SandboxAccess& access);

}  // namespace agenttier::router
