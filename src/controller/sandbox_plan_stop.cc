// Stop and deletion: the pod first, and nothing is called done before it is gone.

#include <utility>

#include "api/meta.h"
#include "api/names.h"
#include "base/time_format.h"
#include "controller/sandbox_planner.h"

namespace agenttier::controller {
namespace {

namespace json = boost::json;
namespace names = api::names;
namespace reasons = api::names::reasons;
namespace conditions = api::names::conditions;
namespace events = api::names::events;

std::string_view message_of(std::string_view cause) {
  if (cause == reasons::kIdleTimeout) return "Idle timeout exceeded";
  if (cause == reasons::kMaxRuntime) return "Max runtime exceeded";
  if (cause == reasons::kCompleted) return "Sandbox process completed (pod exited 0)";
  return "User requested stop";
}

api::Action action_of(std::string_view cause) {
  if (cause == reasons::kIdleTimeout || cause == reasons::kMaxRuntime) return api::Action::kExpire;
  if (cause == reasons::kCompleted) return api::Action::kComplete;
  return api::Action::kStop;
}

}  // namespace

bool is_stop_reason(std::string_view reason) {
  return reason == reasons::kUserStopped || reason == reasons::kIdleTimeout ||
         reason == reasons::kMaxRuntime || reason == reasons::kCompleted;
}

bool Planner::stop_is_wanted() const {
  return !wants_running() || is_stop_reason(status_.reason);
}

// Notes the cause, so that whoever finds the pod gone knows that it was a stop.
void Planner::begin_stop(std::string_view cause) {
  status_.observed_generation = sandbox_.metadata.generation;
  show(cause, std::string(message_of(cause)));
  if (cause == reasons::kIdleTimeout) {
    tell(EventType::kNormal, events::kIdleTimeout, std::string(message_of(cause)));
  } else if (cause == reasons::kMaxRuntime) {
    tell(EventType::kNormal, events::kMaxRuntimeReached, std::string(message_of(cause)));
  }
  plan_stop();
}

// Whether somebody has asked for it to run since a stop of the controller's own began.
bool Planner::is_wanted_again(std::string_view cause) const {
  if (cause == reasons::kUserStopped || !wants_running()) return false;
  return resume_requested_ || sandbox_.metadata.generation != before_.observed_generation;
}

// A stop can be taken back as long as the pod lives.
bool Planner::can_call_off(std::string_view cause) const {
  if (cause == reasons::kCompleted || phase_ != api::Phase::kRunning) return false;
  const PodPointer pod = find_pod(status_.pod_uid);
  return pod != nullptr && !api::is_being_deleted(pod->metadata) &&
         outcome_of(*pod).state == PodState::kRunning;
}

void Planner::call_off_stop() {
  status_.reason.clear();
  status_.message.clear();
  status_.observed_generation = sandbox_.metadata.generation;
  status_.last_activity_timestamp = base::format_rfc3339(now_);
  set_condition(conditions::kReady, conditions::kTrueStatus, reasons::kAsExpected, "");
  write_status(0);
}

void Planner::plan_stop() {
  const bool begun = is_stop_reason(before_.reason);
  std::string cause(is_stop_reason(status_.reason) ? std::string_view(status_.reason)
                                                   : reasons::kUserStopped);
  if (begun && is_wanted_again(cause)) {
    if (can_call_off(cause)) return call_off_stop();
    // The pod has to go first; from here on desiredState alone decides what follows.
    cause = reasons::kUserStopped;
    show(cause, "Stopping, to be resumed");
  } else if (!begun) {
    status_.observed_generation = sandbox_.metadata.generation;
    show(cause, std::string(message_of(cause)));
  }
  // What is wanted follows a stop of the controller's own.
  const bool settle = cause != reasons::kUserStopped && wants_running();
  const bool pods_left = !our_pods().empty();
  if (!pods_left) finish_stop(cause);
  const std::size_t status_stage = settle && !pods_left ? 1 : 0;
  write_status(status_stage);
  if (settle) {
    act(1 - status_stage, PatchSandbox{{{"spec", {{"desiredState", "Stopped"}}}}});
  }
  if (pods_left) delete_pods(2);
}

void Planner::finish_stop(std::string_view cause) {
  // A stop noted while it was being created or failed counts as a plain stop.
  const api::Action action = action_of(cause);
  enter(api::next_phase(phase_, action) ? action : api::Action::kStop);
  clear_pod();
  status_.started_at.reset();
  status_.retry_at.reset();
  status_.restart_count = 0;
  status_.stopped_at = base::format_rfc3339(now_);
  show(cause, std::string(message_of(cause)));
  if (in_.volume && is_ours(in_.volume->metadata)) {
    status_.pvc_name = in_.volume->metadata.name;
    status_.pvc_uid = in_.volume->metadata.uid;
  }
  tell(EventType::kNormal, events::kStopped, std::string(message_of(cause)));
}

void Planner::plan_deletion() {
  if (!api::has_finalizer(sandbox_.metadata, names::kSandboxFinalizer)) return;
  if (!our_pods().empty()) {
    if (phase_ != api::Phase::kDeleting) enter(api::Action::kDelete);
    show(reasons::kDeleting, "Deleting");
    write_status(0);
    return delete_pods(0);
  }
  // The policy outlives the last process; the name is free when nothing of it is left.
  const auto remove = [this](Part part, const auto& object) {
    if (!object || !is_ours(object->metadata) || api::is_being_deleted(object->metadata)) return;
    act(0, Delete{part, object->metadata.name, object->metadata.uid});
  };
  remove(Part::kPolicy, in_.policy);
  remove(Part::kToken, in_.token);
  remove(Part::kFiles, in_.files);
  remove(Part::kVolume, in_.volume);
  api::ObjectMeta meta = sandbox_.metadata;
  api::remove_finalizer(meta, names::kSandboxFinalizer);
  json::array left(meta.finalizers.begin(), meta.finalizers.end());
  act(plan_.stages.size(), PatchSandbox{{{"metadata", {{"finalizers", std::move(left)}}}}});
  tell(EventType::kNormal, events::kDeleted, "The sandbox and its files are deleted");
}

}  // namespace agenttier::controller
