#include "node/network_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/network_policy.h"
#include "node/address_pool.h"

namespace agenttier::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kSubnet = "10.213.0.0/16";
const PodAddresses kAddresses = {{"u1", {"10.213.0.2", "at1-0"}}, {"u2", {"10.213.0.3", "at1-1"}}};

NetworkRules two_pods() {
  NetworkRules rules;
  rules.pods = {{"u1", "default", "one", {{"app", "one"}}},
                {"u2", "default", "two", {{"app", "two"}}}};
  return rules;
}

api::NetworkPolicy policy_for(const std::string& app) {
  api::NetworkPolicy policy;
  policy.metadata.ns = "default";
  policy.spec.pod_selector.match_labels["app"] = app;
  return policy;
}

TEST(NetworkRules, APodWithoutAPolicyIsClosed) {
  const auto compiled = compile_policies(two_pods(), kAddresses, kSubnet);
  EXPECT_THAT(compiled.at("u1").egress, IsEmpty());
  EXPECT_THAT(compiled.at("u1").ingress, IsEmpty());
}

TEST(NetworkRules, ACidrOpensThatAndNoPod) {
  NetworkRules rules = two_pods();
  auto policy = policy_for("one");
  auto& rule = policy.spec.egress.emplace_back();
  rule.to.emplace_back().ip_block.emplace().cidr = "0.0.0.0/0";
  rule.to[0].ip_block->except = {"10.0.0.0/8"};
  rule.ports.emplace_back().port = "443";
  rules.policies = {policy};
  const auto compiled = compile_policies(rules, kAddresses, kSubnet);
  EXPECT_THAT(
      compiled.at("u1").egress,
      ElementsAre("ip daddr != 10.213.0.0/16 ip daddr != 10.0.0.0/8 tcp dport 443 goto egress_ok"));
  EXPECT_THAT(compiled.at("u2").egress, IsEmpty());
}

TEST(NetworkRules, WhatCannotBeEnforcedOpensNothing) {
  NetworkRules rules = two_pods();
  auto policy = policy_for("one");
  auto& named_port = policy.spec.egress.emplace_back();
  named_port.ports.emplace_back().port = "http";
  auto& ipv6 = policy.spec.egress.emplace_back();
  ipv6.to.emplace_back().ip_block.emplace().cidr = "2001:db8::/32";
  auto& injected = policy.spec.egress.emplace_back();
  injected.to.emplace_back().ip_block.emplace().cidr = "1.1.1.1/32 accept; flush ruleset";
  rules.policies = {policy};
  EXPECT_THAT(compile_policies(rules, kAddresses, kSubnet).at("u1").egress, IsEmpty());
}

TEST(NetworkRules, NamesCanBeAskedOnlyByPodsThatMayReachSomething) {
  NetworkRules rules = two_pods();
  auto policy = policy_for("one");
  policy.spec.egress.emplace_back().to.emplace_back().ip_block.emplace().cidr = "203.0.113.0/24";
  rules.policies = {policy};
  const auto compiled =
      compile_policies(rules, kAddresses, kSubnet, {"192.0.2.53", "not an address"});
  EXPECT_THAT(compiled.at("u1").egress,
              testing::Contains("ip daddr 192.0.2.53 udp dport 53 goto egress_ok"));
  EXPECT_THAT(compiled.at("u1").egress, testing::SizeIs(3));
  EXPECT_THAT(compiled.at("u2").egress, IsEmpty());
}

TEST(NetworkRules, APolicyOfAnotherNamespaceDoesNotSelect) {
  NetworkRules rules = two_pods();
  auto policy = policy_for("one");
  policy.metadata.ns = "other";
  policy.spec.egress.emplace_back();
  rules.policies = {policy};
  EXPECT_THAT(compile_policies(rules, kAddresses, kSubnet).at("u1").egress, IsEmpty());
}

TEST(NetworkRules, OnlyWhatChangedIsSent) {
  NetworkRules rules = two_pods();
  const auto before = compile_policies(rules, kAddresses, kSubnet);
  EXPECT_EQ(difference_script("t", before, before), "");
  auto policy = policy_for("two");
  policy.spec.egress.emplace_back();
  rules.policies = {policy};
  const std::string script =
      difference_script("t", before, compile_policies(rules, kAddresses, kSubnet));
  EXPECT_THAT(script, HasSubstr("add rule inet t e_u2 ip daddr != 10.213.0.0/16 goto egress_ok"));
  EXPECT_THAT(script, testing::Not(HasSubstr("u1")));
}

TEST(AddressPool, ReusesAReleasedAddressLast) {
  AddressPool pool(Subnet::parse("10.0.0.0/29").value());
  EXPECT_EQ(pool.gateway(), "10.0.0.1");
  const auto first = pool.take().value();
  EXPECT_EQ(pool.address(first), "10.0.0.2");
  pool.release(first);
  EXPECT_NE(pool.take().value(), first);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pool.take());
  EXPECT_EQ(pool.take().error().code, base::ErrorCode::kExhausted);
}

TEST(Subnet, RefusesWhatIsNotOne) {
  for (const char* text :
       {"", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "10.0.0.0/8x", "::/0"}) {
    EXPECT_FALSE(Subnet::parse(text)) << text;
  }
}

}  // namespace
}  // namespace agenttier::node
