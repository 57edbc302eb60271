#include "async/time_limit.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <optional>

#include "async/task_group.h"

namespace agenttier::async {
namespace {

using namespace std::chrono_literals;
using Outcome = base::Result<int>;

struct Bench {
  ~Bench() {
    boost::asio::post(loop, [this] { tasks.cancel_all(); });
    settle();
  }
  void settle() {
    loop.restart();
    while (loop.poll() > 0) loop.restart();
  }
  void spawn(Task<void> task) {
    ASSERT_TRUE(tasks.spawn(std::move(task)));
    settle();
  }

  boost::asio::io_context loop;
  FakeTimers timers{loop.get_executor()};
  Event event{loop.get_executor()};
  TaskGroup tasks{loop.get_executor(), {.name = "test", .tasks_max = 10}};
  std::optional<Outcome> outcome;
  std::optional<Wake> wake;
  bool heard = false;  // the limited task learned of its cancellation
};

Task<Outcome> wait_for_event(Bench& bench) {
  bench.heard = co_await bench.event.wait() == Wake::kCancelled;
  if (bench.heard) co_return base::cancelled("heard");
  co_return 42;
}

Task<void> limited(Bench& bench) {
  bench.outcome = co_await with_time_limit<int>(bench.timers, 5s, wait_for_event(bench));
}

TEST(TimeLimit, GivesTheResultThatComesInTime) {
  Bench bench;
  bench.spawn(limited(bench));
  bench.timers.advance(4s);
  bench.settle();
  EXPECT_FALSE(bench.outcome);
  bench.event.notify_all();
  bench.settle();
  ASSERT_TRUE(bench.outcome && *bench.outcome);
  EXPECT_EQ(**bench.outcome, 42);
  EXPECT_EQ(bench.timers.next_due(), std::chrono::nanoseconds::max());  // no alarm is left
}

TEST(TimeLimit, CancelsTheTaskThatTakesTooLong) {
  Bench bench;
  bench.spawn(limited(bench));
  bench.timers.advance(5s);
  bench.settle();
  ASSERT_TRUE(bench.outcome);
  EXPECT_EQ(bench.outcome->error().code, base::ErrorCode::kDeadline);
  EXPECT_EQ(bench.outcome->error().message, "no answer within 5000 ms");
  EXPECT_TRUE(bench.heard);
}

TEST(TimeLimit, PassesOnTheCallersCancellation) {
  Bench bench;
  bench.spawn(limited(bench));
  boost::asio::post(bench.loop, [&] { bench.tasks.cancel_all(); });
  bench.settle();
  ASSERT_TRUE(bench.outcome);
  EXPECT_EQ(bench.outcome->error().code, base::ErrorCode::kCancelled);
  EXPECT_TRUE(bench.heard);
}

Task<void> limited_after_cancellation(Bench& bench) {
  (void)co_await bench.event.wait();
  bench.outcome = co_await with_time_limit<int>(bench.timers, 5s, wait_for_event(bench));
}

TEST(TimeLimit, StartsNothingForACancelledCaller) {
  Bench bench;
  bench.spawn(limited_after_cancellation(bench));
  boost::asio::post(bench.loop, [&] { bench.tasks.cancel_all(); });
  bench.settle();
  ASSERT_TRUE(bench.outcome);
  EXPECT_EQ(bench.outcome->error().code, base::ErrorCode::kCancelled);
  EXPECT_FALSE(bench.heard);
}

Task<void> wait_either(Bench& bench) {
  bench.wake = co_await wait_or_sleep(bench.event, bench.timers, 5s);
}

TEST(WaitOrSleep, SaysWhichCameFirst) {
  Bench bench;
  bench.spawn(wait_either(bench));
  bench.event.notify_all();
  bench.settle();
  EXPECT_EQ(bench.wake, Wake::kNotified);
  bench.spawn(wait_either(bench));
  bench.timers.advance(5s);
  bench.settle();
  EXPECT_EQ(bench.wake, Wake::kTimeout);
  bench.spawn(wait_either(bench));
  boost::asio::post(bench.loop, [&] { bench.tasks.cancel_all(); });
  bench.settle();
  EXPECT_EQ(bench.wake, Wake::kCancelled);
}

}  // namespace
}  // namespace agenttier::async
