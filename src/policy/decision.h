#pragma once
// Decisions: may this sandbox be, as it is written?
//
// Pure functions over the wire types, used by the router for a quick answer and by the controller
// as the authority for every way in, kubectl included. They say all that is wrong at once, each
// with the path of the field, the problem, and what would be right.
//
// Two levels of trust meet here. A Sandbox is written by its user: what it names must not reach
// beyond the sandbox (no host, no control-plane Secret, no foreign service account). A template is
// written by an administrator or a team: it may name a service account, but the same walls hold.
//
// Quotas and governance (what a user, namespace or cluster allows) are further deciders over the
// same EffectiveSpec: add one function per rule set here and call it where check_effective_spec is
// called.
//
// Example:
//   if (auto allowed = check_sandbox(sandbox, rules); !allowed) return allowed.error();

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/sandbox.h"
#include "api/template.h"
#include "base/result.h"
#include "policy/effective_spec.h"

namespace agenttier::policy {

struct SandboxRules {
  enum class Relaxed : std::uint8_t { kForbidden, kAllowed };

  // Whether spec.security.privileged may relax the sandbox container (it never gets host rights).
  Relaxed privileged = Relaxed::kForbidden;
  // Service accounts that a sandbox may name by itself; a template may name any.
  std::vector<std::string> service_accounts;
  // Namespaces no service rule may open: those of the control plane and the cluster.
  std::vector<std::string> closed_namespaces = {"agenttier", "kube-system"};
  // Networks no egress rule may open: the machine itself, link-local and metadata addresses.
  std::vector<std::string> closed_cidrs = standard_closed_cidrs();
  std::chrono::hours duration_max{24 * 365};
  std::int64_t storage_bytes_max = std::int64_t{64} << 40;
  std::size_t env_max = 500;
  std::size_t env_bytes_max = 256 * 1024;
  std::size_t containers_max = 16;  // sidecars, and init containers
  std::size_t credentials_max = 32;
  std::size_t network_rules_max = 64;  // each way
  std::size_t files_max = 200;
  std::size_t files_bytes_max = 700 * 1024;  // files and init scripts together fit one Secret

  static std::vector<std::string> standard_closed_cidrs();
};

// What a user wrote: name, spec and labels. kInvalid with a cause per wrong field.
base::Status check_sandbox(const api::Sandbox& sandbox, const SandboxRules& rules);
// What an administrator wrote. Paths begin with "spec".
base::Status check_template_spec(const api::SandboxTemplateSpec& spec, const SandboxRules& rules);
// What would run: the merged form, after which nothing is added. kInvalid with a cause per field.
base::Status check_effective_spec(const EffectiveSpec& spec, const SandboxRules& rules);

// Secrets that carry the control plane's credentials; no sandbox may name them.
bool is_reserved_secret(std::string_view name);
// Variables that the controller sets; what a user gives under these names is refused.
bool is_reserved_env(std::string_view name);

}  // namespace agenttier::policy
