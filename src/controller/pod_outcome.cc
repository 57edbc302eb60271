#include "controller/pod_outcome.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/names.h"
#include "controller/pod_builder.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;
namespace words = api::names::kubernetes;

const api::ContainerStateTerminated* terminated(const api::ContainerStatus& status) {
  return status.state && status.state->terminated ? &*status.state->terminated : nullptr;
}

const api::ContainerStatus* find_main(const api::PodStatus& status) {
  for (const api::ContainerStatus& container : status.container_statuses) {
    if (container.name == names::kSandboxContainer) return &container;
  }
  return nullptr;
}

// The pod was ended by its node or by the cluster.
bool ended_from_outside(const api::PodStatus& status) {
  static constexpr std::array<std::string_view, 7> kReasons = {
      words::kEvicted, words::kNodeLost,          "NodeShutdown", "Shutdown", "Terminated",
      "Preempting",    "UnexpectedAdmissionError"};
  if (std::find(kReasons.begin(), kReasons.end(), status.reason) != kReasons.end()) return true;
  return std::any_of(status.conditions.begin(), status.conditions.end(),
                     [](const api::PodCondition& condition) {
                       return condition.type == "DisruptionTarget" &&
                              condition.status == names::conditions::kTrueStatus;
                     });
}

std::string or_default(const std::string& text, std::string_view fallback) {
  return text.empty() ? std::string(fallback) : text;
}

std::string exit_text(std::string_view what, const api::ContainerStateTerminated& end) {
  std::string text = fmt::format("{} exited with {}", what, end.exit_code);
  if (!end.message.empty()) text += ": " + end.message;
  return text;
}

PodOutcome ended(const api::Pod& pod, const api::ContainerStateTerminated& end) {
  const api::PodStatus& status = *pod.status;
  PodOutcome outcome;
  outcome.exit_code = end.exit_code;
  outcome.reason = or_default(end.reason, words::kErrorReason);
  if (end.reason == words::kOomKilled) {
    outcome.state = PodState::kInfraFailed;
    outcome.message = "the sandbox used more memory than its limit and was killed";
  } else if (ended_from_outside(status) || end.reason == "ContainerStatusUnknown") {
    outcome.state = PodState::kInfraFailed;
    outcome.reason = or_default(status.reason, outcome.reason);
    outcome.message = or_default(status.message, "the pod was ended by its node");
  } else if (end.exit_code == 0) {
    outcome.state = PodState::kCompleted;
    outcome.reason = words::kCompletedReason;
    outcome.message = "the sandbox's process ended";
  } else if (has_main_command(pod)) {
    outcome.state = PodState::kAppFailed;
    outcome.message = exit_text("the sandbox's command", end);
  } else {
    // Without a command of its own the runtime is all there is, and it never ends by itself.
    outcome.state = PodState::kInfraFailed;
    outcome.message = exit_text("the sandbox's runtime", end);
  }
  return outcome;
}

// The first init container that failed.
std::optional<PodOutcome> init_failure(const api::PodStatus& status) {
  for (const api::ContainerStatus& container : status.init_container_statuses) {
    const api::ContainerStateTerminated* end = terminated(container);
    if (end == nullptr || end->exit_code == 0) continue;
    PodOutcome outcome;
    const bool killed = end->reason == words::kOomKilled || ended_from_outside(status);
    outcome.state = killed ? PodState::kInfraFailed : PodState::kAppFailed;
    outcome.reason = or_default(end->reason, words::kErrorReason);
    outcome.message = exit_text("init container " + container.name, *end);
    outcome.exit_code = end->exit_code;
    return outcome;
  }
  return std::nullopt;
}

PodOutcome failed_without_trace(const api::PodStatus& status) {
  PodOutcome outcome;
  outcome.state = PodState::kInfraFailed;
  outcome.reason = or_default(status.reason, names::reasons::kPodFailed);
  outcome.message = or_default(status.message, "the pod failed without saying why");
  return outcome;
}

std::optional<PodProblem> waiting_problem(const std::vector<api::ContainerStatus>& containers) {
  for (const api::ContainerStatus& container : containers) {
    if (!container.state || !container.state->waiting) continue;
    const api::ContainerStateWaiting& waiting = *container.state->waiting;
    const std::string& reason = waiting.reason;
    if (reason.empty() || reason == words::kContainerCreating || reason == "PodInitializing") {
      continue;
    }
    const bool image = reason == words::kErrImagePull || reason == words::kImagePullBackOff ||
                       reason == words::kInvalidImageName || reason == "ErrImageNeverPull" ||
                       reason == "ImageInspectError" || reason == "RegistryUnavailable";
    PodProblem problem;
    problem.reason = image ? std::string(names::reasons::kImagePullFailed) : reason;
    problem.message = fmt::format("container {}: {}", container.name, reason);
    if (!waiting.message.empty()) problem.message += ": " + waiting.message;
    problem.hopeless = reason == words::kInvalidImageName;
    return problem;
  }
  return std::nullopt;
}

}  // namespace

PodOutcome outcome_of(const api::Pod& pod) {
  if (!pod.status) return {};
  const api::PodStatus& status = *pod.status;
  const api::ContainerStatus* main = find_main(status);
  if (main != nullptr) {
    if (const auto* end = terminated(*main)) return ended(pod, *end);
  }
  if (status.phase == words::kPodFailed) {
    if (auto init = init_failure(status)) return *std::move(init);
    return failed_without_trace(status);
  }
  PodOutcome outcome;
  if (status.phase == words::kPodSucceeded) {
    outcome.state = PodState::kCompleted;
    outcome.reason = words::kCompletedReason;
    outcome.exit_code = 0;
    outcome.message = "the sandbox's process ended";
  } else if (main != nullptr && main->state && main->state->running) {
    outcome.state = PodState::kRunning;
  } else if (main == nullptr && status.phase == words::kPodRunning) {
    outcome.state = PodState::kRunning;
  }
  return outcome;
}

std::optional<PodProblem> problem_of(const api::Pod& pod) {
  if (!pod.status) return std::nullopt;
  const api::PodStatus& status = *pod.status;
  for (const api::PodCondition& condition : status.conditions) {
    const bool refused = condition.type == names::conditions::kPodScheduled &&
                         condition.status == names::conditions::kFalseStatus;
    if (!refused) continue;
    return PodProblem{.reason = std::string(names::reasons::kUnschedulable),
                      .message = or_default(condition.message, "no node takes the pod")};
  }
  if (auto problem = waiting_problem(status.init_container_statuses)) return problem;
  return waiting_problem(status.container_statuses);
}

}  // namespace agenttier::controller
