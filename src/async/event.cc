#include "async/event.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace agenttier::async {
namespace asio = boost::asio;

Event::Event(Executor executor) : executor_(executor), timer_(executor) {
  timer_.expires_at(asio::steady_timer::time_point::max());
}

void Event::notify_all() {
  timer_.cancel();
}

Task<Wake> Event::wait() {
  // A task that was cancelled before may wait, for its own group's end for example.
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return co_await is_cancelled() ? Wake::kCancelled : Wake::kNotified;
}

Task<Wake> Event::wait_for(std::chrono::nanoseconds limit) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer deadline(executor_);
  deadline.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(limit));
  const auto result = co_await (timer_.async_wait(asio::as_tuple(asio::use_awaitable)) ||
                                deadline.async_wait(asio::as_tuple(asio::use_awaitable)));
  if (co_await is_cancelled()) co_return Wake::kCancelled;
  co_return result.index() == 0 ? Wake::kNotified : Wake::kTimeout;
}

}  // namespace agenttier::async
