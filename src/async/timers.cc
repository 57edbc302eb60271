#include "async/timers.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace agenttier::async {
namespace asio = boost::asio;

Task<Wake> RealTimers::sleep_for(std::chrono::nanoseconds duration) {
  if (co_await is_cancelled()) co_return Wake::kCancelled;
  asio::steady_timer timer(co_await current_executor());
  timer.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(duration));
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return co_await is_cancelled() ? Wake::kCancelled : Wake::kTimeout;
}

Task<Wake> FakeTimers::sleep_for(std::chrono::nanoseconds duration) {
  if (co_await is_cancelled()) co_return Wake::kCancelled;
  if (duration.count() <= 0) co_return Wake::kTimeout;
  const auto due =
      clock_.monotonic() + std::chrono::duration_cast<base::MonotonicTime::duration>(duration);
  const auto sleeper = sleepers_.emplace(sleepers_.end(), Sleeper{due, Event(executor_)});
  Wake wake = Wake::kNotified;
  while (!sleeper->fired && wake != Wake::kCancelled) wake = co_await sleeper->wake.wait();
  const bool fired = sleeper->fired;
  sleepers_.erase(sleeper);
  co_return fired ? Wake::kTimeout : Wake::kCancelled;
}

void FakeTimers::advance(std::chrono::nanoseconds step) {
  clock_.advance(step);
  for (Sleeper& sleeper : sleepers_) {
    if (sleeper.due > clock_.monotonic() || sleeper.fired) continue;
    sleeper.fired = true;
    sleeper.wake.notify_all();
  }
}

std::chrono::nanoseconds FakeTimers::next_due() const {
  auto next = std::chrono::nanoseconds::max();
  for (const Sleeper& sleeper : sleepers_) {
    if (!sleeper.fired)
      next = std::min<std::chrono::nanoseconds>(next, sleeper.due - clock_.monotonic());
  }
  return next;
}

}  // namespace agenttier::async
