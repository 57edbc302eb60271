#pragma once
// What a pod's status means for its sandbox.
//
// The main container decides; a finished sidecar does not. Failures are of two kinds: the
// application's (its command ended with an error: trying again would do the same) and the
// infrastructure's (killed for memory, evicted, node lost: trying again may help).

#include <cstdint>
#include <optional>
#include <string>

#include "api/pod.h"

namespace agenttier::controller {

enum class PodState : std::uint8_t {
  kStarting,     // not all of it runs yet
  kRunning,      // its main container runs
  kCompleted,    // the main process ended with 0
  kAppFailed,    // ... with an error; or an init container did
  kInfraFailed,  // ended by the machine, not by itself
};

struct PodOutcome {
  PodState state = PodState::kStarting;
  std::string reason;   // CamelCase: "OOMKilled", "Evicted", "Error"
  std::string message;  // for people
  std::optional<std::int64_t> exit_code;
};

PodOutcome outcome_of(const api::Pod& pod);

// Why a starting pod does not get on, as it says itself: image, scheduling, configuration.
struct PodProblem {
  std::string reason;
  std::string message;
  bool hopeless = false;  // waiting will not help
};
std::optional<PodProblem> problem_of(const api::Pod& pod);

}  // namespace agenttier::controller
