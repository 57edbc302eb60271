#include "api/validate.h"

#include <gtest/gtest.h>

#include <string>

namespace agenttier::api {
namespace {

TEST(Validate, ASandboxNameIsADnsLabel) {
  for (const char* name : {"a", "my-sandbox", "0x", "a1-2-3"}) {
    EXPECT_TRUE(check_sandbox_name(name).has_value()) << name;
  }
  EXPECT_TRUE(check_sandbox_name(std::string(63, 'a')).has_value());
  for (const char* name : {"", "Bad", "a_b", "-a", "a-", "a.b", "a b", "ä", "a\n", "../x"}) {
    EXPECT_FALSE(check_sandbox_name(name).has_value()) << name;
  }
  EXPECT_EQ(check_sandbox_name(std::string(64, 'a')).error().message,
            "must have at most 63 characters, has 64");
}

TEST(Validate, ATemplateNameMayHaveDots) {
  EXPECT_TRUE(check_dns_subdomain("python.3-12").has_value());
  for (const char* name : {"", ".a", "a.", "a..b", "A.b", "a.-b"}) {
    EXPECT_FALSE(check_dns_subdomain(name).has_value()) << name;
  }
}

TEST(Validate, AVariableStartsWithALetter) {
  EXPECT_TRUE(check_env_name("_A1").has_value());
  for (const char* name : {"", "1A", "A-B", "A B", "A=B", "Ä"}) {
    EXPECT_FALSE(check_env_name(name).has_value()) << name;
  }
  EXPECT_FALSE(check_env_name(std::string_view("A\0B", 3)).has_value());
}

TEST(Validate, ANetworkIsAnAddressAndAPrefix) {
  for (const char* text :
       {"10.0.0.0/8", "0.0.0.0/0", "1.2.3.4/32", "fd00::/8", "::/0", "::1/128"}) {
    EXPECT_TRUE(check_cidr(text).has_value()) << text;
  }
  for (const char* text : {"", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8",
                           "10.0.0.0/8 ", "10.0.0.0/+8", "x/8", "::/129", "10.0.0.0/08x"}) {
    EXPECT_FALSE(check_cidr(text).has_value()) << text;
  }
  EXPECT_EQ(check_cidr("10.1.2.3/8").error().message,
            "'10.1.2.3/8' is not a network: bits after the first 8 must be zero; write for example "
            "10.0.0.0/8");
  EXPECT_FALSE(check_cidr(std::string_view("10.0.0.0\0x/8", 12)).has_value());
}

TEST(Validate, APortIsFrom1To65535) {
  EXPECT_TRUE(check_port(1).has_value());
  EXPECT_TRUE(check_port(65535).has_value());
  EXPECT_FALSE(check_port(0).has_value());
  EXPECT_FALSE(check_port(65536).has_value());
  EXPECT_FALSE(check_port(-1).has_value());
}

TEST(Validate, ALimitOfTimeIsMoreThanZero) {
  EXPECT_TRUE(check_positive_duration("90s").has_value());
  for (const char* text : {"0", "0s", "-1s", "", "5", "1 day"}) {
    EXPECT_FALSE(check_positive_duration(text).has_value()) << text;
  }
}

TEST(Validate, APathIsAbsoluteAndGoesNoStepUp) {
  for (const char* path : {"/", "/workspace", "/a/b..c/...", "//a/"}) {
    EXPECT_TRUE(check_absolute_path(path).has_value()) << path;
  }
  for (const char* path : {"", "a", "../a", "/..", "/a/../b", "/a/.."}) {
    EXPECT_FALSE(check_absolute_path(path).has_value()) << path;
  }
  EXPECT_FALSE(check_absolute_path(std::string_view("/a\0b", 4)).has_value());
}

TEST(Validate, LabelsAreThoseOfKubernetes) {
  for (const char* key : {"a", "example.com/Team_1", "agent.x"}) {
    EXPECT_TRUE(check_label_key(key).has_value()) << key;
  }
  for (const char* key : {"", "/a", "a/", "A.com/x", "a b", "-a", "a/b/c"}) {
    EXPECT_FALSE(check_label_key(key).has_value()) << key;
  }
  EXPECT_TRUE(check_label_value("").has_value());
  EXPECT_TRUE(check_label_value("v1.2_x-Y").has_value());
  EXPECT_FALSE(check_label_value("a b").has_value());
  EXPECT_FALSE(check_label_value(std::string(64, 'a')).has_value());
}

}  // namespace
}  // namespace agenttier::api
