#include "async/event.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/shield.h"

namespace agenttier::async {
namespace asio = boost::asio;

namespace {

constexpr auto kNever = asio::steady_timer::time_point::max();

asio::steady_timer::time_point from_now(std::chrono::nanoseconds limit) {
  const auto now = asio::steady_timer::clock_type::now();
  const auto left = std::chrono::duration_cast<asio::steady_timer::duration>(limit);
  return left > kNever - now ? kNever : now + left;
}

}  // namespace

Event::Event(Executor executor) : executor_(std::move(executor)) {}

Event::~Event() {
  notify_all();
}

void Event::notify_all() {
  while (!waiters_.empty()) {
    Waiter& waiter = waiters_.front();
    waiters_.pop_front();
    waiter.notified = true;
    waiter.timer.cancel();
  }
}

Task<Wake> Event::wait() {
  return wait_until(kNever);
}

Task<Wake> Event::wait_for(std::chrono::nanoseconds limit) {
  return wait_until(from_now(limit));
}

Task<Wake> Event::wait_shielded() {
  return wait_shielded_until(kNever);
}

Task<Wake> Event::wait_shielded_for(std::chrono::nanoseconds limit) {
  return wait_shielded_until(from_now(limit));
}

// Neither touches the event after its suspension, for it may be gone by then.
Task<Wake> Event::wait_until(Time due) {
  if (co_await is_cancelled()) co_return Wake::kCancelled;
  Waiter waiter(executor_, due);
  waiters_.push_back(waiter);
  co_await waiter.timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (co_await is_cancelled()) co_return Wake::kCancelled;
  co_return waiter.notified ? Wake::kNotified : Wake::kTimeout;
}

Task<Wake> Event::wait_shielded_until(Time due) {
  Waiter waiter(executor_, due);
  waiters_.push_back(waiter);
  co_await waiter.timer.async_wait(shielded());
  co_return waiter.notified ? Wake::kNotified : Wake::kTimeout;
}

}  // namespace agenttier::async
