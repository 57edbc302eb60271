#pragma once
// The network policy of a sandbox: closed both ways but for what its specification opens.
//
// Always open: name resolution, to the resolver alone; the runtime's port, to the control plane
// alone. allowInternet opens the public internet: every address but the private, link-local and
// cluster ranges. A rule opens its network on its ports, but never a closed range within it; a rule
// that names nothing opens nothing. Peers are sandboxes of the same namespace only.
//
// On one machine the node agent knows its resolver and itself, so `resolvers` and `control_plane`
// stay empty there and it opens both by its own rules. On a cluster they are selectors.
//
// Pure: the same input gives the same policy, and the order of its rules is that of the input.

#include <map>
#include <string>
#include <vector>

#include "api/network_policy.h"
#include "api/sandbox.h"
#include "policy/decision.h"

namespace agenttier::controller {

struct NetworkOptions {
  // Where port 53 is open to; none: no rule.
  std::vector<api::NetworkPolicyPeer> resolvers;
  // Who may reach the runtime's port; none: no rule.
  std::vector<api::NetworkPolicyPeer> control_plane;
  // What "the internet" does not include.
  std::vector<std::string> not_internet = standard_not_internet();
  // What no rule opens.
  std::vector<std::string> closed = policy::SandboxRules::standard_closed_cidrs();

  static std::vector<std::string> standard_not_internet();
};

// Selectors of the pods behind Services, by "<namespace>/<name>"; filled from observed Services.
using ServiceSelectors = std::map<std::string, std::map<std::string, std::string>>;

api::NetworkPolicy build_network_policy(const api::Sandbox& sandbox,
                                        const api::NetworkSpec& network,
                                        const ServiceSelectors& services,
                                        const NetworkOptions& options);

// "<namespace>/<name>" of each Service that the rules name.
std::vector<std::string> services_of(const api::NetworkSpec& network,
                                     const std::string& sandbox_namespace);

}  // namespace agenttier::controller
