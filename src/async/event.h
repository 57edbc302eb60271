#pragma once
// An Event wakes the tasks that wait for it. It carries no state of its own: check a condition in a
// loop around wait(). Not thread-safe: one loop.
//
// Example:
//   while (queue.empty()) co_await changed.wait();

#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "async/task.h"

namespace agenttier::async {

enum class Wake { kNotified, kTimeout, kCancelled };

class Event {
 public:
  explicit Event(Executor executor);

  void notify_all();
  // Ends at the next notify_all, or when the task is cancelled.
  Task<Wake> wait();
  // The same with a time limit.
  Task<Wake> wait_for(std::chrono::nanoseconds limit);

 private:
  Executor executor_;
  boost::asio::steady_timer timer_;
};

}  // namespace agenttier::async
