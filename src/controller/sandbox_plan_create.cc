// From nothing to Running: the sandbox's objects, its pod, and the wait until the runtime answers.

#include <utility>

#include <fmt/format.h>

#include "api/meta.h"
#include "api/names.h"
#include "api/spec_hash.h"
#include "base/time_format.h"
#include "controller/sandbox_objects.h"
#include "controller/sandbox_planner.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;
namespace reasons = api::names::reasons;
namespace conditions = api::names::conditions;
namespace events = api::names::events;

std::string_view reason_of(const base::Error& error) {
  if (error.reason == "template_not_found") return reasons::kTemplateNotFound;
  if (error.reason == "template_cycle") return reasons::kTemplateCycle;
  if (error.reason.starts_with("template_")) return reasons::kTemplateInvalid;
  if (error.reason == "policy_violation") return reasons::kPolicyViolation;
  return reasons::kSpecInvalid;
}

std::string_view reason_of(Part part) {
  switch (part) {
    case Part::kPod:
      return reasons::kPodCreateFailed;
    case Part::kVolume:
      return reasons::kVolumeFailed;
    case Part::kPolicy:
      return reasons::kNetworkPolicyFailed;
    case Part::kToken:
    case Part::kFiles:
      return reasons::kSecretFailed;
  }
  return reasons::kPending;
}

// Errors that a person has to know of; the others pass by themselves.
bool is_worth_telling(const base::Error& error) {
  using base::ErrorCode;
  return error.code == ErrorCode::kInvalid || error.code == ErrorCode::kDenied ||
         error.code == ErrorCode::kExhausted || error.code == ErrorCode::kExists;
}

}  // namespace

void Planner::plan_creating() {
  if (!in_.resolution.spec) return fail_resolution(in_.resolution.spec.error());
  const policy::EffectiveSpec& spec = *in_.resolution.spec;
  status_.resolved_template = in_.resolution.template_name;
  status_.template_resource_version = in_.resolution.template_version;
  status_.spec_hash = policy::spec_hash(spec);
  status_.resolved_agent_spec = spec.harness.agent;
  show_resolution();
  if (volume_is_lost()) {
    return fail_terminal(reasons::kVolumeLost, "the workspace volume " + before_.pvc_name +
                                                   " is gone; its files cannot be brought back");
  }
  const base::WallTime deadline = time_of(status_.phase_since, now_) + options_.create_time_max;
  if (now_ >= deadline) {
    return fail_terminal(
        reasons::kStartTimeout,
        fmt::format("not running within {}: {}", base::format_duration(options_.create_time_max),
                    before_.message.empty() ? "no reason known" : before_.message));
  }
  wake(deadline);
  if (status_.message.empty()) show(reasons::kPending, "Creating");
  ensure_policy(spec.network);
  ensure_token();
  ensure_files(spec);
  ensure_volume(spec);
  plan_pod(spec);
}

void Planner::show_resolution() {
  if (in_.resolution.spec) {
    set_condition(conditions::kTemplateResolved, conditions::kTrueStatus, reasons::kAsExpected, "");
  } else {
    const base::Error& error = in_.resolution.spec.error();
    set_condition(conditions::kTemplateResolved, conditions::kFalseStatus, reason_of(error),
                  error.message);
  }
}

bool Planner::volume_is_lost() const {
  if (before_.pvc_name.empty()) return false;
  if (!in_.volume || !is_ours(in_.volume->metadata)) return true;
  if (api::is_being_deleted(in_.volume->metadata)) return true;
  return !before_.pvc_uid.empty() && in_.volume->metadata.uid != before_.pvc_uid;
}

void Planner::ensure_volume(const policy::EffectiveSpec& spec) {
  if (in_.volume && is_ours(in_.volume->metadata)) {
    status_.pvc_name = in_.volume->metadata.name;
    status_.pvc_uid = in_.volume->metadata.uid;
    set_condition(conditions::kStorageReady, conditions::kTrueStatus, reasons::kAsExpected, "");
    return;
  }
  act(0, Create{Part::kVolume, build_volume(sandbox_, spec).to_json()});
}

void Planner::ensure_policy(const api::NetworkSpec& network) {
  api::NetworkPolicy wanted =
      build_network_policy(sandbox_, network, in_.services, options_.network);
  if (!in_.policy || !is_ours(in_.policy->metadata)) {
    return act(0, Create{Part::kPolicy, wanted.to_json()});
  }
  set_condition(conditions::kNetworkReady, conditions::kTrueStatus, reasons::kAsExpected, "");
  if (in_.policy->spec == wanted.spec) return;
  api::NetworkPolicy changed = *in_.policy;
  changed.spec = std::move(wanted.spec);
  act(0, Replace{Part::kPolicy, changed.to_json()});
}

