#pragma once
// A time limit around any task, and waits that end at whichever comes first.
//
// The limited task is cancelled when the time has passed and is awaited to its end: it must heed
// cancellation. Time comes from a Timers, so tests decide when the limit is reached.
//
// Example:
//   auto answer = co_await with_time_limit(timers, 5s, client.get(type, key));   // or kDeadline

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "async/event.h"
#include "async/task.h"
#include "async/timers.h"
#include "base/result.h"

namespace agenttier::async {

namespace detail {

// A spawned task throws when it is cancelled unless it says otherwise. The optional is there
// because spawning needs a default value.
template <class T>
Task<std::optional<T>> quiet(Task<T> task) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  co_return std::optional<T>(co_await std::move(task));
}

}  // namespace detail

// Runs both; when one ends the other is cancelled and awaited. Nothing if `alarm` ended first, or
// if the caller was cancelled before: a cancellation reaches only what is being awaited when it
// comes, so what starts afterwards would never hear of it.
template <class T>
Task<std::optional<T>> run_until_alarm(Task<T> task, Task<Wake> alarm) {
  if (co_await is_cancelled()) co_return std::nullopt;
  using boost::asio::experimental::awaitable_operators::operator||;
  auto outcome =
      co_await (detail::quiet<T>(std::move(task)) || detail::quiet<Wake>(std::move(alarm)));
  if (outcome.index() != 0) co_return std::nullopt;
  co_return std::get<0>(std::move(outcome));
}

// The task's result; kDeadline when the limit passed first, kCancelled when the caller was
// cancelled.
template <class T>
Task<base::Result<T>> with_time_limit(Timers& timers, std::chrono::nanoseconds limit,
                                      Task<base::Result<T>> task) {
  auto result = co_await run_until_alarm<base::Result<T>>(std::move(task), timers.sleep_for(limit));
  if (result) co_return *std::move(result);
  if (co_await is_cancelled()) co_return base::cancelled("the caller went away");
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
  co_return base::deadline_exceeded("no answer within " + std::to_string(millis.count()) + " ms");
}

// kNotified when the event was notified, kTimeout when `limit` has passed, kCancelled when the task
// was cancelled. `event` and `timers` must outlive the wait.
Task<Wake> wait_or_sleep(Event& event, Timers& timers, std::chrono::nanoseconds limit);

}  // namespace agenttier::async
