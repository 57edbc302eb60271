#include "kube/event_recorder.h"

#include <gtest/gtest.h>

#include "kube/testing_store.h"
#include "kube/typed.h"

namespace agenttier::kube {
namespace {

using namespace std::chrono_literals;
using Type = EventRecorder::Type;

struct Bench : StoreFixture {
  explicit Bench(EventRecorderOptions options = {.component = "agenttier-controller"})
      : recorder(*client, loop.timers(), loop.random(), loop.executor(), std::move(options)) {}
  ~Bench() { loop.close(); }

  void record(const std::string& name, const std::string& message) {
    api::ObjectReference object;
    object.api_version = "agenttier.io/v1alpha1";
    object.kind = "Sandbox";
    object.ns = "default";
    object.name = name;
    object.uid = "uid-" + name;
    recorder.record(std::move(object), Type::kNormal, "Stopped", message);
  }
  std::vector<api::Event> events() {
    Client direct(*transport, {});
    auto listed = loop.run(list_all<api::Event>(direct));
    EXPECT_TRUE(listed);
    return listed->items;
  }
  void start() {
    loop.spawn(recorder.run());
    loop.run_until_idle();
  }

  EventRecorder recorder;
};

TEST(EventRecorder, TellsWhatHappenedToWhomAndWho) {
  Bench bench;
  bench.start();
  bench.record("demo", "stopped by its owner");
  bench.loop.run_until_idle();
  const auto events = bench.events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].involved_object.name, "demo");
  EXPECT_EQ(events[0].involved_object.uid, "uid-demo");
  EXPECT_EQ(events[0].reason, "Stopped");
  EXPECT_EQ(events[0].type, "Normal");
  EXPECT_EQ(events[0].message, "stopped by its owner");
  EXPECT_EQ(events[0].source->component, "agenttier-controller");
  EXPECT_EQ(events[0].count, 1);
  EXPECT_EQ(events[0].first_timestamp, "2030-01-01T00:00:00Z");
  EXPECT_TRUE(events[0].metadata.name.starts_with("demo."));
}

TEST(EventRecorder, ARepeatRaisesTheCount) {
  Bench bench;
  bench.start();
  for (int i = 0; i < 3; ++i) {
    bench.record("demo", "same");
    bench.loop.advance(10s, 1s);
  }
  bench.record("demo", "another");
  bench.record("other", "same");
  bench.loop.run_until_idle();
  const auto events = bench.events();
  ASSERT_EQ(events.size(), 3U);
  std::int64_t total = 0;
  for (const api::Event& event : events) total += event.count;
  EXPECT_EQ(total, 5);
  const auto repeated = std::ranges::find(events, 3, &api::Event::count);
  ASSERT_NE(repeated, events.end());
  EXPECT_EQ(repeated->first_timestamp, "2030-01-01T00:00:00Z");
  EXPECT_EQ(repeated->last_timestamp, "2030-01-01T00:00:20Z");
}

TEST(EventRecorder, RepeatsThatWaitTogetherBecomeOneWrite) {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.record("demo", "same");
  EXPECT_EQ(bench.recorder.queued(), 1U);
  bench.start();
  ASSERT_EQ(bench.events().size(), 1U);
  EXPECT_EQ(bench.events()[0].count, 5);
}

TEST(EventRecorder, TellsAgainWhatTheServerForgot) {
  Bench bench;
  bench.start();
  bench.record("demo", "same");
  bench.loop.run_until_idle();
  const auto first = bench.events();
  ASSERT_EQ(first.size(), 1U);
  ASSERT_TRUE(bench.loop.run(remove<api::Event>(*bench.client, key_of(first[0]))));
  bench.record("demo", "same");
  bench.loop.run_until_idle();
  ASSERT_EQ(bench.events().size(), 1U);
  EXPECT_NE(bench.events()[0].metadata.name, first[0].metadata.name);
}

TEST(EventRecorder, NeverHoldsMoreThanItsQueue) {
  Bench bench({.component = "c", .queue_max = 3});
  for (int i = 0; i < 10; ++i) bench.record("demo", std::to_string(i));
  EXPECT_EQ(bench.recorder.queued(), 3U);
  EXPECT_EQ(bench.recorder.dropped(), 7U);
}

TEST(EventRecorder, RemembersOnlyAsMuchAsAllowed) {
  Bench bench({.component = "c", .remembered_max = 2});
  bench.start();
  for (const char* message : {"1", "2", "3", "1"}) {
    bench.record("demo", message);
    bench.loop.run_until_idle();
  }
  EXPECT_EQ(bench.events().size(), 4U);  // "1" was forgotten meanwhile
}

TEST(EventRecorder, TriesAgainWhenTheApiIsAway) {
  Bench bench;
  bench.start();
  bench.faulty->fail_request(1, FaultyClient::When::kBefore);
  bench.faulty->fail_request(2, FaultyClient::When::kBefore);
  bench.record("demo", "hello");
  bench.loop.advance(5s);
  EXPECT_EQ(bench.events().size(), 1U);
  EXPECT_EQ(bench.recorder.dropped(), 0U);
}

TEST(EventRecorder, GivesUpOnAnEventButNotOnTheNext) {
  Bench bench;
  bench.start();
  bench.faulty->partition();
  bench.record("demo", "lost");
  bench.loop.advance(60s, 500ms);
  EXPECT_EQ(bench.recorder.dropped(), 1U);
  bench.faulty->heal();
  bench.record("demo", "kept");
  bench.loop.run_until_idle();
  ASSERT_EQ(bench.events().size(), 1U);
  EXPECT_EQ(bench.events()[0].message, "kept");
}

TEST(EventRecorder, CutsALongMessageBetweenCharacters) {
  Bench bench;
  bench.start();
  std::string message;
  while (message.size() < 3000) message += "ü";
  bench.record("demo", message);
  bench.loop.run_until_idle();
  ASSERT_EQ(bench.events().size(), 1U);
  EXPECT_LE(bench.events()[0].message.size(), 1024U);
  EXPECT_GE(bench.events()[0].message.size(), 1000U);
  EXPECT_TRUE(bench.events()[0].message.ends_with("ü..."));
}

}  // namespace
}  // namespace agenttier::kube
