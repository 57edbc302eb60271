#pragma once
// SandboxAccess finds sandboxes for a caller: creators find their own, admins find all, and to
// everybody else a sandbox does not exist.
//
// The answer and the time it takes are the same for a sandbox that is not there and for one that is
// somebody else's. Reads come from the informer; a miss is checked with one live read, so that a
// sandbox is found right after it was made, whichever replica made it.
//
// Example:
//   AT_CO_TRY(SandboxPointer sandbox, co_await access.find(caller, name));

#include <memory>
#include <string>
#include <string_view>

#include "api/sandbox.h"
#include "api/sandbox_lifecycle.h"
#include "async/task.h"
#include "base/result.h"
#include "identity/claims.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace agenttier::router {

using SandboxPointer = std::shared_ptr<const api::Sandbox>;

class SandboxAccess {
 public:
  // The references must outlive this. `ns` is the namespace of all sandboxes.
  SandboxAccess(kube::Client& client, kube::Informer<api::Sandbox>& sandboxes, std::string ns);

  // kNotFound unless it exists and the caller may see it.
  async::Task<base::Result<SandboxPointer>> find(identity::Claims caller, std::string name);
  // The same, always from the server: for writes that depend on what is there.
  async::Task<base::Result<SandboxPointer>> read(identity::Claims caller, std::string name);

  static bool owns(const identity::Claims& caller, const api::Sandbox& sandbox);
  kube::ObjectKey key_of(std::string_view name) const { return {ns_, std::string(name)}; }
  const std::string& ns() const { return ns_; }

 private:
  kube::Client& client_;
  kube::Informer<api::Sandbox>& sandboxes_;
  const std::string ns_;
};

// "there is no sandbox named demo"
base::Error no_such_sandbox(std::string_view name);

// The phase that people see: that of the status, but Deleting once deletion has begun, and Creating
// while a stop that was followed by a resume is under way.
api::Phase phase_of(const api::Sandbox& sandbox);

}  // namespace agenttier::router