void Planner::ensure_token() {
  const bool stored = in_.token && is_ours(in_.token->metadata);
  if (!stored) {
    act(0, Create{Part::kToken, build_token_secret(sandbox_, token()).to_json()});
  } else if (token_of(*in_.token).empty()) {
    api::Secret filled = *in_.token;
    filled.data = build_token_secret(sandbox_, token()).data;
    act(0, Replace{Part::kToken, filled.to_json()});
  }
}

void Planner::ensure_files(const policy::EffectiveSpec& spec) {
  if (!needs_files_secret(spec)) return;
  api::Secret wanted = build_files_secret(sandbox_, spec);
  if (!in_.files || !is_ours(in_.files->metadata)) {
    return act(0, Create{Part::kFiles, wanted.to_json()});
  }
  if (in_.files->data == wanted.data) return;
  api::Secret changed = *in_.files;
  changed.data = std::move(wanted.data);
  act(0, Replace{Part::kFiles, changed.to_json()});
}

void Planner::plan_pod(const policy::EffectiveSpec& spec) {
  PodPointer live;
  for (const PodPointer& pod : our_pods()) {
    if (api::is_being_deleted(pod->metadata)) {
      // Never beside another: both would have the volume.
      show(reasons::kPending, "Waiting for the pod before to end");
      return write_status(0);
    }
    live = pod;
  }
  if (live == nullptr) {
    show_apply_failure();
    write_status(0);
    return create_pod(spec);
  }
  delete_pods(1, live->metadata.uid);
  if (!token_fits(*live) || spec_hash_of(*live) != status_.spec_hash) {
    show(reasons::kPending, "Replacing a pod of an older specification");
    delete_pods(1);
    return write_status(0);
  }
  plan_started_pod(*live);
}

// Last: it must find its policy in force, and a volume of the name it mounts that is its own.
void Planner::create_pod(const policy::EffectiveSpec& spec) {
  const PodInput input{.sandbox = sandbox_,
                       .spec = spec,
                       .volume_name = volume_name_of(sandbox_),
                       .token_sha256 = api::sha256_hex(token()),
                       .template_name = in_.resolution.template_name};
  act(1, Create{Part::kPod, build_pod(input, options_.pod).to_json()});
}

void Planner::plan_started_pod(const api::Pod& pod) {
  const PodOutcome outcome = outcome_of(pod);
  switch (outcome.state) {
    case PodState::kCompleted:
      return begin_stop(reasons::kCompleted);
    case PodState::kAppFailed:
    case PodState::kInfraFailed:
      return fail_pod(outcome);
    case PodState::kStarting:
      show_problem(pod);
      break;
    case PodState::kRunning:
      if (!pod.status || pod.status->pod_ip.empty()) break;
      if (in_.answering_pod_uid == pod.metadata.uid) return become_running(pod);
      act(0, AskHealth{pod.metadata.uid, pod.status->pod_ip});
      break;
  }
  if (phase_ == api::Phase::kCreating) write_status(0);
}

void Planner::become_running(const api::Pod& pod) {
  enter(api::Action::kReady);
  status_.pod_name = pod.metadata.name;
  status_.pod_uid = pod.metadata.uid;
  status_.pod_ip = pod.status->pod_ip;
  status_.spec_hash = spec_hash_of(pod);
  status_.reason.clear();
  status_.message.clear();
  status_.retry_at.reset();
  status_.stopped_at.reset();
  // A restart of ours goes on with the time that was given.
  if (!status_.started_at) status_.started_at = base::format_rfc3339(now_);
  status_.last_activity_timestamp = base::format_rfc3339(now_);
  for (const std::string_view type : {conditions::kReady, conditions::kPodReady,
                                      conditions::kNetworkReady, conditions::kStorageReady}) {
    set_condition(type, conditions::kTrueStatus, reasons::kAsExpected, "");
  }
  tell(EventType::kNormal, events::kRunning, "The sandbox is running");
  write_status(0);
}

void Planner::show_problem(const api::Pod& pod) {
  const std::optional<PodProblem> problem = problem_of(pod);
  if (!problem) return;
  if (problem->hopeless) return fail_terminal(problem->reason, problem->message);
  const bool known = before_.reason == problem->reason;
  show(problem->reason, problem->message);
  if (!known) tell(EventType::kWarning, problem->reason, problem->message);
}

void Planner::show_apply_failure() {
  if (!in_.last_failure || !is_worth_telling(in_.last_failure->error)) return;
  const std::string_view reason = reason_of(in_.last_failure->part);
  const bool known = before_.reason == reason;
  show(reason, in_.last_failure->error.message);
  if (!known) tell(EventType::kWarning, reason, in_.last_failure->error.message);
}

void Planner::fail_resolution(const base::Error& error) {
  show_resolution();
  status_.spec_hash.clear();
  if (phase_ == api::Phase::kError) {
    // Failed before; what is wrong may have changed.
    show(reason_of(error), error.message);
    status_.observed_generation = sandbox_.metadata.generation;
    return write_status(0);
  }
  fail_terminal(reason_of(error), error.message);
}

}  // namespace agenttier::controller
