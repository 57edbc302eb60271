#include "api/names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "api/validate.h"

namespace agenttier::api::names {
namespace {

TEST(Names, ObjectsOfASandboxAreNamedAfterIt) {
  EXPECT_EQ(pod_of("demo"), "demo-pod");
  EXPECT_EQ(claim_of("demo"), "demo-workspace");
  EXPECT_EQ(network_policy_of("demo"), "demo-netpol");
  EXPECT_EQ(token_secret_of("demo"), "demo-runtime-token");
  EXPECT_EQ(port_service_of("demo", 8000), "pf-demo-8000");
  EXPECT_EQ(api_key_secret_of(std::string(64, 'a')), "agenttier-apikey-" + std::string(40, 'a'));
}

TEST(Names, EveryNameOfTheLongestSandboxIsValid) {
  const std::string longest(63, 'a');
  EXPECT_TRUE(check_dns_label(port_service_of(longest, 65535)).has_value());
  EXPECT_TRUE(check_dns_subdomain(pod_of(longest)).has_value());
  EXPECT_TRUE(check_dns_subdomain(scoped_key_secret_of(longest)).has_value());
  EXPECT_TRUE(check_dns_subdomain(install_log_of(longest)).has_value());
}

TEST(Names, TwoLongNamesThatDifferAtTheEndStayApart) {
  const std::string front(62, 'a');
  EXPECT_NE(port_service_of(front + "x", 80), port_service_of(front + "y", 80));
  EXPECT_NE(port_service_of(front + "x", 80), port_service_of(front + "x", 81));
  EXPECT_LE(port_service_of(front + "x", 80).size(), kDnsLabelMax);
}

TEST(Names, AnyTextBecomesTheValueOfALabel) {
  EXPECT_EQ(label_value_of("jane@example.com"), "jane-example.com");
  EXPECT_EQ(label_value_of(""), "unknown");
  EXPECT_EQ(label_value_of("@@@"), "user");
  EXPECT_EQ(label_value_of("-a-"), "a");
  for (const std::string& text :
       {std::string(500, '@') + "a", std::string(500, 'a'), std::string("\xff\x00 x", 4)}) {
    EXPECT_TRUE(check_label_value(label_value_of(text)).has_value()) << text;
  }
}

}  // namespace
}  // namespace agenttier::api::names
