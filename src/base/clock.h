#pragma once
// A Clock tells the time. Programs use RealClock; tests use FakeClock and advance it by hand.
//
// `now` is wall-clock time, for timestamps that people and other programs read. `monotonic` never
// jumps, for measuring and for deadlines.

#include <chrono>

namespace agenttier::base {

using WallTime = std::chrono::system_clock::time_point;
using MonotonicTime = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() const = 0;
  virtual MonotonicTime monotonic() const = 0;
};

class RealClock final : public Clock {
 public:
  WallTime now() const override;
  MonotonicTime monotonic() const override;
};

// Starts at 2030-01-01T00:00:00Z and moves only when told to.
class FakeClock final : public Clock {
 public:
  FakeClock();
  WallTime now() const override { return wall_; }
  MonotonicTime monotonic() const override { return monotonic_; }
  void advance(std::chrono::nanoseconds step);

 private:
  WallTime wall_;
  MonotonicTime monotonic_;
};

}  // namespace agenttier::base
