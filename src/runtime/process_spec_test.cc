#include "runtime/process_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace agenttier::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(std::string_view text) {
  auto parsed = parse_process_spec(text);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code, base::ErrorCode::kInvalid);
  return parsed.error().message;
}

TEST(ProcessSpec, ReadsEveryField) {
  const auto spec = parse_process_spec(
      R"json({"argv":["a","b c"],"cwd":"/x y","env":{"K":"a\nb'\"$(id)"},"stdin":"in","stdinOpen":true,
          "tty":true,"cols":100,"rows":30,"timeoutMs":1500,"outputBytesMax":2048})json");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_THAT(spec->argv, ElementsAre("a", "b c"));
  EXPECT_EQ(spec->cwd, "/x y");
  ASSERT_EQ(spec->env.size(), 1U);
  EXPECT_EQ(spec->env[0].second, "a\nb'\"$(id)");
  EXPECT_EQ(spec->stdin_mode, StdinMode::kOpen);
  EXPECT_EQ(spec->stdin_bytes, "in");
  EXPECT_EQ(spec->terminal, (TerminalSize{100, 30}));
  EXPECT_EQ(spec->time_limit, std::chrono::milliseconds(1500));
  EXPECT_EQ(spec->output_bytes_max, 2048U);
}

TEST(ProcessSpec, ACommandIsALineForTheShell) {
  const auto spec = parse_process_spec(R"({"command":"echo $HOME"})");
  ASSERT_TRUE(spec);
  EXPECT_THAT(spec->argv, ElementsAre("/bin/sh", "-c", "echo $HOME"));
  EXPECT_EQ(spec->stdin_mode, StdinMode::kEndOfFile);
}

TEST(ProcessSpec, EveryErrorNamesItsField) {
  EXPECT_THAT(error_of("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("exactly one"));
  EXPECT_THAT(error_of(R"({"argv":["a"],"command":"b"})"), HasSubstr("exactly one"));
  EXPECT_THAT(error_of(R"({"argv":[]})"), HasSubstr("exactly one"));
  EXPECT_THAT(error_of(R"({"argv":["a",1]})"), HasSubstr("argv[1]: must be a string"));
  EXPECT_THAT(error_of(R"({"argv":["a\u0000b"]})"), HasSubstr("argv[0]: must not contain a NUL"));
  EXPECT_THAT(error_of(R"({"command":"a","shell":"x"})"), HasSubstr("shell: is unknown"));
  EXPECT_THAT(error_of(R"({"command":"a","cwd":"x"})"), HasSubstr("cwd: must be an absolute"));
  EXPECT_THAT(error_of(R"({"command":"a","env":{"A;touch /tmp/p":"1"}})"),
              HasSubstr("must consist of letters, digits"));
  EXPECT_THAT(error_of(R"({"command":"a","env":{"A":1}})"), HasSubstr("env[A]: must be a string"));
  EXPECT_THAT(error_of(R"({"command":"a","cols":0})"), HasSubstr("cols: must be from 1 to 1000"));
  EXPECT_THAT(error_of(R"({"command":"a","rows":70000})"), HasSubstr("rows"));
  EXPECT_THAT(error_of(R"({"command":"a","timeoutMs":-1})"), HasSubstr("timeoutMs"));
  EXPECT_THAT(error_of(R"({"command":"a","timeoutMs":1.5})"), HasSubstr("timeoutMs"));
  EXPECT_THAT(error_of(R"({"command":"a","outputBytesMax":1})"), HasSubstr("outputBytesMax"));
  EXPECT_THAT(error_of(R"({"command":"a","tty":1})"), HasSubstr("tty: must be true or false"));
}

TEST(ProcessSpec, StringsTooLongForTheKernelAreRefusedWithAWayOut) {
  const std::string big(200'000, 'x');
  EXPECT_THAT(error_of(R"({"command":")" + big + R"("})"), HasSubstr("pass it through stdin"));
  std::string many = R"({"argv":["a")";
  for (int i = 0; i < 20; ++i) many += ",\"" + std::string(100'000, 'x') + "\"";
  EXPECT_THAT(error_of(many + "]}"), HasSubstr("argv, env: together longer"));
}

TEST(ProcessSpec, SignalsHaveNames) {
  EXPECT_EQ(parse_signal(R"({"signal":"TERM"})").value(), SIGTERM);
  EXPECT_EQ(parse_signal(R"({"signal":"SIGINT"})").value(), SIGINT);
  EXPECT_FALSE(parse_signal(R"({"signal":"9"})"));
  EXPECT_FALSE(parse_signal(R"({"signal":9})"));
  EXPECT_EQ(signal_name(SIGKILL), "KILL");
  EXPECT_EQ(signal_name(50), "50");
}

TEST(ProcessSpec, SizesAreBounded) {
  EXPECT_EQ(parse_terminal_size(R"({"cols":1,"rows":1000})").value(), (TerminalSize{1, 1000}));
  EXPECT_FALSE(parse_terminal_size(R"({"cols":-1,"rows":10})"));
  EXPECT_FALSE(parse_terminal_size(R"({"cols":"a","rows":10})"));
  EXPECT_FALSE(parse_terminal_size(R"({"cols":10})"));
}

}  // namespace
}  // namespace agenttier::runtime
