#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <vector>

#include "async/blocking_pool.h"
#include "async/channel.h"
#include "async/shield.h"
#include "async/task_group.h"
#include "async/timers.h"

namespace agenttier::async {
namespace {

using namespace std::chrono_literals;

Task<void> sleep_and_note(Timers& timers, std::chrono::nanoseconds duration,
                          std::optional<Wake>& note) {
  note = co_await timers.sleep_for(duration);
}

Task<void> close_and_note(TaskGroup& group, bool& note) {
  co_await group.close();
  note = true;
}

TEST(TaskGroup, CloseCancelsAndWaits) {
  boost::asio::io_context loop;
  FakeTimers timers(loop.get_executor());
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 2});
  std::optional<Wake> note;
  bool closed = false;
  ASSERT_TRUE(group.spawn(sleep_and_note(timers, 1h, note)));
  loop.poll();
  EXPECT_FALSE(note.has_value());

  boost::asio::co_spawn(loop, close_and_note(group, closed), boost::asio::detached);
  loop.restart();
  loop.poll();

  EXPECT_EQ(note, Wake::kCancelled);
  EXPECT_TRUE(closed);
  EXPECT_FALSE(group.spawn(sleep_and_note(timers, 1h, note)));
}

Task<void> run_noting(BlockingPool& pool, std::atomic<int>& done) {
  (void)co_await pool.run([&done] { return ++done; });
}

// The cancellation is asked for outside the loop, and the task ends by itself before it arrives.
TEST(TaskGroup, ATaskMayEndAsItIsCancelled) {
  boost::asio::io_context loop;
  BlockingPool pool(1);
  std::atomic<int> done{0};
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 2});
  ASSERT_TRUE(group.spawn(run_noting(pool, done)));
  ASSERT_TRUE(group.spawn(run_noting(pool, done)));
  loop.poll();
  // When the second call has been made, the first one's result is on its way to the loop.
  while (done < 2) {
  }
  group.cancel_all();
  loop.restart();
  loop.run();
  EXPECT_EQ(group.size(), 0U);
}

TEST(TaskGroup, RefusesMoreThanItsLimit) {
  boost::asio::io_context loop;
  FakeTimers timers(loop.get_executor());
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 1});
  std::optional<Wake> first, second;
  ASSERT_TRUE(group.spawn(sleep_and_note(timers, 1s, first)));
  const auto refused = group.spawn(sleep_and_note(timers, 1s, second));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kExhausted);
  loop.poll();
  timers.advance(1s);
  loop.restart();
  loop.poll();
  EXPECT_EQ(first, Wake::kTimeout);
  EXPECT_EQ(group.size(), 0U);
}

Task<void> produce(Channel<int>& channel) {
  for (int i = 0; i < 5; ++i) (void)co_await channel.send(i);
  channel.close();
}

Task<void> consume(Channel<int>& channel, std::vector<int>& seen) {
  while (auto value = co_await channel.receive()) seen.push_back(*value);
}

Task<void> work_then_sleep(BlockingPool& pool, Timers& timers, std::optional<Wake>& note) {
  (void)co_await pool.run([] { return 1; });
  note = co_await timers.sleep_for(1h);
}

TEST(RealTimers, ACancelledTaskDoesNotFallAsleep) {
  boost::asio::io_context loop;
  BlockingPool pool(1);
  RealTimers timers;
  std::optional<Wake> note;
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(work_then_sleep(pool, timers, note)));
  loop.run_one();
  group.cancel_all();
  loop.run();
  EXPECT_EQ(note, Wake::kCancelled);
}

TEST(Channel, KeepsOrderAndBound) {
  boost::asio::io_context loop;
  Channel<int> channel(loop.get_executor(), 2);
  std::vector<int> seen;
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 2});
  ASSERT_TRUE(group.spawn(produce(channel)));
  loop.poll();
  EXPECT_EQ(channel.size(), 2U);
  ASSERT_TRUE(group.spawn(consume(channel, seen)));
  loop.restart();
  loop.poll();
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4}));
}

