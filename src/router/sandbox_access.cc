#include "router/sandbox_access.h"

#include <utility>

#include "api/meta.h"
#include "api/names.h"
#include "api/validate.h"
#include "kube/typed.h"

namespace agenttier::router {

SandboxAccess::SandboxAccess(kube::Client& client, kube::Informer<api::Sandbox>& sandboxes,
                             std::string ns)
    : client_(client), sandboxes_(sandboxes), ns_(std::move(ns)) {}

bool SandboxAccess::owns(const identity::Claims& caller, const api::Sandbox& sandbox) {
  if (!caller.may_reach(sandbox.metadata.name, sandbox.metadata.uid)) return false;
  if (caller.is_admin) return true;
  // An empty subject is nobody's: it must not match a sandbox whose creator is unknown.
  return !caller.sub.empty() && sandbox.spec.created_by &&
         sandbox.spec.created_by->sub == caller.sub;
}

async::Task<base::Result<SandboxPointer>> SandboxAccess::find(identity::Claims caller,
                                                              std::string name) {
  if (SandboxPointer cached = sandboxes_.find(ns_, name); cached && owns(caller, *cached)) {
    co_return cached;
  }
  co_return co_await read(std::move(caller), std::move(name));
}

async::Task<base::Result<SandboxPointer>> SandboxAccess::read(identity::Claims caller,
                                                              std::string name) {
  if (!api::check_sandbox_name(name)) co_return no_such_sandbox(name);
  auto sandbox = co_await kube::get<api::Sandbox>(client_, key_of(name));
  if (!sandbox && sandbox.error().code == base::ErrorCode::kNotFound) {
    co_return no_such_sandbox(name);
  }
  if (!sandbox) co_return std::move(sandbox).error().context("read sandbox " + name);
  if (!owns(caller, *sandbox)) co_return no_such_sandbox(name);
  co_return std::make_shared<const api::Sandbox>(*std::move(sandbox));
}

base::Error no_such_sandbox(std::string_view name) {
  base::Error error =
      base::not_found("there is no sandbox named " + std::string(name.substr(0, 253)));
  error.reason = "sandbox_not_found";
  return error;
}

namespace {

// Whether a sandbox whose status still says Running is on its way through a stop to a new start.
bool is_restarting(const api::Sandbox& sandbox) {
  if (sandbox.spec.desired_state == "Stopped") return false;
  const std::string& reason = sandbox.status->reason;
  namespace reasons = api::names::reasons;
  return reason == reasons::kUserStopped || reason == reasons::kIdleTimeout ||
         reason == reasons::kMaxRuntime ||
         api::annotation_of(sandbox.metadata, api::names::kActionAnnotation) ==
             api::names::kActionResume;
}

}  // namespace

api::Phase phase_of(const api::Sandbox& sandbox) {
  if (api::is_being_deleted(sandbox.metadata)) return api::Phase::kDeleting;
  if (!sandbox.status) return api::Phase::kNew;
  const api::Phase phase = api::parse_phase(sandbox.status->phase).value_or(api::Phase::kNew);
  // The pod that the status names may be going: nobody can count on it.
  if (phase == api::Phase::kRunning && is_restarting(sandbox)) return api::Phase::kCreating;
  return phase;
}

}  // namespace agenttier::router
