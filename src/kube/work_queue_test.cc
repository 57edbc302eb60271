#include "kube/work_queue.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kube/testing.h"

namespace agenttier::kube {
namespace {

using namespace std::chrono_literals;
using Result = base::Result<WorkQueue::Requeue>;

// A queue whose work is noted, and held until released when `hold` is set.
struct Bench {
  explicit Bench(WorkQueueOptions options = {.name = "test"})
      : queue(loop.executor(), loop.timers(), loop.random(), std::move(options)),
        released(loop.executor()) {}
  ~Bench() { loop.close(); }

  void start() {
    loop.spawn(queue.run([this](ObjectKey key) { return work(this, std::move(key)); }));
    loop.run_until_idle();
  }
  void release() {
    hold = false;
    released.notify_all();
    loop.run_until_idle();
  }
  static async::Task<Result> work(Bench* bench, ObjectKey key) {
    bench->seen.push_back(key.name);
    ++bench->active;
    bench->active_max = std::max(bench->active_max, bench->active);
    while (bench->hold) {
      if (co_await bench->released.wait() == async::Wake::kCancelled) break;
    }
    --bench->active;
    if (bench->outcome) co_return bench->outcome();
    co_return WorkQueue::Requeue();
  }

  TestLoop loop;
  WorkQueue queue;
  async::Event released;
  bool hold = false;
  int active = 0;
  int active_max = 0;
  std::function<Result()> outcome;
  std::vector<std::string> seen;
};

const ObjectKey kA{"default", "a"};
const ObjectKey kB{"default", "b"};

TEST(WorkQueue, WorksOnAKeyOnceHoweverOftenItWasAdded) {
  Bench bench;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(bench.queue.add(kA));
  ASSERT_TRUE(bench.queue.add(kB));
  bench.start();
  EXPECT_EQ(bench.seen, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(bench.queue.idle());
}

TEST(WorkQueue, GivesAKeyToOneWorkerAtATime) {
  Bench bench;
  bench.hold = true;
  bench.start();
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.run_until_idle();
  ASSERT_TRUE(bench.queue.add(kA));
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.active, 1);

  bench.release();
  EXPECT_EQ(bench.seen, (std::vector<std::string>{"a", "a"}));
  EXPECT_EQ(bench.active_max, 1);
}

TEST(WorkQueue, RunsAsManyWorkersAsAllowed) {
  Bench bench({.name = "test", .workers = 3});
  bench.hold = true;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(bench.queue.add({"default", std::to_string(i)}));
  bench.start();
  EXPECT_EQ(bench.active, 3);
  bench.release();
  EXPECT_EQ(bench.seen.size(), 10U);
  EXPECT_EQ(bench.active_max, 3);
}

TEST(WorkQueue, TheEarliestOfSeveralDelaysCounts) {
  Bench bench;
  bench.start();
  ASSERT_TRUE(bench.queue.add_after(kA, 10s));
  ASSERT_TRUE(bench.queue.add_after(kA, 2s));
  ASSERT_TRUE(bench.queue.add_after(kA, 30s));
  bench.loop.advance(1900ms);
  EXPECT_TRUE(bench.seen.empty());
  bench.loop.advance(200ms);
  EXPECT_EQ(bench.seen.size(), 1U);
  bench.loop.advance(60s, 1s);
  EXPECT_EQ(bench.seen.size(), 1U);
}

TEST(WorkQueue, AnAddOvertakesADelay) {
  Bench bench;
  bench.start();
  ASSERT_TRUE(bench.queue.add_after(kA, 10s));
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.advance(20s, 1s);
  EXPECT_EQ(bench.seen.size(), 1U);
  EXPECT_EQ(bench.queue.delayed(), 0U);
}

TEST(WorkQueue, AFailureComesBackLaterAndLater) {
  Bench bench({.name = "test", .backoff = {100ms, 1s}});
  bench.outcome = [] { return Result(base::unavailable("no")); };
  bench.start();
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.queue.failures(kA), 1);
  bench.loop.advance(49ms, 1ms);
  EXPECT_EQ(bench.seen.size(), 1U);  // not before half of the delay
  bench.loop.advance(52ms, 1ms);
  EXPECT_EQ(bench.seen.size(), 2U);  // and not after all of it
  bench.loop.advance(20s, 10ms);
  const std::size_t tries = bench.seen.size();
  EXPECT_GE(tries, 20U);  // at most a second apart
  EXPECT_LE(tries, 46U);  // at least half a second apart, once grown
}

TEST(WorkQueue, ASuccessForgetsTheFailures) {
  Bench bench({.name = "test", .backoff = {100ms, 1s}});
  int left = 3;
  bench.outcome = [&] {
    return left-- > 0 ? Result(base::unavailable("no")) : Result(WorkQueue::Requeue());
  };
  bench.start();
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.advance(10s, 10ms);
  EXPECT_EQ(bench.seen.size(), 4U);
  EXPECT_EQ(bench.queue.failures(kA), 0);
}

TEST(WorkQueue, WaitsAsLongAsTheServerAsked) {
  Bench bench({.name = "test", .backoff = {100ms, 1s}});
  bench.outcome = [] {
    base::Error error = base::exhausted("later");
    error.retry_after = 5s;
    return Result(std::move(error));
  };
  bench.start();
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.advance(4900ms);
  EXPECT_EQ(bench.seen.size(), 1U);
  bench.loop.advance(200ms);
  EXPECT_EQ(bench.seen.size(), 2U);
}

TEST(WorkQueue, ComesBackWhenTheWorkAsksForIt) {
  Bench bench;
  bool first = true;
  bench.outcome = [&] {
    const bool again = std::exchange(first, false);
    return Result(again ? WorkQueue::Requeue(3s) : WorkQueue::Requeue());
  };
  bench.start();
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.advance(2900ms);
  EXPECT_EQ(bench.seen.size(), 1U);
  bench.loop.advance(200ms);
  EXPECT_EQ(bench.seen.size(), 2U);
}

TEST(WorkQueue, AnExceptionIsAFailureLikeAnyOther) {
  Bench bench({.name = "test", .backoff = {100ms, 1s}});
  bench.outcome = []() -> Result { throw std::runtime_error("bug"); };
  bench.start();
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.queue.failures(kA), 1);
  bench.outcome = nullptr;
  bench.loop.advance(200ms);
  EXPECT_EQ(bench.seen.size(), 2U);
  EXPECT_EQ(bench.queue.failures(kA), 0);
}

