#include "runtime/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agenttier::runtime {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

const std::string kToken = "AGENTTIER_RUNTIME_TOKEN_SHA256=" + std::string(64, 'a');

base::Result<Config> read(std::vector<std::string_view> arguments,
                          std::vector<std::string_view> environment) {
  return read_config(arguments, environment);
}

TEST(RuntimeConfig, HasDefaults) {
  const auto config = read({}, {kToken, "A=b=c"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->port, 9000);
  EXPECT_EQ(config->workspace, "/workspace");
  EXPECT_TRUE(config->main_argv.empty());
  EXPECT_THAT(config->environment, Contains(Pair("A", "b=c")));
  EXPECT_THAT(config->environment, Contains(Pair("HOME", "/workspace")));
  EXPECT_THAT(config->environment, Contains(Pair("PATH", HasSubstr("/usr/bin"))));
}

TEST(RuntimeConfig, ProgramsDoNotSeeWhatConcernsTheRuntime) {
  const auto config = read({}, {kToken, "AGENTTIER_RUNTIME_LISTEN=127.0.0.1:1"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->port, 1);
  EXPECT_THAT(config->listen_addresses, ElementsAre("127.0.0.1"));
  EXPECT_THAT(config->environment, Not(Contains(Pair(HasSubstr("AGENTTIER_RUNTIME"), testing::_))));
}

TEST(RuntimeConfig, InnerGroupsAreASmallNumber) {
  EXPECT_EQ(read({}, {kToken})->inner_groups, 0);
  EXPECT_EQ(read({}, {kToken, "AGENTTIER_RUNTIME_INNER_GROUPS=2"})->inner_groups, 2);
  for (const char* wrong :
       {"AGENTTIER_RUNTIME_INNER_GROUPS=", "AGENTTIER_RUNTIME_INNER_GROUPS=-1",
        "AGENTTIER_RUNTIME_INNER_GROUPS=9", "AGENTTIER_RUNTIME_INNER_GROUPS=2x"}) {
    const auto config = read({}, {kToken, wrong});
    ASSERT_FALSE(config) << wrong;
    EXPECT_THAT(config.error().message, HasSubstr("must be a number from 0 to 8"));
  }
}

TEST(RuntimeConfig, ReadsAddressesOfBothFamilies) {
  EXPECT_THAT(read({}, {kToken, "AGENTTIER_RUNTIME_LISTEN=[::1]:80"})->listen_addresses,
              ElementsAre("::1"));
  EXPECT_THAT(read({}, {kToken, "AGENTTIER_RUNTIME_LISTEN=:80"})->listen_addresses,
              ElementsAre("::", "0.0.0.0"));
}

TEST(RuntimeConfig, TheMainProcessFollowsTwoDashes) {
  EXPECT_THAT(read({"--", "sleep", "--", "1"}, {kToken})->main_argv,
              ElementsAre("sleep", "--", "1"));
}

TEST(RuntimeConfig, EveryErrorNamesItsSubject) {
  const auto error = [](std::vector<std::string_view> arguments,
                        std::vector<std::string_view> environment) {
    const auto config = read(std::move(arguments), std::move(environment));
    return config ? std::string("accepted") : config.error().message;
  };
  EXPECT_THAT(error({}, {}), HasSubstr("AGENTTIER_RUNTIME_TOKEN_SHA256: must be"));
  EXPECT_THAT(error({"-v"}, {kToken}), HasSubstr("unknown argument -v"));
  EXPECT_THAT(error({"--"}, {kToken}), HasSubstr("must be followed by a command"));
  EXPECT_THAT(error({}, {kToken, "AGENTTIER_RUNTIME_LISTEN=9000"}), HasSubstr("address:port"));
  EXPECT_THAT(error({}, {kToken, "AGENTTIER_RUNTIME_LISTEN=a:70000"}), HasSubstr("address:port"));
  EXPECT_THAT(error({}, {kToken, "AGENTTIER_WORKSPACE=w"}), HasSubstr("absolute path"));
}

}  // namespace
}  // namespace agenttier::runtime
