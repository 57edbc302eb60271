#pragma once
// SandboxRuntimes knows where the runtime of a sandbox listens and what opens it.
//
// Only of this incarnation: the address comes from the status of the sandbox at hand, and the
// token's Secret must be owned by its UID, so that a name made again never reaches what was there
// before. Both come from informers: no request is made for a sandbox that is known.
//
// Example:
//   AT_CO_TRY(RuntimeEndpoint endpoint, co_await runtimes.endpoint_of(sandbox));

#include <string>

#include "api/secret.h"
#include "async/task.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "router/runtime_client.h"
#include "router/sandbox_access.h"

namespace agenttier::router {

class SandboxRuntimes {
 public:
  // `tokens` holds the runtime token Secrets. The references must outlive this.
  SandboxRuntimes(kube::Client& client, kube::Informer<api::Secret>& tokens)
      : client_(client), tokens_(tokens) {}

  // kConflict that names the phase unless it is Running; kUnavailable while its address or token is
  // not known yet.
  async::Task<base::Result<RuntimeEndpoint>> endpoint_of(SandboxPointer sandbox);

 private:
  async::Task<base::Result<std::string>> token_of(SandboxPointer sandbox);

  kube::Client& client_;
  kube::Informer<api::Secret>& tokens_;
};

// kConflict with a sentence that says what to do, unless the sandbox is Running.
base::Status check_running(const api::Sandbox& sandbox);

}  // namespace agenttier::router