TEST(WorkQueue, RefusesNewKeysAtItsLimitAndCounts) {
  Bench bench({.name = "test", .keys_max = 2});
  ASSERT_TRUE(bench.queue.add(kA));
  ASSERT_TRUE(bench.queue.add_after(kB, 1s));
  const auto refused = bench.queue.add({"default", "c"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kExhausted);
  EXPECT_EQ(bench.queue.dropped(), 1U);
  EXPECT_TRUE(bench.queue.add(kA));
  EXPECT_TRUE(bench.queue.add(kB));
}

TEST(WorkQueue, ShutdownLetsRunningWorkEndAndStartsNone) {
  Bench bench({.name = "test", .workers = 1});
  bench.hold = true;
  bool ended = false;
  ASSERT_TRUE(bench.queue.add(kA));
  ASSERT_TRUE(bench.queue.add(kB));
  bench.loop.spawn([](Bench* b, bool* note) -> async::Task<void> {
    co_await b->queue.run([b](ObjectKey key) { return Bench::work(b, std::move(key)); });
    *note = true;
  }(&bench, &ended));
  bench.loop.run_until_idle();

  bench.queue.shutdown();
  bench.loop.run_until_idle();
  EXPECT_FALSE(ended);
  EXPECT_FALSE(bench.queue.add(kA));
  bench.release();
  EXPECT_TRUE(ended);
  EXPECT_EQ(bench.seen, (std::vector<std::string>{"a"}));
}

TEST(WorkQueue, CancellingItCancelsTheWork) {
  Bench bench;
  bench.hold = true;
  bench.start();
  ASSERT_TRUE(bench.queue.add(kA));
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.active, 1);
  bench.loop.close();
  EXPECT_EQ(bench.active, 0);
}

}  // namespace
}  // namespace agenttier::kube
