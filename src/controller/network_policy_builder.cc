#include "controller/network_policy_builder.h"

#include <algorithm>
#include <utility>

#include "api/names.h"
#include "controller/sandbox_objects.h"
#include "policy/cidr.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;

api::NetworkPolicyPort policy_port(std::string protocol, std::int64_t port) {
  api::NetworkPolicyPort made;
  made.protocol = std::move(protocol);
  made.port = std::to_string(port);
  return made;
}

std::vector<api::NetworkPolicyPort> ports_of(const std::vector<api::NetworkPort>& ports) {
  std::vector<api::NetworkPolicyPort> made;
  for (const api::NetworkPort& port : ports) {
    made.push_back(policy_port(port.protocol.value_or("TCP"), port.port));
  }
  return made;
}

api::NetworkPolicyPeer block(const std::string& cidr, std::vector<std::string> except) {
  api::NetworkPolicyPeer peer;
  api::IPBlock& made = peer.ip_block.emplace();
  made.cidr = cidr;
  made.except = std::move(except);
  return peer;
}

// The network without the closed ranges in it; nothing if it lies in one.
std::optional<api::NetworkPolicyPeer> open_block(const std::string& text,
                                                 const std::vector<std::string>& closed) {
  const auto cidr = policy::parse_cidr(text);
  if (!cidr || !policy::container_of(*cidr, closed).empty()) return std::nullopt;
  return block(text, policy::inside(*cidr, closed));
}

std::string service_key(const api::ServiceReference& service, const std::string& ns) {
  const std::string named = service.ns.value_or("");
  return (named.empty() ? ns : named) + "/" + service.name;
}

// The pods behind the service; nothing if it is not known or selects no pods.
std::optional<api::NetworkPolicyPeer> service_peer(const api::ServiceReference& service,
                                                   const std::string& ns,
                                                   const ServiceSelectors& services) {
  const std::string key = service_key(service, ns);
  const auto found = services.find(key);
  if (found == services.end() || found->second.empty()) return std::nullopt;
  api::NetworkPolicyPeer peer;
  peer.pod_selector.emplace().match_labels = found->second;
  peer.namespace_selector.emplace().match_labels[std::string(names::kNamespaceNameLabel)] =
      key.substr(0, key.find('/'));
  return peer;
}

api::NetworkPolicyPeer peer_sandboxes(const api::NetworkSpec& network) {
  api::NetworkPolicyPeer peer;
  api::LabelSelector& selector = peer.pod_selector.emplace();
  if (network.peer_sandbox_selector) selector = *network.peer_sandbox_selector;
  // Whatever the selector says, only sandboxes are peers.
  selector.match_labels[std::string(names::kManagedLabel)] = names::kTrue;
  return peer;
}

void add_resolvers(api::NetworkPolicySpec& spec, const NetworkOptions& options) {
  if (options.resolvers.empty()) return;
  api::NetworkPolicyEgressRule rule;
  rule.to = options.resolvers;
  rule.ports = {policy_port("UDP", 53), policy_port("TCP", 53)};
  spec.egress.push_back(std::move(rule));
}

void add_internet(api::NetworkPolicySpec& spec, const NetworkOptions& options) {
  std::vector<std::string> not_ipv4, not_ipv6;
  for (const std::string& range : options.not_internet) {
    (range.find(':') == std::string::npos ? not_ipv4 : not_ipv6).push_back(range);
  }
  api::NetworkPolicyEgressRule rule;
  rule.to = {block("0.0.0.0/0", std::move(not_ipv4)), block("::/0", std::move(not_ipv6))};
  spec.egress.push_back(std::move(rule));
}

void add_egress(api::NetworkPolicySpec& spec, const api::NetworkRule& rule, const std::string& ns,
                const ServiceSelectors& services, const NetworkOptions& options) {
  api::NetworkPolicyEgressRule made;
  if (rule.cidr) {
    if (auto peer = open_block(*rule.cidr, options.closed)) made.to.push_back(*std::move(peer));
  }
  if (rule.service_ref) {
    if (auto peer = service_peer(*rule.service_ref, ns, services)) {
      made.to.push_back(*std::move(peer));
    }
  }
  // Without a destination the rule would open everything.
  if (made.to.empty()) return;
  made.ports = ports_of(rule.ports);
  spec.egress.push_back(std::move(made));
}

void add_ingress(api::NetworkPolicySpec& spec, const api::NetworkRule& rule) {
  if (!rule.cidr || !policy::parse_cidr(*rule.cidr)) return;
  api::NetworkPolicyIngressRule made;
  made.from = {block(*rule.cidr, {})};
  made.ports = ports_of(rule.ports);
  spec.ingress.push_back(std::move(made));
}

void add_peers(api::NetworkPolicySpec& spec, const api::NetworkSpec& network) {
  api::NetworkPolicyEgressRule out;
  out.to = {peer_sandboxes(network)};
  spec.egress.push_back(std::move(out));
  api::NetworkPolicyIngressRule in;
  in.from = {peer_sandboxes(network)};
  spec.ingress.push_back(std::move(in));
}

void add_control_plane(api::NetworkPolicySpec& spec, const NetworkOptions& options) {
  if (options.control_plane.empty()) return;
  api::NetworkPolicyIngressRule rule;
  rule.from = options.control_plane;
  rule.ports = {policy_port("TCP", names::kRuntimePort)};
  spec.ingress.push_back(std::move(rule));
}

}  // namespace

std::vector<std::string> NetworkOptions::standard_not_internet() {
  return {"0.0.0.0/8",     "10.0.0.0/8",   "100.64.0.0/10",  "127.0.0.0/8",   "169.254.0.0/16",
          "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4",
          "240.0.0.0/4",   "::/128",       "::1/128",        "::ffff:0:0/96", "64:ff9b::/96",
          "fc00::/7",      "fe80::/10",    "ff00::/8"};
}

api::NetworkPolicy build_network_policy(const api::Sandbox& sandbox,
                                        const api::NetworkSpec& network,
                                        const ServiceSelectors& services,
                                        const NetworkOptions& options) {
  api::NetworkPolicy made;
  made.metadata = owned_meta(sandbox, names::network_policy_of(sandbox.metadata.name));
  api::NetworkPolicySpec& spec = made.spec;
  spec.pod_selector.match_labels[std::string(names::kSandboxLabel)] = sandbox.metadata.name;
  spec.policy_types = {"Ingress", "Egress"};
  add_resolvers(spec, options);
  if (network.allow_internet.value_or(false)) add_internet(spec, options);
  for (const api::NetworkRule& rule : network.egress_rules) {
    add_egress(spec, rule, sandbox.metadata.ns, services, options);
  }
  for (const api::NetworkRule& rule : network.ingress_rules) add_ingress(spec, rule);
  if (network.allow_peer_sandboxes.value_or(false)) add_peers(spec, network);
  add_control_plane(spec, options);
  return made;
}

std::vector<std::string> services_of(const api::NetworkSpec& network,
                                     const std::string& sandbox_namespace) {
  std::vector<std::string> keys;
  for (const api::NetworkRule& rule : network.egress_rules) {
    if (rule.service_ref) keys.push_back(service_key(*rule.service_ref, sandbox_namespace));
  }
  return keys;
}

}  // namespace agenttier::controller
