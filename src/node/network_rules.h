#pragma once
// Compiles NetworkPolicies into nftables rules: pure, text in and text out.
//
// Each pod has two chains, what it may send and what it may receive. A pod that no policy selects
// is closed both ways. Policies add up, as in Kubernetes; they open, never close. A rule by CIDR
// never opens other pods: those are opened by selectors only, and both sides must agree. Policies
// of types or ports that this machine cannot enforce open nothing.
//
// Example:
//   CompiledRules wanted = compile_policies(rules, addresses, "10.213.0.0/16");
//   std::string script = difference_script("agenttier_1a2b3", current, wanted);

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "node/network.h"

namespace agenttier::node {

struct PodAddress {
  std::string ip;
  std::string device;  // host end of the pod's veth
  bool operator==(const PodAddress&) const = default;
};
using PodAddresses = std::map<std::string, PodAddress>;  // by pod UID

struct PodChains {
  PodAddress address;
  std::vector<std::string> egress;  // rules, in order; what none accepts is dropped
  std::vector<std::string> ingress;
  bool operator==(const PodChains&) const = default;
};
using CompiledRules = std::map<std::string, PodChains>;  // by pod UID

// Rules beyond this number for one pod and direction are left out: closed, not open.
inline constexpr std::size_t kRulesPerPodMax = 2000;

// `nameservers` (IPv4 addresses) are open on port 53 to pods that may reach anything at all; a pod
// that is closed cannot ask for names either, since a name is a message.
CompiledRules compile_policies(const NetworkRules& rules, const PodAddresses& addresses,
                               std::string_view pod_subnet,
                               const std::vector<std::string>& nameservers = {});

// The script that makes the table anew, with everything closed. `prefix` is how the names of the
// pods' devices begin.
std::string base_ruleset(std::string_view table, std::string_view prefix,
                         std::string_view pod_subnet);

// The script that turns what the kernel has into what is wanted; empty if they are equal.
std::string difference_script(std::string_view table, const CompiledRules& current,
                              const CompiledRules& wanted);

}  // namespace agenttier::node
