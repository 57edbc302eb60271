#include "async/time_limit.h"

namespace agenttier::async {

Task<Wake> wait_or_sleep(Event& event, Timers& timers, std::chrono::nanoseconds limit) {
  const auto notified = co_await run_until_alarm<Wake>(event.wait(), timers.sleep_for(limit));
  if (co_await is_cancelled()) co_return Wake::kCancelled;
  co_return notified ? Wake::kNotified : Wake::kTimeout;
}

}  // namespace agenttier::async
