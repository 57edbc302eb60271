#pragma once
// Growing delays between retries, spread at random so that many clients do not return at once.
//
// Example:
//   Backoff backoff({.first = 100ms, .max = 30s});
//   co_await timers.sleep_for(backoff.next(random));   // 50..100 ms, then 100..200 ms, ...
//   backoff.reset();                                   // after a success

#include <algorithm>
#include <chrono>

#include "base/random.h"

namespace agenttier::kube {

struct BackoffLimits {
  std::chrono::nanoseconds first{std::chrono::milliseconds(100)};
  std::chrono::nanoseconds max{std::chrono::seconds(30)};
};

class Backoff {
 public:
  explicit Backoff(BackoffLimits limits) : limits_(limits), delay_(limits.first) {}

  // Between half of the current delay and all of it; the next one doubles, up to the maximum.
  std::chrono::nanoseconds next(base::Random& random) {
    const auto full = static_cast<double>(delay_.count());
    delay_ = std::min(delay_ * 2, limits_.max);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(full * (0.5 + random.unit() / 2)));
  }
  void reset() { delay_ = limits_.first; }

 private:
  BackoffLimits limits_;
  std::chrono::nanoseconds delay_;
};

}  // namespace agenttier::kube
