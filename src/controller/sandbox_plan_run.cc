// Running: keeping the policy in step, time limits, and what follows when the pod fails.

#include <algorithm>
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

std::chrono::nanoseconds delay_before(std::int64_t attempt, const PlanOptions& options,
                                      double jitter) {
  std::chrono::nanoseconds delay = options.backoff_first;
  for (std::int64_t i = 1; i < attempt && delay < options.backoff_max; ++i) delay *= 2;
  delay = std::min<std::chrono::nanoseconds>(delay, options.backoff_max);
  const double spread = static_cast<double>(delay.count()) * options.backoff_spread * jitter;
  return delay + std::chrono::nanoseconds(static_cast<std::int64_t>(spread));
}

std::string whole_seconds(std::chrono::nanoseconds delay) {
  return base::format_duration(std::chrono::duration_cast<std::chrono::seconds>(delay));
}

PodOutcome vanished(std::string message) {
  PodOutcome outcome;
  outcome.state = PodState::kInfraFailed;
  outcome.reason = reasons::kPodVanished;
  outcome.message = std::move(message);
  return outcome;
}

}  // namespace

void Planner::plan_running() {
  if (stop_is_wanted()) return plan_stop();
  const PodPointer pod = find_pod(status_.pod_uid);
  if (pod == nullptr) return fail_pod(vanished("the pod is gone"));
  if (api::is_being_deleted(pod->metadata)) {
    return fail_pod(vanished("the pod is being deleted, by hand or because its node is drained"));
  }
  const PodOutcome outcome = outcome_of(*pod);
  switch (outcome.state) {
    case PodState::kCompleted:
      return begin_stop(reasons::kCompleted);
    case PodState::kAppFailed:
    case PodState::kInfraFailed:
      return fail_pod(outcome);
    case PodState::kStarting:
    case PodState::kRunning:
      break;
  }
  if (!token_fits(*pod)) {
    PodOutcome lost = vanished("the runtime's token is lost, so the pod cannot be reached");
    lost.reason = reasons::kTokenLost;
    return fail_pod(lost);
  }
  keep_running(*pod);
}

void Planner::keep_running(const api::Pod& pod) {
  sync_policy();
  show_resolution();
  status_.observed_generation = sandbox_.metadata.generation;
  delete_pods(0, pod.metadata.uid);
  refill_budget();
  if (plan_max_runtime()) return;
  plan_idle(pod);
  // A stop that has begun wrote the status itself.
  if (!is_stop_reason(status_.reason)) write_status(0);
}

// While the specification does not resolve, the policy stays as it is; without any, all is closed.
void Planner::sync_policy() {
  const bool present = in_.policy && is_ours(in_.policy->metadata);
  if (in_.resolution.spec) {
    ensure_policy(in_.resolution.spec->network);
  } else if (!present) {
    ensure_policy(api::NetworkSpec{});
  }
}

void Planner::refill_budget() {
  if (status_.restart_count == 0) return;
  const base::WallTime stable = time_of(status_.phase_since, now_) + options_.stable_time;
  if (now_ < stable) return wake(stable);
  status_.restart_count = 0;
  tell(
      EventType::kNormal, events::kRestartCountReset,
      "Stable for " + base::format_duration(options_.stable_time) + "; the restart budget is full");
}

bool Planner::plan_max_runtime() {
  if (!in_.resolution.spec || !in_.resolution.spec->timeout) return false;
  const base::WallTime due =
      time_of(status_.started_at, now_) +
      std::chrono::duration_cast<base::WallTime::duration>(*in_.resolution.spec->timeout);
  if (now_ < due) {
    wake(due);
    return false;
  }
  begin_stop(reasons::kMaxRuntime);
  return true;
}

void Planner::fail_pod(const PodOutcome& outcome) {
  note_failure(outcome);
  if (outcome.state == PodState::kAppFailed) {
    tell(EventType::kWarning, events::kApplicationError, outcome.message);
    return fail_terminal(reasons::kApplicationFailed, "Pod failed: " + outcome.message);
  }
  fail_retryable(outcome);
}

void Planner::fail_retryable(const PodOutcome& outcome) {
  const std::string cause = fmt::format("{}: {}", outcome.reason, outcome.message);
  if (status_.restart_count >= options_.restarts_max) {
    return fail_terminal(
        reasons::kRetryLimit,
        fmt::format("Restart limit exceeded ({} attempts): {}", options_.restarts_max, cause));
  }
  ++status_.restart_count;
  const auto delay = delay_before(status_.restart_count, options_, in_.jitter);
  const base::WallTime due = now_ + std::chrono::duration_cast<base::WallTime::duration>(delay);
  enter(api::Action::kFail);
  clear_pod();
  status_.retry_at = base::format_rfc3339(due);
  show(reasons::kRetrying,
       fmt::format("Pod failed ({}); waiting {} before restart attempt {}/{}", cause,
                   whole_seconds(delay), status_.restart_count, options_.restarts_max));
  tell(EventType::kWarning, events::kAutoRestarted, status_.message);
  write_status(0);
  delete_pods(1);
  wake(due);
}

// The pod goes too: an error never leaves one running.
void Planner::fail_terminal(std::string_view reason, std::string message) {
  enter(api::Action::kFail);
  clear_pod();
  status_.retry_at.reset();
  show(reason, std::move(message));
  tell(EventType::kWarning, events::kError, status_.message);
  plan_.wake_at.reset();
  plan_.stages.clear();
  write_status(0);
  delete_pods(1);
}

void Planner::note_failure(const PodOutcome& outcome) {
  api::SandboxFailure failure;
  failure.reason = outcome.reason;
  failure.message = outcome.message;
  failure.exit_code = outcome.exit_code;
  failure.time = base::format_rfc3339(now_);
  status_.last_failure = std::move(failure);
}

bool Planner::token_fits(const api::Pod& pod) const {
  if (!in_.token || !is_ours(in_.token->metadata)) return false;
  const std::string stored = token_of(*in_.token);
  return !stored.empty() && token_sha256_of(pod) == api::sha256_hex(stored);
}

}  // namespace agenttier::controller
