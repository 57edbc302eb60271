#include "node/pod_status.h"

#include <algorithm>

#include "api/names.h"

namespace agenttier::node {

namespace names = api::names;

namespace {

constexpr const char* kInitialized = "Initialized";
constexpr const char* kContainersReady = "ContainersReady";

std::string restart_policy(const api::Pod& pod) {
  return pod.spec.restart_policy.value_or("Always");
}

bool runs(const ContainerState& container) {
  return container.pid > 0;
}
bool failed(const ContainerState& container) {
  return container.end && container.end->exit_code != 0;
}

const ContainerState* find(const PodState& state, const std::string& name) {
  for (const ContainerState& container : state.containers) {
    if (container.name == name) return &container;
  }
  return nullptr;
}

bool initialized(const api::Pod& pod, const PodState& state) {
  return std::all_of(pod.spec.init_containers.begin(), pod.spec.init_containers.end(),
                     [&state](const api::Container& container) {
                       const ContainerState* found = find(state, container.name);
                       return found != nullptr && found->end && found->end->exit_code == 0;
                     });
}

api::ContainerStateTerminated terminated(const ContainerEnd& end, const std::string& id) {
  api::ContainerStateTerminated result;
  result.exit_code = end.exit_code;
  if (end.signal != 0) result.signal = end.signal;
  result.reason = end.reason;
  result.message = end.message;
  if (!end.started_at.empty()) result.started_at = end.started_at;
  result.finished_at = end.finished_at;
  if (!id.empty()) result.container_id = "agenttier://" + id;
  return result;
}

WaitingReason default_waiting(const PodView& view, ContainerRole role) {
  if (role == ContainerRole::kMain && !initialized(view.pod, view.state)) {
    return {"PodInitializing", ""};
  }
  return {std::string(names::kubernetes::kContainerCreating), ""};
}

api::ContainerStatus container_status(const PodView& view, const api::Container& container,
                                      ContainerRole role) {
  api::ContainerStatus status;
  status.name = container.name;
  status.image = container.image.value_or("");
  api::ContainerState now;
  const ContainerState* known = find(view.state, container.name);
  const auto waiting = view.waiting.find(container.name);
  if (known != nullptr) {
    status.image_id = known->image_id;
    status.restart_count = known->restarts;
    if (!known->id.empty()) status.container_id = "agenttier://" + known->id;
    if (known->last_end) {
      api::ContainerState before;
      before.terminated = terminated(*known->last_end, "");
      status.last_state = before;
    }
  }
  if (known != nullptr && runs(*known)) {
    now.running = api::ContainerStateRunning{.started_at = known->started_at};
    status.ready = role == ContainerRole::kMain;
    status.started = true;
  } else if (waiting != view.waiting.end()) {
    now.waiting = api::ContainerStateWaiting{waiting->second.reason, waiting->second.message};
    if (known != nullptr && known->end) {
      api::ContainerState before;
      before.terminated = terminated(*known->end, known->id);
      status.last_state = before;
    }
  } else if (known != nullptr && known->end) {
    now.terminated = terminated(*known->end, known->id);
    status.ready = role == ContainerRole::kInit && known->end->exit_code == 0;
  } else {
    const WaitingReason reason = default_waiting(view, role);
    now.waiting = api::ContainerStateWaiting{reason.reason, reason.message};
  }
  if (!status.started) status.started = false;
  status.state = now;
  return status;
}

void add_condition(const PodView& view, api::PodStatus& status, std::string_view type, bool holds,
                   const std::string& reason) {
  api::PodCondition condition;
  condition.type = type;
  condition.status = holds ? names::conditions::kTrueStatus : names::conditions::kFalseStatus;
  if (!holds) condition.reason = reason;
  condition.last_transition_time = view.now;
  if (view.pod.status) {
    for (const api::PodCondition& before : view.pod.status->conditions) {
      if (before.type == condition.type && before.status == condition.status) {
        condition.last_transition_time = before.last_transition_time;
      }
    }
  }
  status.conditions.push_back(std::move(condition));
}

void add_conditions(const PodView& view, PodPhase phase, api::PodStatus& status) {
  const bool ready = phase == PodPhase::kRunning &&
                     std::all_of(status.container_statuses.begin(), status.container_statuses.end(),
                                 [](const api::ContainerStatus& one) { return one.ready; });
  const std::string why = phase == PodPhase::kSucceeded ? "PodCompleted"
                          : phase == PodPhase::kFailed  ? "PodFailed"
                                                        : "ContainersNotReady";
  add_condition(view, status, names::conditions::kPodScheduled, true, "");
  add_condition(view, status, kInitialized, initialized(view.pod, view.state),
                "ContainersNotInitialized");
  add_condition(view, status, kContainersReady, ready, why);
  add_condition(view, status, names::conditions::kPodReadyCondition, ready, why);
}

std::string_view phase_text(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return names::kubernetes::kPodPending;
    case PodPhase::kRunning:
      return names::kubernetes::kPodRunning;
    case PodPhase::kSucceeded:
      return names::kubernetes::kPodSucceeded;
    case PodPhase::kFailed:
      return names::kubernetes::kPodFailed;
  }
  return names::kubernetes::kPodPending;
}

}  // namespace

