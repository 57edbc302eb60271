#pragma once
// A pod's status as the API shows it, from what the agent knows of it. Pure.
//
// Phases, reasons and conditions are the kubelet's: ContainerCreating and PodInitializing while it
// starts, the pull's or the runtime's reason while that fails, Running, then Succeeded or Failed.

#include <map>
#include <string>

#include "api/pod.h"
#include "node/pod_state.h"

namespace agenttier::node {

struct WaitingReason {
  std::string reason;   // "ErrImagePull"
  std::string message;  // for people
  bool operator==(const WaitingReason&) const = default;
};

struct PodView {
  const api::Pod& pod;  // its newest object
  const PodState& state;
  std::map<std::string, WaitingReason> waiting;  // by container that does not run
  std::string failure_reason;                    // of the whole pod: "Evicted", "DeadlineExceeded"
  std::string failure_message;
  std::string node_ip;
  std::string now;  // RFC 3339
};

api::PodStatus make_pod_status(const PodView& view);

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };
PodPhase phase_of(const api::Pod& pod, const PodState& state);

// Whether a container that ended so is started again.
enum class Restart : std::uint8_t { kNever, kLater };
Restart restart_decision(const api::Pod& pod, const ContainerState& container);

}  // namespace agenttier::node
