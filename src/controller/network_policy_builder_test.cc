#include "controller/network_policy_builder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/meta.h"

namespace agenttier::controller {
namespace {

api::Sandbox sandbox() {
  api::Sandbox made;
  made.metadata.name = "demo";
  made.metadata.ns = "team-a";
  made.metadata.uid = "uid-demo";
  return made;
}

api::NetworkPolicySpec build(const api::NetworkSpec& network, const NetworkOptions& options = {},
                             const ServiceSelectors& services = {}) {
  return build_network_policy(sandbox(), network, services, options).spec;
}

bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

api::NetworkRule to_cidr(const std::string& cidr) {
  api::NetworkRule rule;
  rule.cidr = cidr;
  return rule;
}

NetworkOptions on_a_cluster() {
  NetworkOptions options;
  api::NetworkPolicyPeer resolver;
  resolver.pod_selector.emplace().match_labels["k8s-app"] = "kube-dns";
  options.resolvers = {resolver};
  api::NetworkPolicyPeer router;
  router.pod_selector.emplace().match_labels["app.kubernetes.io/component"] = "router";
  options.control_plane = {router};
  return options;
}

TEST(NetworkPolicy, ClosesBothWaysByDefault) {
  const api::NetworkPolicySpec spec = build({});
  EXPECT_EQ(spec.policy_types, (std::vector<std::string>{"Ingress", "Egress"}));
  EXPECT_TRUE(spec.ingress.empty());
  EXPECT_TRUE(spec.egress.empty());
  EXPECT_EQ(spec.pod_selector.match_labels.at("agenttier.io/sandbox"), "demo");
}

TEST(NetworkPolicy, BelongsToItsSandboxByUid) {
  const auto policy = build_network_policy(sandbox(), {}, {}, {});
  EXPECT_EQ(policy.metadata.name, "demo-netpol");
  EXPECT_TRUE(api::is_owned_by(policy.metadata, "uid-demo"));
}

TEST(NetworkPolicy, OpensPort53ToTheResolverAlone) {
  const api::NetworkPolicySpec spec = build({}, on_a_cluster());
  ASSERT_EQ(spec.egress.size(), 1U);
  ASSERT_EQ(spec.egress[0].to.size(), 1U);
  EXPECT_EQ(spec.egress[0].to[0].pod_selector->match_labels.at("k8s-app"), "kube-dns");
  ASSERT_EQ(spec.egress[0].ports.size(), 2U);
  EXPECT_EQ(spec.egress[0].ports[0].port, "53");
}

TEST(NetworkPolicy, OpensTheRuntimesPortToTheControlPlaneAlone) {
  const api::NetworkPolicySpec spec = build({}, on_a_cluster());
  ASSERT_EQ(spec.ingress.size(), 1U);
  EXPECT_EQ(spec.ingress[0].from.size(), 1U);
  ASSERT_EQ(spec.ingress[0].ports.size(), 1U);
  EXPECT_EQ(spec.ingress[0].ports[0].port, "9000");
}

TEST(NetworkPolicy, InternetIsNeitherPrivateNorMetadata) {
  api::NetworkSpec network;
  network.allow_internet = true;
  const api::NetworkPolicySpec spec = build(network);
  ASSERT_EQ(spec.egress.size(), 1U);
  ASSERT_EQ(spec.egress[0].to.size(), 2U);
  const api::IPBlock& ipv4 = *spec.egress[0].to[0].ip_block;
  EXPECT_EQ(ipv4.cidr, "0.0.0.0/0");
  for (const char* range : {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16",
                            "100.64.0.0/10", "127.0.0.0/8"}) {
    EXPECT_TRUE(has(ipv4.except, range)) << range;
  }
  const api::IPBlock& ipv6 = *spec.egress[0].to[1].ip_block;
  EXPECT_TRUE(has(ipv6.except, "fc00::/7"));
  EXPECT_TRUE(has(ipv6.except, "::ffff:0:0/96"));
  EXPECT_TRUE(spec.ingress.empty());
}

TEST(NetworkPolicy, InternetDoesNotSwallowTheOtherRules) {
  api::NetworkSpec network;
  network.allow_internet = true;
  network.egress_rules = {to_cidr("10.1.0.0/16")};
  network.ingress_rules = {to_cidr("10.2.0.0/16")};
  network.allow_peer_sandboxes = true;
  const api::NetworkPolicySpec spec = build(network, on_a_cluster());
  EXPECT_EQ(spec.egress.size(), 4U);
  EXPECT_EQ(spec.ingress.size(), 3U);
}

TEST(NetworkPolicy, RuleOpensItsNetworkOnItsPorts) {
  api::NetworkSpec network;
  network.egress_rules = {to_cidr("10.1.0.0/16")};
  network.egress_rules[0].ports.emplace_back().port = 5432;
  network.egress_rules[0].ports.emplace_back().port = 53;
  network.egress_rules[0].ports[1].protocol = "UDP";
  const api::NetworkPolicySpec spec = build(network);
  ASSERT_EQ(spec.egress.size(), 1U);
  EXPECT_EQ(spec.egress[0].to[0].ip_block->cidr, "10.1.0.0/16");
  EXPECT_EQ(spec.egress[0].ports[0].protocol, "TCP");
  EXPECT_EQ(spec.egress[0].ports[0].port, "5432");
  EXPECT_EQ(spec.egress[0].ports[1].protocol, "UDP");
}

TEST(NetworkPolicy, WideRuleStillLeavesTheMetadataAddressClosed) {
  api::NetworkSpec network;
  network.egress_rules = {to_cidr("0.0.0.0/0")};
  const api::NetworkPolicySpec spec = build(network);
  EXPECT_TRUE(has(spec.egress[0].to[0].ip_block->except, "169.254.0.0/16"));
}

TEST(NetworkPolicy, RuleForAClosedRangeOpensNothing) {
  api::NetworkSpec network;
  network.egress_rules = {to_cidr("169.254.169.254/32")};
  EXPECT_TRUE(build(network).egress.empty());
}

TEST(NetworkPolicy, RuleThatNamesNothingOpensNothing) {
  api::NetworkSpec network;
  network.egress_rules.emplace_back();
  network.ingress_rules.emplace_back();
  const api::NetworkPolicySpec spec = build(network);
  EXPECT_TRUE(spec.egress.empty());
  EXPECT_TRUE(spec.ingress.empty());
}

TEST(NetworkPolicy, ServiceOpensThePodsBehindItAndNoOthers) {
  api::NetworkSpec network;
  network.egress_rules.emplace_back().service_ref.emplace().name = "db";
  EXPECT_EQ(services_of(network, "team-a"), std::vector<std::string>{"team-a/db"});
  EXPECT_TRUE(build(network).egress.empty());
  EXPECT_TRUE(build(network, {}, {{"team-a/db", {}}}).egress.empty());
  const auto spec = build(network, {}, {{"team-a/db", {{"app", "db"}}}});
  ASSERT_EQ(spec.egress.size(), 1U);
  const api::NetworkPolicyPeer& peer = spec.egress[0].to.at(0);
  EXPECT_EQ(peer.pod_selector->match_labels.at("app"), "db");
  EXPECT_EQ(peer.namespace_selector->match_labels.at("kubernetes.io/metadata.name"), "team-a");
}

TEST(NetworkPolicy, PeersAreSandboxesWhateverTheSelectorSays) {
  api::NetworkSpec network;
  network.allow_peer_sandboxes = true;
  network.peer_sandbox_selector.emplace().match_labels["team"] = "blue";
  network.peer_sandbox_selector->match_labels["agenttier.io/managed"] = "false";
  const api::NetworkPolicySpec spec = build(network);
  const auto& labels = spec.egress.at(0).to.at(0).pod_selector->match_labels;
  EXPECT_EQ(labels.at("team"), "blue");
  EXPECT_EQ(labels.at("agenttier.io/managed"), "true");
  EXPECT_EQ(spec.ingress.at(0).from.at(0).pod_selector->match_labels, labels);
  EXPECT_FALSE(spec.egress[0].to[0].namespace_selector);
}

TEST(NetworkPolicy, ReadBackFromJsonIsTheSame) {
  api::NetworkSpec network;
  network.allow_internet = true;
  network.egress_rules = {to_cidr("10.1.0.0/16")};
  network.egress_rules[0].ports.emplace_back().port = 443;
  const auto policy = build_network_policy(sandbox(), network, {}, on_a_cluster());
  const auto read = api::NetworkPolicy::from_json(boost::json::value(policy.to_json()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->spec, policy.spec);
}

}  // namespace
}  // namespace agenttier::controller