Restart restart_decision(const api::Pod& pod, const ContainerState& container) {
  const std::string policy = restart_policy(pod);
  if (policy == "Never") return Restart::kNever;
  if (container.role == ContainerRole::kInit) {
    return failed(container) ? Restart::kLater : Restart::kNever;
  }
  if (policy == "OnFailure" && !failed(container)) return Restart::kNever;
  return Restart::kLater;
}

PodPhase phase_of(const api::Pod& pod, const PodState& state) {
  for (const ContainerState& container : state.containers) {
    if (container.role == ContainerRole::kInit && failed(container) &&
        restart_decision(pod, container) == Restart::kNever) {
      return PodPhase::kFailed;
    }
  }
  std::size_t started = 0, ended = 0, bad = 0;
  for (const api::Container& container : pod.spec.containers) {
    const ContainerState* known = find(state, container.name);
    if (known == nullptr || (!runs(*known) && !known->end)) continue;
    ++started;
    if (runs(*known) || restart_decision(pod, *known) == Restart::kLater) continue;
    ++ended;
    bad += failed(*known) ? 1U : 0U;
  }
  if (started < pod.spec.containers.size()) return PodPhase::kPending;
  if (ended < pod.spec.containers.size()) return PodPhase::kRunning;
  return bad > 0 ? PodPhase::kFailed : PodPhase::kSucceeded;
}

api::PodStatus make_pod_status(const PodView& view) {
  api::PodStatus status;
  PodPhase phase = phase_of(view.pod, view.state);
  if (!view.failure_reason.empty()) phase = PodPhase::kFailed;
  status.phase = phase_text(phase);
  status.reason = view.failure_reason;
  status.message = view.failure_message;
  status.pod_ip = view.state.network.ip;
  if (!status.pod_ip.empty()) status.pod_ips.push_back({status.pod_ip});
  status.host_ip = view.node_ip;
  if (!view.node_ip.empty()) status.host_ips.push_back({view.node_ip});
  if (!view.state.started_at.empty()) status.start_time = view.state.started_at;
  for (const api::Container& container : view.pod.spec.init_containers) {
    status.init_container_statuses.push_back(
        container_status(view, container, ContainerRole::kInit));
  }
  for (const api::Container& container : view.pod.spec.containers) {
    status.container_statuses.push_back(container_status(view, container, ContainerRole::kMain));
  }
  add_conditions(view, phase, status);
  if (view.pod.status && view.pod.status->qos_class) status.qos_class = view.pod.status->qos_class;
  return status;
}

}  // namespace agenttier::node
