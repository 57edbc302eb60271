#include "base/clock.h"

#include "base/assert.h"

namespace agenttier::base {

WallTime RealClock::now() const {
  return std::chrono::system_clock::now();
}
MonotonicTime RealClock::monotonic() const {
  return std::chrono::steady_clock::now();
}

FakeClock::FakeClock()
    : wall_(std::chrono::sys_days(std::chrono::year(2030) / 1 / 1)),
      monotonic_(std::chrono::hours(1)) {}

void FakeClock::advance(std::chrono::nanoseconds step) {
  AT_ASSERT(step.count() >= 0);
  wall_ += std::chrono::duration_cast<WallTime::duration>(step);
  monotonic_ += std::chrono::duration_cast<MonotonicTime::duration>(step);
}

}  // namespace agenttier::base
