#include "node/network_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "api/label_selector.h"
#include "api/network_policy.h"
#include "node/address_pool.h"

namespace agenttier::node {
namespace {

const Labels kNoLabels;

const Labels& labels_of_namespace(const NetworkRules& rules, const std::string& ns) {
  const auto found = rules.namespace_labels.find(ns);
  return found == rules.namespace_labels.end() ? kNoLabels : found->second;
}

// Chain names are made of the pod's UID, which comes from the API: nothing but letters, digits and
// underscores gets through.
std::string chain_name(char direction, const std::string& uid) {
  std::string name{direction, '_'};
  for (char c : uid) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += plain ? c : '_';
  }
  return name;
}

std::optional<std::int64_t> port_number(const std::string& text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  if (number < 1 || number > 65535) return std::nullopt;
  return number;
}

// "tcp dport 80", "udp dport 53-60", or nothing if the port cannot be enforced here.
std::optional<std::string> port_match(const api::NetworkPolicyPort& port) {
  std::string protocol = port.protocol.value_or("TCP");
  std::transform(protocol.begin(), protocol.end(), protocol.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (protocol != "tcp" && protocol != "udp" && protocol != "sctp") return std::nullopt;
  if (!port.port) return "meta l4proto " + protocol;
  const std::optional<std::int64_t> first = port_number(*port.port);
  if (!first) return std::nullopt;  // named ports are not known here
  const std::int64_t last = port.end_port.value_or(*first);
  if (last < *first || last > 65535) return std::nullopt;
  if (last == *first) return fmt::format("{} dport {}", protocol, *first);
  return fmt::format("{} dport {}-{}", protocol, *first, last);
}

// Empty text: any port. An empty list: nothing can match.
std::vector<std::string> port_matches(const std::vector<api::NetworkPolicyPort>& ports) {
  if (ports.empty()) return {""};
  std::vector<std::string> matches;
  for (const auto& port : ports) {
    if (auto match = port_match(port)) matches.push_back(" " + *std::move(match));
  }
  return matches;
}

class PodCompiler {
 public:
  PodCompiler(const NetworkRules& rules, const PodAddresses& addresses, std::string_view pod_subnet)
      : rules_(rules), addresses_(addresses), pod_subnet_(pod_subnet) {}

  PodChains compile(const NetworkedPod& pod, const PodAddress& address) const {
    PodChains chains{.address = address, .egress = {}, .ingress = {}};
    for (const api::NetworkPolicy& policy : rules_.policies) {
      if (policy.metadata.ns != pod.ns || !api::matches(policy.spec.pod_selector, pod.labels))
        continue;
      for (const auto& rule : policy.spec.egress) {
        add(chains.egress, peers(rule.to, pod.ns, "daddr"), rule.ports, "goto egress_ok");
      }
      for (const auto& rule : policy.spec.ingress) {
        add(chains.ingress, peers(rule.from, pod.ns, "saddr"), rule.ports, "accept");
      }
    }
    return chains;
  }

 private:
  static void add(std::vector<std::string>& chain, const std::vector<std::string>& matches,
                  const std::vector<api::NetworkPolicyPort>& ports, std::string_view verdict) {
    for (const std::string& match : matches) {
      for (const std::string& port : port_matches(ports)) {
        if (chain.size() < kRulesPerPodMax)
          chain.push_back(fmt::format("{}{} {}", match, port, verdict));
      }
    }
  }

  std::string anywhere_but_pods(std::string_view side) const {
    return fmt::format("ip {} != {}", side, pod_subnet_);
  }

  std::vector<std::string> peers(const std::vector<api::NetworkPolicyPeer>& peers,
                                 const std::string& ns, std::string_view side) const {
    if (peers.empty()) return {anywhere_but_pods(side)};
    std::vector<std::string> matches;
    for (const api::NetworkPolicyPeer& peer : peers) {
      auto match = peer.ip_block ? block(*peer.ip_block, side) : selected(peer, ns, side);
      if (match) matches.push_back(*std::move(match));
    }
    return matches;
  }

  std::optional<std::string> block(const api::IPBlock& block, std::string_view side) const {
    const auto cidr = Subnet::parse(block.cidr);
    if (!cidr) return std::nullopt;  // not IPv4
    std::string match = anywhere_but_pods(side);
    if (cidr->prefix_length > 0) match += fmt::format(" ip {} {}", side, cidr->cidr());
    for (const std::string& text : block.except) {
      const auto except = Subnet::parse(text);
      if (!except) return std::nullopt;  // an exception that cannot be kept closes the rule
      match += fmt::format(" ip {} != {}", side, except->cidr());
    }
    return match;
  }

  std::optional<std::string> selected(const api::NetworkPolicyPeer& peer, const std::string& ns,
                                      std::string_view side) const {
    std::string list;
    for (const NetworkedPod& other : rules_.pods) {
      const auto address = addresses_.find(other.uid);
      if (address == addresses_.end()) continue;
      const bool right_namespace =
          peer.namespace_selector
              ? api::matches(*peer.namespace_selector, labels_of_namespace(rules_, other.ns))
              : other.ns == ns;
      if (!right_namespace) continue;
      if (peer.pod_selector && !api::matches(*peer.pod_selector, other.labels)) continue;
      list += (list.empty() ? "" : ", ") + address->second.ip;
    }
    if (list.empty()) return std::nullopt;
    return fmt::format("ip {} {{ {} }}", side, list);
  }

  const NetworkRules& rules_;
  const PodAddresses& addresses_;
  const std::string_view pod_subnet_;
};

void fill_chain(std::string& script, std::string_view table, const std::string& chain,
                const std::vector<std::string>& rules) {
  script += fmt::format("add chain inet {0} {1}\nflush chain inet {0} {1}\n", table, chain);
  for (const std::string& rule : rules)
    script += fmt::format("add rule inet {} {} {}\n", table, chain, rule);
}

// "owners { "at1" . 10.213.0.2 }" and the two verdict maps' elements.
void element_commands(std::string& script, std::string_view verb, std::string_view table,
                      const std::string& uid, const PodAddress& address) {
  script += fmt::format("{} element inet {} owners {{ \"{}\" . {} }}\n", verb, table,
                        address.device, address.ip);
  for (const auto& [map, direction] : {std::pair{"egress_of", 'e'}, std::pair{"ingress_of", 'i'}}) {
    script += fmt::format("{} element inet {} {} {{ \"{}\" : jump {} }}\n", verb, table, map,
                          address.device, chain_name(direction, uid));
  }
}

}  // namespace

namespace {

void open_names(std::vector<std::string>& egress, const std::vector<std::string>& nameservers) {
  if (egress.empty()) return;
  for (const std::string& server : nameservers) {
    if (!parse_ipv4(server)) continue;
    for (const char* protocol : {"udp", "tcp"}) {
      egress.push_back(fmt::format("ip daddr {} {} dport 53 goto egress_ok", server, protocol));
    }
  }
}

}  // namespace

CompiledRules compile_policies(const NetworkRules& rules, const PodAddresses& addresses,
                               std::string_view pod_subnet,
                               const std::vector<std::string>& nameservers) {
  CompiledRules compiled;
  for (const auto& [uid, address] : addresses)
    compiled[uid] = {.address = address, .egress = {}, .ingress = {}};
  const PodCompiler compiler(rules, addresses, pod_subnet);
  for (const NetworkedPod& pod : rules.pods) {
    const auto address = addresses.find(pod.uid);
    if (address == addresses.end()) continue;
    PodChains chains = compiler.compile(pod, address->second);
    open_names(chains.egress, nameservers);
    compiled[pod.uid] = std::move(chains);
  }
  return compiled;
}

std::string base_ruleset(std::string_view table, std::string_view prefix,
                         std::string_view pod_subnet) {
  // Order in the base chains: what comes from a pod first meets the rules of its sender, then, if
  // it goes to another pod, those of its receiver. Only answers skip the rules, so a policy that is
  // tightened cuts open connections.
  return fmt::format(R"(add table inet {0}
delete table inet {0}
table inet {0} {{
  set owners {{ type ifname . ipv4_addr; }}
  map egress_of {{ type ifname : verdict; }}
  map ingress_of {{ type ifname : verdict; }}
  chain to_pod {{
    ct direction reply ct state established,related accept
    oifname vmap @ingress_of
    drop
  }}
  chain egress_ok {{
    oifname "{1}*" goto to_pod
    accept
  }}
  chain from_pod {{
    meta nfproto != ipv4 drop
    iifname . ip saddr != @owners drop
    ct direction reply ct state established,related accept
    ip daddr 169.254.0.0/16 drop
    iifname vmap @egress_of
    drop
  }}
  chain to_host {{
    ct direction reply ct state established,related accept
    drop
  }}
  chain input {{
    type filter hook input priority filter - 5; policy accept;
    iifname "{1}*" goto to_host
  }}
  chain forward {{
    type filter hook forward priority filter - 5; policy accept;
    iifname "{1}*" goto from_pod
    oifname "{1}*" goto to_pod
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr {2} oifname != "{1}*" masquerade
  }}
}}
)",
                     table, prefix, pod_subnet);
}

std::string difference_script(std::string_view table, const CompiledRules& current,
                              const CompiledRules& wanted) {
  std::string script;
  for (const auto& [uid, chains] : current) {
    const auto now = wanted.find(uid);
    if (now != wanted.end() && now->second.address == chains.address) continue;
    element_commands(script, "delete", table, uid, chains.address);
    for (const char direction : {'e', 'i'}) {
      script += fmt::format("flush chain inet {0} {1}\ndelete chain inet {0} {1}\n", table,
                            chain_name(direction, uid));
    }
  }
  for (const auto& [uid, chains] : wanted) {
    const auto before = current.find(uid);
    const bool same_place = before != current.end() && before->second.address == chains.address;
    if (same_place && before->second == chains) continue;
    fill_chain(script, table, chain_name('e', uid), chains.egress);
    fill_chain(script, table, chain_name('i', uid), chains.ingress);
    if (!same_place) element_commands(script, "add", table, uid, chains.address);
  }
  return script;
}

}  // namespace agenttier::node
