#include "controller/sandbox_plan.h"

#include <algorithm>
#include <utility>

#include "api/meta.h"
#include "api/names.h"
#include "base/time_format.h"
#include "controller/sandbox_objects.h"
#include "controller/sandbox_planner.h"

namespace agenttier::controller {
namespace {

namespace json = boost::json;
namespace names = api::names;
namespace reasons = api::names::reasons;
namespace events = api::names::events;

constexpr std::string_view kWantsStopped = "Stopped";
constexpr std::string_view kWantsRunning = "Running";

// An unknown phase is treated as a new sandbox: what exists is found again by its owner.
api::Phase phase_of(const api::SandboxStatus& status) {
  return api::parse_phase(status.phase).value_or(api::Phase::kNew);
}

json::object without_action() {
  return {{"annotations", {{std::string(names::kActionAnnotation), nullptr}}}};
}

}  // namespace

std::string volume_name_of(const api::Sandbox& sandbox) {
  if (sandbox.status && !sandbox.status->pvc_name.empty()) return sandbox.status->pvc_name;
  return names::claim_of(sandbox.metadata.name);
}

Plan plan_sandbox(const Observed& observed, const PlanOptions& options, base::WallTime now) {
  return Planner(observed, options, now).run();
}

Planner::Planner(const Observed& observed, const PlanOptions& options, base::WallTime now)
    : in_(observed),
      options_(options),
      sandbox_(*observed.sandbox),
      now_(now),
      before_(sandbox_.status.value_or(api::SandboxStatus{})),
      status_(before_),
      phase_(phase_of(before_)) {}

Plan Planner::run() {
  if (api::is_being_deleted(sandbox_.metadata)) {
    plan_deletion();
    return std::move(plan_);
  }
  if (plan_requests()) return std::move(plan_);
  switch (phase_) {
    case api::Phase::kNew:
    case api::Phase::kDeleting:  // written for an object that is not being deleted after all
      plan_new();
      break;
    case api::Phase::kCreating:
      stop_is_wanted() ? plan_stop() : plan_creating();
      break;
    case api::Phase::kRunning:
      plan_running();
      break;
    case api::Phase::kStopped:
      plan_stopped();
      break;
    case api::Phase::kError:
      plan_error();
      break;
  }
  if (drop_annotation_) {
    act(plan_.stages.size(), PatchSandbox{{{"metadata", without_action()}}});
  }
  return std::move(plan_);
}

// The finalizer, and the action annotation as desiredState. True if that is all for now.
bool Planner::plan_requests() {
  json::object patch;
  json::object metadata;
  const std::string_view action = api::annotation_of(sandbox_.metadata, names::kActionAnnotation);
  const bool resume = action == names::kActionResume || action == names::kActionStart;
  if (!action.empty() && (!resume || !wants_running())) metadata = without_action();
  if (action == names::kActionStop && wants_running()) {
    patch["spec"] = {{"desiredState", std::string(kWantsStopped)}};
  }
  if (resume && !wants_running()) {
    patch["spec"] = {{"desiredState", std::string(kWantsRunning)}};
  }
  if (!api::has_finalizer(sandbox_.metadata, names::kSandboxFinalizer)) {
    json::array finalizers(sandbox_.metadata.finalizers.begin(),
                           sandbox_.metadata.finalizers.end());
    finalizers.emplace_back(std::string(names::kSandboxFinalizer));
    metadata["finalizers"] = std::move(finalizers);
  }
  if (resume && wants_running()) {
    // Running is wanted already: the annotation is the only sign, so it goes last.
    resume_requested_ = true;
    drop_annotation_ = true;
  }
  if (!metadata.empty()) patch["metadata"] = std::move(metadata);
  if (patch.empty()) return false;
  act(0, PatchSandbox{std::move(patch)});
  return true;
}

void Planner::plan_new() {
  phase_ = api::Phase::kNew;
  if (!wants_running()) {
    enter(api::Action::kStop);
    show(reasons::kUserStopped, "Created stopped");
    return write_status(0);
  }
  enter(api::Action::kAdmit);
  tell(EventType::kNormal, events::kCreating, "Creating the sandbox");
  plan_creating();
}

void Planner::plan_stopped() {
  if (wants_running()) return start(api::Action::kResume);
  delete_pods(0);
  status_.observed_generation = sandbox_.metadata.generation;
  write_status(0);
}

// A failed resolution is cured by a template or specification that resolves; any other error by a
// specification that makes another pod.
bool Planner::is_curable() const {
  if (!in_.resolution.spec) return false;
  if (before_.spec_hash.empty()) return true;
  const bool edited = sandbox_.metadata.generation != before_.observed_generation;
  return edited && policy::spec_hash(*in_.resolution.spec) != before_.spec_hash;
}

void Planner::plan_error() {
  if (stop_is_wanted()) return plan_stop();
  if (resume_requested_) return start(api::Action::kResume);
  if (before_.retry_at) {
    const base::WallTime due = time_of(before_.retry_at, now_);
    if (now_ >= due) return start(api::Action::kRetry);
    wake(due);
  } else if (is_curable()) {
    return start(api::Action::kResume);
  } else if (before_.spec_hash.empty() && !in_.resolution.spec) {
    fail_resolution(in_.resolution.spec.error());
    return;
  }
  delete_pods(0);
  status_.observed_generation = sandbox_.metadata.generation;
  write_status(0);
}

void Planner::start(api::Action action) {
  enter(action);
  clear_pod();
  status_.retry_at.reset();
  status_.stopped_at.reset();
  if (action == api::Action::kResume) {
    status_.restart_count = 0;
    status_.started_at.reset();
    show(reasons::kResuming, "Resuming");
    tell(EventType::kNormal, events::kResumed, "Resuming on the same volume");
  } else {
    show(reasons::kPending, "Restarting");
    tell(EventType::kNormal, events::kRestarting,
         "Restart attempt " + std::to_string(status_.restart_count) + "/" +
             std::to_string(options_.restarts_max));
  }
  plan_creating();
}

bool Planner::wants_running() const {
  return sandbox_.spec.desired_state.value_or(std::string(kWantsRunning)) != kWantsStopped;
}

bool Planner::is_ours(const api::ObjectMeta& meta) const {
  return api::is_owned_by(meta, sandbox_.metadata.uid);
}

std::vector<Planner::PodPointer> Planner::our_pods() const {
  std::vector<PodPointer> ours;
  for (const PodPointer& pod : in_.pods) {
    if (is_ours(pod->metadata)) ours.push_back(pod);
  }
  return ours;
}

Planner::PodPointer Planner::find_pod(std::string_view uid) const {
  for (const PodPointer& pod : our_pods()) {
    if (pod->metadata.uid == uid) return pod;
  }
  return nullptr;
}

// The token in use, or the one that a new Secret will hold.
std::string Planner::token() const {
  if (in_.token && is_ours(in_.token->metadata)) {
    if (std::string stored = token_of(*in_.token); !stored.empty()) return stored;
  }
  return in_.new_token;
}

void Planner::act(std::size_t stage, Action action) {
  if (plan_.stages.size() <= stage) plan_.stages.resize(stage + 1);
  plan_.stages[stage].push_back(std::move(action));
}

void Planner::delete_pods(std::size_t stage, std::string_view except_uid) {
  for (const PodPointer& pod : our_pods()) {
    if (api::is_being_deleted(pod->metadata) || pod->metadata.uid == except_uid) continue;
    act(stage, Delete{Part::kPod, pod->metadata.name, pod->metadata.uid});
  }
}

void Planner::enter(api::Action action) {
  const auto next = api::next_phase(phase_, action);
  AT_ASSERT(next.has_value());
  phase_ = *next;
  status_.phase = api::phase_name(*next);
  status_.phase_since = base::format_rfc3339(now_);
  status_.observed_generation = sandbox_.metadata.generation;
}

void Planner::clear_pod() {
  status_.pod_name.clear();
  status_.pod_uid.clear();
  status_.pod_ip.clear();
  set_condition(names::conditions::kPodReady, names::conditions::kFalseStatus, reasons::kPending,
                "");
}

void Planner::show(std::string_view reason, std::string message) {
  status_.reason = reason;
  status_.message = message;
  set_condition(names::conditions::kReady, names::conditions::kFalseStatus, reason,
                std::move(message));
}

void Planner::set_condition(std::string_view type, std::string_view state, std::string_view reason,
                            std::string message) {
  api::Condition condition;
  condition.type = type;
  condition.status = state;
  condition.reason = reason;
  condition.message = std::move(message);
  condition.last_transition_time = base::format_rfc3339(now_);
  condition.observed_generation = sandbox_.metadata.generation;
  api::set_condition(status_.conditions, std::move(condition));
}

// Whether the new status says something worth a write. Which objects exist already is told along
// with the next change of phase, not by writes of its own.
bool Planner::status_changed() const {
  const auto notable = [](api::SandboxStatus status) {
    status.pvc_name.clear();
    status.pvc_uid.clear();
    std::erase_if(status.conditions, [](const api::Condition& condition) {
      return condition.type != names::conditions::kReady &&
             condition.type != names::conditions::kTemplateResolved;
    });
    for (api::Condition& condition : status.conditions) condition.observed_generation.reset();
    return status;
  };
  return notable(status_) != notable(before_);
}

void Planner::write_status(std::size_t stage) {
  if (status_changed()) act(stage, WriteStatus{status_});
}

void Planner::tell(EventType type, std::string_view reason, std::string message) {
  plan_.events.push_back(
      {.type = type, .reason = std::string(reason), .message = std::move(message)});
}

void Planner::wake(base::WallTime at) {
  if (!plan_.wake_at || at < *plan_.wake_at) plan_.wake_at = at;
}

base::WallTime Planner::time_of(const std::optional<std::string>& text,
                                base::WallTime fallback) const {
  if (!text || text->empty()) return fallback;
  return base::parse_rfc3339(*text).value_or(fallback);
}

}  // namespace agenttier::controller
