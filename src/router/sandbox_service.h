#pragma once
// SandboxService makes, shows, changes and ends sandboxes for a caller.
//
// It writes one object per request: the spec and requests of a Sandbox, never its status. Stop and
// resume write spec.desiredState against the version they were decided on and try again when
// somebody else was faster, so that what was answered with success will happen. Lists come from the
// informer.
//
// Example:
//   AT_CO_TRY(SandboxPointer made, co_await sandboxes.create(caller, std::move(request)));
//   AT_CO_TRY(made, co_await sandboxes.wait_for(made, api::Phase::kRunning, 60s));

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/rest_sandbox.h"
#include "api/sandbox.h"
#include "async/task.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/message.h"
#include "identity/claims.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "router/sandbox_access.h"
#include "router/template_catalog.h"

namespace agenttier::router {

constexpr std::size_t kSandboxPageMax = 10'000;
constexpr int kWriteAttemptsMax = 12;  // of one change, when others write the same object
constexpr std::size_t kForwardedPortsMax = 64;

struct SandboxQuery {
  std::string phase;           // empty: any
  std::string template_name;   // empty: any
  std::string owner;           // sub or email; empty: any
  std::string label_selector;  // empty: any
  std::size_t limit = kSandboxPageMax;
  std::string after;  // names beyond this one
};

struct SandboxPage {
  std::vector<SandboxPointer> sandboxes;  // by name
  std::string after;                      // where the next page begins; empty on the last
};

class SandboxService {
 public:
  struct Parts {
    kube::Client& client;
    kube::Informer<api::Sandbox>& sandboxes;
    SandboxAccess& access;
    TemplateCatalog& templates;
    const base::Clock& clock;
  };
  // The parts must outlive this.
  explicit SandboxService(Parts parts) : parts_(parts) {}

  async::Task<base::Result<SandboxPointer>> create(identity::Claims caller,
                                                   api::CreateSandboxRequest request);
  // Until it is in the phase or can no longer come to it, or the limit has passed; gives the newest
  // state. kNotFound when it is gone.
  async::Task<base::Result<SandboxPointer>> wait_for(SandboxPointer sandbox, api::Phase phase,
                                                     std::chrono::nanoseconds limit);
  // Whether the namespace, as clients name it, is the one of this server's sandboxes.
  bool serves(std::string_view ns) const;
  base::Result<SandboxPage> list(const identity::Claims& caller, const SandboxQuery& query) const;
  async::Task<base::Result<SandboxPointer>> get(identity::Claims caller, std::string name);
  async::Task<base::Result<SandboxPointer>> patch(identity::Claims caller, std::string name,
                                                  api::PatchSandboxRequest request);
  async::Task<base::Status> remove(identity::Claims caller, std::string name);
  async::Task<base::Status> stop(identity::Claims caller, std::string name);
  async::Task<base::Status> resume(identity::Claims caller, std::string name);
  async::Task<base::Result<SandboxPointer>> clone(identity::Claims caller, std::string name,
                                                  api::CloneSandboxRequest request);
  // What the main process of its pod wrote, as it comes; kConflict without a pod.
  async::Task<base::Result<http::Body>> logs(identity::Claims caller, std::string name,
                                             kube::LogOptions options);
  async::Task<base::Result<SandboxPointer>> forward_port(identity::Claims caller, std::string name,
                                                         api::PortRequest port);
  async::Task<base::Result<SandboxPointer>> remove_port(identity::Claims caller, std::string name,
                                                        std::int64_t port);

 private:
  // Changes the object, or gives false when there is nothing to change, or the reason why not.
  using Change = std::function<base::Result<bool>(api::Sandbox& sandbox)>;

  async::Task<base::Result<SandboxPointer>> change(identity::Claims caller, std::string name,
                                                   Change change);
  base::Status check_namespace(const std::optional<std::string>& ns) const;
  async::Task<base::Result<SandboxPointer>> write_new(api::Sandbox sandbox);
  // Until the informer has this version, so that the next read sees it.
  async::Task<void> settle(std::string resource_version);

  Parts parts_;
};

}  // namespace agenttier::router
