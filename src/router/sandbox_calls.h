#pragma once
// SandboxCalls calls the runtime of a sandbox on behalf of a caller: finds the sandbox, checks that
// it runs, and sends the call over a kept-alive connection. Nothing on this way writes, and nothing
// but the call itself leaves the process.
//
// When the caller goes away the waiting task is cancelled, which closes the connection to the
// runtime, which ends an exec.
//
// Example:
//   AT_CO_TRY(auto answer, co_await calls.call(caller, "demo", {.target = "/v1/processes"}));

#include <string>

#include "async/task.h"
#include "base/result.h"
#include "http/message.h"
#include "identity/claims.h"
#include "router/runtime_client.h"
#include "router/sandbox_access.h"
#include "router/sandbox_runtimes.h"

namespace agenttier::router {

class SandboxCalls {
 public:
  // The references must outlive this.
  SandboxCalls(SandboxAccess& access, SandboxRuntimes& runtimes, RuntimeClient& client)
      : access_(access), runtimes_(runtimes), client_(client) {}

  // A response below 400, its body unread.
  async::Task<base::Result<http::Response>> call(identity::Claims caller, std::string sandbox,
                                                 RuntimeCall call);

 private:
  SandboxAccess& access_;
  SandboxRuntimes& runtimes_;
  RuntimeClient& client_;
};

}  // namespace agenttier::router
