// Exec and processes through the whole router, against a runtime from memory.

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "http/sse.h"
#include "router/frames.h"
#include "router/testing.h"

namespace agenttier::router {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

struct ExecTest : testing::Test {
  ExecTest() {
    plane.add_template("minimal");
    plane.create("demo", alice);
    plane.set_running("demo");
  }
  Reply exec(std::string body, http::Headers headers = {}) {
    return plane.call("POST", "/sandboxes/demo/exec", alice, std::move(body), std::move(headers));
  }
  json::object sent() { return json::parse(plane.runtime.seen.back().body).as_object(); }

  TestPlane plane;
  std::string alice = plane.key_of("alice");
};

TEST_F(ExecTest, GivesOutputErrorsAndExitCode) {
  const Reply reply = exec(R"({"command":"out hello;err oops;exit 7"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("stdout"), "hello");
  EXPECT_EQ(reply.text("stderr"), "oops");
  EXPECT_EQ(reply.text("exitCode"), "7");
  EXPECT_EQ(reply.text("timedOut"), "false");
  EXPECT_EQ(reply.text("truncated"), "false");
}

TEST_F(ExecTest, AsksTheRuntimeOfThisSandboxWithItsToken) {
  exec(R"({"command":"out x"})");
  const FakeRuntime::Seen& seen = plane.runtime.seen.back();
  EXPECT_EQ(seen.authority, "10.0.0.2:9000");
  EXPECT_EQ(seen.headers.find("Authorization"), "Bearer runtime-token");
  EXPECT_FALSE(seen.headers.find("X-API-Key"));
}

TEST_F(ExecTest, PassesTheCommandOnWithItsLimits) {
  exec(R"({"argv":["ls","-l"],"cwd":"/workspace","env":{"A":"b"},"stdin":"in","timeout":5})");
  EXPECT_EQ(json::serialize(sent()),
            R"({"argv":["ls","-l"],"cwd":"/workspace","env":{"A":"b"},"stdin":"in",)"
            R"("timeoutMs":5000,"outputBytesMax":67108864})");
  exec(R"({"command":"out x","timeout":0})");
  EXPECT_EQ(sent().at("timeoutMs").as_int64(), 30000);
}

TEST_F(ExecTest, GivesLargeOutputWhole) {
  const Reply reply = exec(R"({"command":"big 5000000"})");
  EXPECT_EQ(reply.text("stdout").size(), 5'000'000U);
  EXPECT_EQ(reply.text("truncated"), "false");
}

TEST_F(ExecTest, SaysThatTheTimeLimitEndedIt) {
  const Reply reply = exec(R"({"command":"out begun;timeout"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("exitCode"), "-1");
  EXPECT_EQ(reply.text("timedOut"), "true");
  EXPECT_EQ(reply.text("stdout"), "begun");
}

TEST_F(ExecTest, GivesUpOnARuntimeThatOutlivesTheTimeLimit) {
  std::optional<Reply> reply;
  plane.start_call("POST", "/sandboxes/demo/exec", alice, R"({"command":"hang","timeout":5})",
                   reply);
  plane.loop.run_until_idle();
  EXPECT_EQ(plane.runtime.streams_open, 1);
  plane.loop.advance(16s);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 504);
  EXPECT_EQ(plane.runtime.streams_open, 0);
}

TEST_F(ExecTest, EndsTheCommandWhenItsCallerGoesAway) {
  std::optional<Reply> reply;
  async::TaskGroup caller(plane.loop.executor(), {.name = "caller", .tasks_max = 1});
  plane.start_call("POST", "/sandboxes/demo/exec", alice, R"({"command":"hang"})", reply, &caller);
  plane.loop.run_until_idle();
  EXPECT_EQ(plane.runtime.streams_open, 1);
  plane.loop.run(caller.close());
  EXPECT_EQ(plane.runtime.streams_open, 0);
}

TEST_F(ExecTest, StreamsFramesAsTheyCome) {
  const Reply reply =
      exec(R"({"command":"out hi;exit 3"})", {{"Accept", std::string(kFramesContentType)}});
  EXPECT_EQ(reply.headers.find("Content-Type"), kFramesContentType);
  FrameDecoder decoder;
  decoder.feed(reply.body);
  const auto first = decoder.next();
  EXPECT_EQ((*first)->payload, "hi");
  const auto last = decoder.next();
  EXPECT_EQ(parse_process_status((*last)->payload)->exit_code, 3);
}

TEST_F(ExecTest, StreamsEvents) {
  const Reply reply = exec(R"({"command":"out hi;exit 3"})", {{"Accept", "text/event-stream"}});
  EXPECT_EQ(reply.headers.find("Content-Type"), "text/event-stream");
  http::SseParser parser(1 << 20);
  const auto events = parser.feed(reply.body);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ((*events)[0].event, "output");
  EXPECT_EQ((*events)[1].event, "exit");
}

TEST_F(ExecTest, IsAConflictThatNamesThePhaseUnlessTheSandboxRuns) {
  plane.set_phase("demo", "Stopped");
  const Reply stopped = exec(R"({"command":"out x"})");
  EXPECT_EQ(stopped.status, 409);
  EXPECT_EQ(stopped.error(), "sandbox demo is Stopped, not Running; resume it first");
  EXPECT_EQ(stopped.code(), "sandbox_not_running");
  plane.set_phase("demo", "Creating");
  EXPECT_EQ(exec(R"({"command":"out x"})").error(),
            "sandbox demo is Creating, not Running; wait until it is Running");
}

TEST_F(ExecTest, IsUnavailableWithTheReasonWhenTheRuntimeCannotBeReached) {
  plane.runtime.unreachable = base::unavailable("connect to 10.0.0.2:9000: no route to host");
  const Reply reply = exec(R"({"command":"out x"})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.error(),
            "sandbox demo cannot be reached: connect to 10.0.0.2:9000: no route to host; it may be "
            "starting or restarting, try again");
}

TEST_F(ExecTest, IsUnavailableWhenTheOutputEndsWithoutAStatus) {
  const Reply reply = exec(R"({"command":"out x;cut"})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(
      reply.error(),
      "sandbox demo went away while the command ran: its output ended without an exit status");
}

TEST_F(ExecTest, NeverPassesTheRuntimesRefusalOnAsTheCallers) {
  plane.runtime.token = "another";
  const Reply reply = exec(R"({"command":"out x"})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.code(), "sandbox_unreachable");
}

TEST_F(ExecTest, DoesNotUseTheTokenOfAnEarlierSandboxOfTheName) {
  EXPECT_EQ(plane.call("DELETE", "/sandboxes/demo", alice).status, 204);
  plane.finish_delete("demo");
  plane.create("demo", alice);
  plane.set_status("demo", {{"phase", "Running"}, {"podIP", "10.0.0.3"}});
  const std::size_t before = plane.runtime.seen.size();
  const Reply reply = exec(R"({"command":"out x"})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.error(), "sandbox demo is not ready to be called yet; try again");
  EXPECT_EQ(plane.runtime.seen.size(), before);
}

TEST_F(ExecTest, NamesWhatIsWrongWithARequest) {
  EXPECT_EQ(exec("{}").error(), "command: is required: the shell line to run");
  EXPECT_EQ(exec(R"({"command":"a","argv":["b"]})").error(),
            "command: cannot be given together with argv");
  for (const char* body :
       {R"({"command":5})", R"({"command":"a","timeout":-1})", R"({"command":"a","colour":"red"})",
        R"({"command":"a","env":{"A;touch":"1"}})"}) {
    EXPECT_EQ(exec(body).status, 400) << body;
  }
  EXPECT_NE(exec(R"({"command":"a","colour":"red"})").error().find("colour"), std::string::npos);
  EXPECT_NE(exec(R"({"command":"a","env":{"A;touch":"1"}})").error().find("A;touch"),
            std::string::npos);
  EXPECT_TRUE(plane.runtime.seen.empty());
}

TEST_F(ExecTest, PassesProcessCallsOn) {
  const std::string base = "/sandboxes/demo/processes";
  EXPECT_EQ(plane.post(base, alice, R"({"argv":["sleep","1"]})").status, 201);
  EXPECT_EQ(plane.runtime.seen.back().target, "/v1/processes");
  EXPECT_EQ(plane.get(base, alice).json().at("processes").as_array().size(), 1U);
  EXPECT_EQ(plane.get(base + "/p-1", alice).status, 200);
  EXPECT_EQ(plane.post(base + "/p-1/stdin?eof=true", alice, "bytes").status, 204);
  EXPECT_EQ(plane.runtime.seen.back().target, "/v1/processes/p-1/stdin?eof=true");
  EXPECT_EQ(plane.runtime.seen.back().body, "bytes");
  EXPECT_EQ(plane.post(base + "/p-1/signal", alice, R"({"signal":"TERM"})").status, 204);
  EXPECT_EQ(plane.post(base + "/p-1/resize", alice, R"({"cols":80,"rows":24})").status, 204);
  EXPECT_EQ(plane.call("DELETE", base + "/p-1", alice).status, 204);
  const Reply none = plane.get(base + "/p-none", alice);
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.error(), "there is no process p-none");
}

TEST_F(ExecTest, EncodesAProcessIdForTheRuntime) {
  plane.get("/sandboxes/demo/processes/..%2F..%2Ffiles%3Fpath", alice);
  EXPECT_EQ(plane.runtime.seen.back().target, "/v1/processes/..%2F..%2Ffiles%3Fpath");
}

TEST_F(ExecTest, ReadsOutputFromAnOffset) {
  const std::string path = "/sandboxes/demo/processes/p-1/output";
  plane.get(path + "?since=12&follow=true", alice);
  EXPECT_EQ(plane.runtime.seen.back().target, "/v1/processes/p-1/output?since=12&follow=true");
  plane.call("GET", path, alice, "", {{"Last-Event-ID", "40"}, {"Accept", "text/event-stream"}});
  EXPECT_EQ(plane.runtime.seen.back().target, "/v1/processes/p-1/output?since=40");
  EXPECT_EQ(plane.get(path + "?since=-1", alice).status, 400);
  EXPECT_EQ(plane.get(path + "?follow=maybe", alice).error(), "follow: must be true or false");
}

}  // namespace
}  // namespace agenttier::router
