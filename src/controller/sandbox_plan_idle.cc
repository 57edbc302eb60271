// Idle means no work, not no traffic: at the deadline the runtime is asked, and only then is
// decided.
//
// Work is input since, a process that was started through the API and still lives, or CPU use. CPU
// use needs two readings: at the first deadline one is taken and another a short while after.

#include <algorithm>

#include "api/names.h"
#include "base/time_format.h"
#include "controller/sandbox_planner.h"

namespace agenttier::controller {
namespace {

using base::WallTime;

// Whether the processes used CPU between the two readings; nothing if they are too close.
std::optional<bool> used_cpu(const ActivityView& view, const PlanOptions& options) {
  if (!view.previous || !view.latest) return std::nullopt;
  const auto window = view.latest->taken_at - view.previous->taken_at;
  if (window < options.cpu_window) return std::nullopt;
  const std::chrono::duration<double> used = view.latest->cpu - view.previous->cpu;
  return used >= std::chrono::duration<double>(window) * options.busy_cores;
}

// The last moment at which work is known to have gone on.
WallTime last_work(WallTime known, const ActivityView& view, const PlanOptions& options) {
  if (!view.latest) return known;
  WallTime last = std::max(known, view.latest->last_input);
  const bool busy = view.latest->open_processes > 0 || used_cpu(view, options).value_or(false);
  if (busy) last = std::max(last, view.latest->taken_at);
  return last;
}

}  // namespace

void Planner::plan_idle(const api::Pod& pod) {
  if (!in_.resolution.spec || !in_.resolution.spec->idle_timeout) return;
  const auto limit =
      std::chrono::duration_cast<WallTime::duration>(*in_.resolution.spec->idle_timeout);
  const ActivityView none;
  const ActivityView& view = in_.activity.pod_uid == pod.metadata.uid ? in_.activity : none;
  const WallTime known =
      time_of(status_.last_activity_timestamp, time_of(status_.started_at, now_));
  const WallTime last = last_work(known, view, options_);
  const WallTime due = last + limit;
  // Written once per deadline, so that another controller need not wait from the start.
  if (last > known && now_ >= known + limit) {
    status_.last_activity_timestamp = base::format_rfc3339(last);
  }
  if (now_ < due) return wake(due);
  if (view.failing_since) {
    // A runtime that answers nobody does no work for anybody.
    if (now_ - *view.failing_since >= limit) return begin_stop(api::names::reasons::kIdleTimeout);
    return ask_activity(pod, view.asked_at.value_or(now_) + options_.activity_retry);
  }
  if (!view.latest || view.latest->taken_at < due) return ask_activity(pod, now_);
  if (!used_cpu(view, options_)) {
    return ask_activity(pod, view.latest->taken_at + options_.cpu_window);
  }
  begin_stop(api::names::reasons::kIdleTimeout);
}

void Planner::ask_activity(const api::Pod& pod, WallTime not_before) {
  if (now_ < not_before) return wake(not_before);
  if (!pod.status || pod.status->pod_ip.empty()) return wake(now_ + options_.activity_retry);
  act(0, AskActivity{pod.metadata.uid, pod.status->pod_ip, token()});
}

}  // namespace agenttier::controller
