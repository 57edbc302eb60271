#include "policy/cidr.h"

#include <gtest/gtest.h>

namespace agenttier::policy {
namespace {

Cidr cidr(std::string_view text) {
  auto parsed = parse_cidr(text);
  AT_ASSERT(parsed.has_value());
  return *parsed;
}

TEST(Cidr, WiderNetworkContainsTheNarrower) {
  EXPECT_TRUE(cidr("0.0.0.0/0").contains(cidr("10.0.0.0/8")));
  EXPECT_TRUE(cidr("10.0.0.0/8").contains(cidr("10.0.0.0/8")));
  EXPECT_TRUE(cidr("10.128.0.0/9").contains(cidr("10.200.1.0/24")));
  EXPECT_FALSE(cidr("10.128.0.0/9").contains(cidr("10.100.1.0/24")));
  EXPECT_FALSE(cidr("10.0.0.0/8").contains(cidr("0.0.0.0/0")));
  EXPECT_TRUE(cidr("fe80::/10").contains(cidr("fe81::/16")));
}

TEST(Cidr, FamiliesNeverContainEachOther) {
  EXPECT_FALSE(cidr("0.0.0.0/0").contains(cidr("::/0")));
  EXPECT_FALSE(cidr("::/0").contains(cidr("10.0.0.0/8")));
}

TEST(Cidr, RefusesWhatIsNoNetwork) {
  for (const char* text : {"", "10.0.0.0", "10.0.0.1/8", "10.0.0.0/33", "x/8", "10.0.0.0/-1"}) {
    EXPECT_FALSE(parse_cidr(text)) << text;
  }
}

TEST(Cidr, FindsWhatLiesInsideAndAround) {
  const std::vector<std::string> closed = {"10.0.0.0/8", "169.254.0.0/16", "fe80::/10"};
  EXPECT_EQ(inside(cidr("0.0.0.0/0"), closed),
            (std::vector<std::string>{"10.0.0.0/8", "169.254.0.0/16"}));
  EXPECT_EQ(container_of(cidr("169.254.169.254/32"), closed), "169.254.0.0/16");
  EXPECT_EQ(container_of(cidr("8.8.8.8/32"), closed), "");
}

}  // namespace
}  // namespace agenttier::policy
