#pragma once
// Timers wait for time to pass. Programs use RealTimers; tests use FakeTimers, where time passes
// only in advance() and whoever is due then is woken, in order.

#include <chrono>
#include <list>

#include "async/event.h"
#include "async/task.h"
#include "base/clock.h"

namespace agenttier::async {

class Timers {
 public:
  virtual ~Timers() = default;
  virtual const base::Clock& clock() const = 0;
  // kTimeout when the time has passed, kCancelled when the task was cancelled first: at once if it
  // is cancelled already.
  virtual Task<Wake> sleep_for(std::chrono::nanoseconds duration) = 0;
};

class RealTimers final : public Timers {
 public:
  const base::Clock& clock() const override { return clock_; }
  Task<Wake> sleep_for(std::chrono::nanoseconds duration) override;

 private:
  base::RealClock clock_;
};

class FakeTimers final : public Timers {
 public:
  explicit FakeTimers(Executor executor) : executor_(std::move(executor)) {}
  const base::Clock& clock() const override { return clock_; }
  Task<Wake> sleep_for(std::chrono::nanoseconds duration) override;

  // Moves the clock and wakes the sleepers that are due; they run when the loop does.
  void advance(std::chrono::nanoseconds step);
  // Time until the next sleeper is due, or nanoseconds::max().
  std::chrono::nanoseconds next_due() const;

 private:
  struct Sleeper {
    base::MonotonicTime due;
    Event wake;
    bool fired = false;
  };
  Executor executor_;
  base::FakeClock clock_;
  std::list<Sleeper> sleepers_;
};

}  // namespace agenttier::async
