#include "node/network_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
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

// Policies by one label that their selector insists on, so that a pod meets only those that may
// select it: with a policy for each pod, trying every policy on every pod would take far longer
// than all else.
class PolicyIndex {
 public:
  explicit PolicyIndex(const std::vector<api::NetworkPolicy>& policies) {
    for (const api::NetworkPolicy& policy : policies) {
      auto query = api::to_label_query(policy.spec.pod_selector);
      if (!query) continue;  // what is not understood selects nothing
      const api::LabelRequirement* sure = nullptr;
      for (const api::LabelRequirement& requirement : query->requirements) {
        const bool is_equality = requirement.op == api::LabelRequirement::Operator::kIn &&
                                 requirement.values.size() == 1;
        if (is_equality) sure = &requirement;
      }
      const std::string& ns = policy.metadata.ns;
      auto& into = sure == nullptr ? others_[ns] : by_label_[key(ns, sure->key, sure->values[0])];
      entries_.push_back({&policy, *std::move(query)});
      into.push_back(entries_.size() - 1);
    }
  }

  // In the order of the list they were made from.
  std::vector<const api::NetworkPolicy*> selecting(const NetworkedPod& pod) const {
    std::vector<std::size_t> candidates;
    const auto add = [&candidates](const auto& lists, const std::string& at) {
      const auto found = lists.find(at);
      if (found == lists.end()) return;
      candidates.insert(candidates.end(), found->second.begin(), found->second.end());
    };
    add(others_, pod.ns);
    for (const auto& [label, value] : pod.labels) add(by_label_, key(pod.ns, label, value));
    std::sort(candidates.begin(), candidates.end());
    std::vector<const api::NetworkPolicy*> found;
    for (const std::size_t at : candidates) {
      if (entries_[at].query.matches(pod.labels)) found.push_back(entries_[at].policy);
    }
    return found;
  }

 private:
  struct Entry {
    const api::NetworkPolicy* policy;
    api::LabelQuery query;
  };
  // Neither part may hold a line break: the API refuses it.
  static std::string key(const std::string& ns, const std::string& label,
                         const std::string& value) {
    return ns + '\n' + label + '\n' + value;
  }

  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_label_, others_;
};

class PodCompiler {
 public:
  PodCompiler(const NetworkRules& rules, const PodAddresses& addresses, std::string_view pod_subnet)
      : rules_(rules), addresses_(addresses), pod_subnet_(pod_subnet), policies_(rules.policies) {}

  PodChains compile(const NetworkedPod& pod, const PodAddress& address) {
    PodChains chains{.address = address, .egress = {}, .ingress = {}};
    for (const api::NetworkPolicy* policy : policies_.selecting(pod)) {
      for (const auto& rule : policy->spec.egress) {
        add(chains.egress, peers(rule.to, pod.ns, "daddr"), rule.ports, "goto egress_ok");
      }
      for (const auto& rule : policy->spec.ingress) {
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
                                 const std::string& ns, std::string_view side) {
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

  // The same peers stand in many policies, so what they select is looked up once.
  std::optional<std::string> selected(const api::NetworkPolicyPeer& peer, const std::string& ns,
                                      std::string_view side) {
    std::optional<api::LabelQuery> of_namespace, of_pod;
    if (peer.namespace_selector) {
      auto query = api::to_label_query(*peer.namespace_selector);
      if (!query) return std::nullopt;
      of_namespace = *std::move(query);
    }
    if (peer.pod_selector) {
      auto query = api::to_label_query(*peer.pod_selector);
      if (!query) return std::nullopt;
      of_pod = *std::move(query);
    }
    std::string wanted = of_namespace ? "in:" + of_namespace->text() : "ns:" + ns;
    wanted += '\n' + (of_pod ? of_pod->text() : "");
    const auto [known, is_new] = selected_.try_emplace(std::move(wanted));
    if (is_new) known->second = addresses_of(of_namespace, of_pod, ns);
    if (known->second.empty()) return std::nullopt;
    return fmt::format("ip {} {{ {} }}", side, known->second);
  }

  std::string addresses_of(const std::optional<api::LabelQuery>& of_namespace,
                           const std::optional<api::LabelQuery>& of_pod,
                           const std::string& ns) const {
    std::string list;
    for (const NetworkedPod& other : rules_.pods) {
      const bool right_namespace =
          of_namespace ? of_namespace->matches(labels_of_namespace(rules_, other.ns))
                       : other.ns == ns;
      if (!right_namespace || (of_pod && !of_pod->matches(other.labels))) continue;
      const auto address = addresses_.find(other.uid);
      if (address != addresses_.end()) list += (list.empty() ? "" : ", ") + address->second.ip;
    }
    return list;
  }

  const NetworkRules& rules_;
  const PodAddresses& addresses_;
  const std::string_view pod_subnet_;
  const PolicyIndex policies_;
  std::unordered_map<std::string, std::string> selected_;  // addresses by selectors
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
  PodCompiler compiler(rules, addresses, pod_subnet);
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
