#include "router/exec_output.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

namespace agenttier::router {
namespace {

namespace json = boost::json;

async::Task<void> read_into(http::Body& body, std::string& text) {
  auto all = co_await body.read_all(1ULL << 32);
  if (all) text = *std::move(all);
}

json::object to_json(ExecOutput output) {
  http::Body body = std::move(output).into_json();
  boost::asio::io_context loop;
  std::string text;
  boost::asio::co_spawn(loop, read_into(body, text), boost::asio::detached);
  loop.run();
  return json::parse(text).as_object();
}

Frame out_frame(std::uint64_t offset, std::string_view payload) {
  return {.channel = Frame::Channel::kStdout, .offset = offset, .payload = payload};
}

Frame end_frame(std::string_view status) {
  return {.channel = Frame::Channel::kStatus, .offset = 0, .payload = status};
}

constexpr std::string_view kEnded =
    R"({"exitCode":0,"reason":"exited","durationMs":5,"outputBytes":0,"truncated":false})";

TEST(ExecOutput, KeepsTheTwoStreamsApart) {
  ByteBudget budget;
  ExecOutput output(budget, kExecBytesMax);
  ASSERT_TRUE(output.add(out_frame(0, "out\n")));
  ASSERT_TRUE(output.add({Frame::Channel::kStderr, 4, "err\n"}));
  ASSERT_TRUE(output.add({Frame::Channel::kKeepAlive, 0, ""}));
  ASSERT_TRUE(output.add(end_frame(
      R"({"exitCode":7,"reason":"exited","durationMs":5,"outputBytes":8,"truncated":false})")));
  EXPECT_TRUE(output.ended());

  const json::object reply = to_json(std::move(output));
  EXPECT_EQ(json::serialize(reply),
            R"({"stdout":"out\n","stderr":"err\n","exitCode":7,"durationMs":5,)"
            R"("truncated":false,"timedOut":false,"reason":"exited"})");
}

TEST(ExecOutput, SaysMinusOneWhenTheTimeLimitEndedIt) {
  ByteBudget budget;
  ExecOutput output(budget, kExecBytesMax);
  ASSERT_TRUE(output.add(end_frame(
      R"({"exitCode":143,"reason":"timeout","signal":"TERM","durationMs":5,"outputBytes":8,"truncated":false})")));
  const json::object reply = to_json(std::move(output));
  EXPECT_EQ(reply.at("exitCode").as_int64(), -1);
  EXPECT_TRUE(reply.at("timedOut").as_bool());
}

TEST(ExecOutput, DropsWhatIsOverTheLimitAndSaysSo) {
  ByteBudget budget;
  ExecOutput output(budget, 6);
  ASSERT_TRUE(output.add(out_frame(0, "12345")));
  EXPECT_FALSE(output.truncated());
  ASSERT_TRUE(output.add(out_frame(5, "6789")));
  EXPECT_EQ(output.standard_output(), "123456");
  EXPECT_TRUE(output.truncated());
}

TEST(ExecOutput, SharesOneBudgetWithTheOtherCalls) {
  ByteBudget budget{.bytes_max = 8};
  {
    ExecOutput first(budget, kExecBytesMax);
    ExecOutput second(budget, kExecBytesMax);
    ASSERT_TRUE(first.add(out_frame(0, "12345")));
    ASSERT_TRUE(second.add(out_frame(0, "12345")));
    EXPECT_EQ(second.standard_output(), "123");
    EXPECT_TRUE(second.truncated());
    EXPECT_FALSE(first.truncated());
  }
  EXPECT_EQ(budget.bytes_used, 0U);
}

TEST(ExecOutput, SaysThatTheRuntimeSkippedSomething) {
  ByteBudget budget;
  ExecOutput output(budget, kExecBytesMax);
  ASSERT_TRUE(output.add(out_frame(100, "late")));
  EXPECT_TRUE(output.truncated());
}

TEST(ExecOutput, IsTheSameJsonInOnePieceAndInMany) {
  // Sequences of every length, and broken ones, at every distance from the edges of pieces.
  std::string bytes;
  for (int i = 0; bytes.size() < 200'000; ++i) {
    bytes += "a\"\\\n\x01 \u00e9 \u20ac \U0001F600 ";
    bytes += "\xff\xe2\x82 \xf0\x9f\x98 \x80\x80\x80\x80\x80";
    bytes += std::string(static_cast<std::size_t>(i % 7), 'x');
  }
  ByteBudget budget;
  ExecOutput output(budget, kExecBytesMax);
  ASSERT_TRUE(output.add(out_frame(0, bytes)));
  ASSERT_TRUE(output.add({Frame::Channel::kStderr, bytes.size(), bytes}));
  ASSERT_TRUE(output.add(end_frame(kEnded)));
  std::string whole;
  append_json_text(whole, bytes);

  const json::object reply = to_json(std::move(output));
  const json::value expected = json::parse("\"" + whole + "\"");
  EXPECT_TRUE(reply.at("stdout") == expected);
  EXPECT_TRUE(reply.at("stderr") == expected);
  EXPECT_EQ(budget.bytes_used, 0U);
}

TEST(ExecOutput, RefusesABrokenStatus) {
  ByteBudget budget;
  ExecOutput output(budget, kExecBytesMax);
  EXPECT_FALSE(output.add(end_frame("nonsense")));
  EXPECT_FALSE(output.ended());
}

}  // namespace
}  // namespace agenttier::router
