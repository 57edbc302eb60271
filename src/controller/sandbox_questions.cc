// The questions that the reconciler asks runtimes, beside its work: does it answer, does it work.

#include <algorithm>
#include <utility>

#include "controller/sandbox_reconciler.h"

namespace agenttier::controller {

void SandboxReconciler::ask_health(const kube::ObjectKey& key, MemoryPointer memory,
                                   AskHealth question) {
  if (memory->asked_pod_uid == question.pod_uid) return;
  memory->asked_pod_uid = question.pod_uid;
  if (!tasks_.spawn(wait_for_health(key, memory, std::move(question)))) {
    memory->asked_pod_uid.clear();
  }
}

// Asks until it answers, or until another pod is asked: the plan decides how long a start may take.
async::Task<void> SandboxReconciler::wait_for_health(kube::ObjectKey key, MemoryPointer memory,
                                                     AskHealth question) {
  auto delay = options_.health_delay_first;
  while (memory->asked_pod_uid == question.pod_uid) {
    const base::Status healthy = co_await parts_.probe.check_health(question.pod_ip);
    if (memory->asked_pod_uid != question.pod_uid) co_return;
    if (healthy) {
      memory->answering_pod_uid = question.pod_uid;
      memory->asked_pod_uid.clear();
      (void)queue_.add(key);
      co_return;
    }
    // Ends with the pod, the sandbox, or the controller.
    const auto pods = pods_.list_by_owner(memory->uid);
    const bool there = std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
      return pod->metadata.uid == question.pod_uid && !pod->metadata.deletion_timestamp;
    });
    if (!there) break;
    if (co_await parts_.timers.sleep_for(delay) == async::Wake::kCancelled) break;
    delay = std::min(2 * delay, options_.health_delay_max);
  }
  if (memory->asked_pod_uid == question.pod_uid) memory->asked_pod_uid.clear();
}

void SandboxReconciler::ask_activity(const kube::ObjectKey& key, MemoryPointer memory,
                                     AskActivity question) {
  if (memory->asking_activity) return;
  memory->asking_activity = true;
  if (!tasks_.spawn(read_activity(key, memory, std::move(question)))) {
    memory->asking_activity = false;
  }
}

async::Task<void> SandboxReconciler::read_activity(kube::ObjectKey key, MemoryPointer memory,
                                                   AskActivity question) {
  auto answer = co_await parts_.probe.read_activity(question.pod_ip, question.token);
  memory->asking_activity = false;
  ActivityView& view = memory->activity;
  const base::WallTime now = parts_.timers.clock().now();
  if (view.pod_uid != question.pod_uid) {
    view = {};
    view.pod_uid = question.pod_uid;
  }
  view.asked_at = now;
  if (answer) {
    view.failing_since.reset();
    // The earlier of two close readings stays, for a window wide enough to compare.
    const bool close =
        view.previous && view.latest && now - view.latest->taken_at < options_.plan.cpu_window;
    if (view.latest && !close) view.previous = view.latest;
    view.latest = ActivityReading{.taken_at = now,
                                  .last_input = answer->last_input,
                                  .open_processes = answer->open_processes,
                                  .cpu = answer->cpu};
  } else if (!view.failing_since) {
    view.failing_since = now;
  }
  (void)queue_.add(key);
}

}  // namespace agenttier::controller
