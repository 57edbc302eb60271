#pragma once
// An Event wakes the tasks that wait for it. It carries no state of its own: check a condition in a
// loop around wait(). Not thread-safe: one loop. An Event that is destroyed wakes who waits.
//
// A wait gives kCancelled when its task is cancelled, also when that happened before the wait
// began, so a loop around it must end then. A shielded wait goes on through cancellation: for an
// end that is certain to come soon, such as that of tasks which were cancelled too.
//
// Example:
//   while (queue.empty()) {
//     if (co_await changed.wait() == Wake::kCancelled) co_return base::cancelled("receive");
//   }

#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <chrono>

#include "async/task.h"

namespace agenttier::async {

enum class Wake { kNotified, kTimeout, kCancelled };

class Event {
 public:
  explicit Event(Executor executor);
  ~Event();
  Event(Event&& other) noexcept = default;

  void notify_all();
  // Ends at the next notify_all, or when the task is cancelled.
  Task<Wake> wait();
  // The same with a time limit.
  Task<Wake> wait_for(std::chrono::nanoseconds limit);
  // kNotified: ends at the next notify_all alone.
  Task<Wake> wait_shielded();
  // kNotified or kTimeout.
  Task<Wake> wait_shielded_for(std::chrono::nanoseconds limit);

 private:
  using Hook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  using Time = boost::asio::steady_timer::time_point;

  // Lives in the frame of the task that waits, and may outlive the event.
  struct Waiter : Hook {
    Waiter(const Executor& executor, Time due) : timer(executor, due) {}
    boost::asio::steady_timer timer;
    bool notified = false;
  };

  Task<Wake> wait_until(Time due);
  Task<Wake> wait_shielded_until(Time due);

  Executor executor_;
  boost::intrusive::list<Waiter, boost::intrusive::constant_time_size<false>> waiters_;
};

}  // namespace agenttier::async