Task<void> run_blocking(BlockingPool& pool, int& result) {
  result = co_await pool.run([] { return 42; });
}

TEST(BlockingPool, GivesTheResultOnTheLoop) {
  boost::asio::io_context loop;
  BlockingPool pool(1);
  int result = 0;
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(run_blocking(pool, result)));
  loop.run();
  EXPECT_EQ(result, 42);
}

Task<void> note_cancellation(BlockingPool& pool, std::optional<bool>& cancelled) {
  (void)co_await pool.run([] { return 1; });
  cancelled = co_await is_cancelled();
}

// A task that is cancelled while it waits for a blocking call must learn of it, or its loop never
// ends.
TEST(BlockingPool, KeepsACancellationThatArrivesDuringTheCall) {
  boost::asio::io_context loop;
  BlockingPool pool(1);
  std::optional<bool> cancelled;
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(note_cancellation(pool, cancelled)));
  // The result comes back through the loop, which has not run since the task began to wait.
  loop.run_one();
  group.cancel_all();
  loop.run();
  EXPECT_EQ(cancelled, true);
}

Task<void> wait_limited(Event& event, std::optional<Wake>& note) {
  note = co_await event.wait_for(1ms);
}

TEST(Event, TimesOut) {
  boost::asio::io_context loop;
  Event event(loop.get_executor());
  std::optional<Wake> note;
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(wait_limited(event, note)));
  loop.run();
  EXPECT_EQ(note, Wake::kTimeout);
}

// Waits, is cancelled, and waits again for what will never be notified.
Task<void> wait_twice(Event& event, std::vector<Wake>& notes) {
  notes.push_back(co_await event.wait());
  notes.push_back(co_await event.wait());
  notes.push_back(co_await event.wait_for(1h));
}

TEST(Event, AWaitBegunAfterTheCancellationEndsAtOnce) {
  boost::asio::io_context loop;
  Event event(loop.get_executor());
  std::vector<Wake> notes;
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(wait_twice(event, notes)));
  loop.poll();
  group.cancel_all();
  loop.restart();
  loop.poll();
  EXPECT_EQ(notes, std::vector<Wake>(3, Wake::kCancelled));
  EXPECT_EQ(group.size(), 0U);
}

Task<void> note_nothing() {
  co_return;
}

Task<void> wait_through_cancellation(Event& event, bool& was_cancelled, std::vector<Wake>& notes) {
  notes.push_back(co_await event.wait_shielded());
  notes.push_back(co_await event.wait_shielded_for(1ms));
  co_await run_shielded(note_nothing());
  was_cancelled = co_await is_cancelled();
}

TEST(Event, AShieldedWaitGoesOnAndTheTaskStillKnowsOfItsCancellation) {
  boost::asio::io_context loop;
  Event event(loop.get_executor());
  std::vector<Wake> notes;
  bool was_cancelled = false;
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(wait_through_cancellation(event, was_cancelled, notes)));
  loop.poll();
  group.cancel_all();
  loop.restart();
  loop.poll();
  EXPECT_TRUE(notes.empty());
  event.notify_all();
  loop.restart();
  loop.run_for(10s);
  EXPECT_EQ(notes, (std::vector<Wake>{Wake::kNotified, Wake::kTimeout}));
  EXPECT_TRUE(was_cancelled);
  EXPECT_EQ(group.size(), 0U);
}

TEST(Event, ItsEndWakesThoseWhoWait) {
  boost::asio::io_context loop;
  std::optional<Wake> note;
  TaskGroup group(loop.get_executor(), {.name = "test", .tasks_max = 1});
  {
    Event event(loop.get_executor());
    ASSERT_TRUE(group.spawn(wait_limited(event, note)));
    loop.poll();
  }
  loop.restart();
  loop.poll();
  EXPECT_EQ(note, Wake::kNotified);
}

}  // namespace
}  // namespace agenttier::async
