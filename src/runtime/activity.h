#pragma once
// What the control plane asks before it calls a sandbox idle: when it was last used from outside.

#include "base/clock.h"

namespace agenttier::runtime {

class Activity {
 public:
  explicit Activity(const base::Clock& clock) : clock_(clock), last_input_(clock.now()) {}
  // A command, typed bytes or a written file came.
  void note_input() { last_input_ = clock_.now(); }
  base::WallTime last_input() const { return last_input_; }

 private:
  const base::Clock& clock_;
  base::WallTime last_input_;
};

}  // namespace agenttier::runtime
