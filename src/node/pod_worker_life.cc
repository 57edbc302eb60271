// The second half of a pod's life: running, restarts, ending, and what the API is told.

#include <signal.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "api/names.h"
#include "async/time_limit.h"
#include "base/time_format.h"
#include "kube/typed.h"
#include "node/claims.h"
#include "node/pod_files.h"
#include "node/pod_teardown.h"
#include "node/pod_worker.h"
#include "observe/log.h"

namespace agenttier::node {

namespace json = boost::json;
namespace names = api::names;
using base::Status;
using namespace std::chrono_literals;

namespace {

constexpr kube::BackoffLimits kCleanupBackoff{100ms, 30s};
constexpr std::chrono::nanoseconds kRestartDelayFirst = 10s;
constexpr std::chrono::nanoseconds kRestartDelayMax = 5min;
constexpr std::chrono::nanoseconds kForEver = 24h;
constexpr std::chrono::nanoseconds kReportRetry = 1s;
constexpr std::int64_t kGraceSecondsDefault = 30;
constexpr const char* kCrashLoop = "CrashLoopBackOff";

std::chrono::seconds grace_of(const api::Pod& pod) {
  if (pod.metadata.deletion_grace_period_seconds) {
    return std::chrono::seconds(*pod.metadata.deletion_grace_period_seconds);
  }
  return std::chrono::seconds(
      pod.spec.termination_grace_period_seconds.value_or(kGraceSecondsDefault));
}

}  // namespace

async::Task<void> PodWorker::supervise() {
  while (!ending() && !co_await async::is_cancelled()) {
    if (!failure_reason_.empty()) break;
    co_await restart_due();
    co_await report();
    const PodPhase phase = phase_of(*pod_, containers_.state());
    if (phase == PodPhase::kSucceeded || phase == PodPhase::kFailed) break;
    if (co_await wait_change(until_next_step()) == async::Wake::kCancelled) co_return;
  }
  if (ending() || co_await async::is_cancelled()) co_return;
  co_await give_up_pod();
}

std::chrono::nanoseconds PodWorker::until_next_step() const {
  auto next = report_failed_ ? kReportRetry : kForEver;
  const auto now = parts_.timers.clock().monotonic();
  for (const auto& [name, plan] : restarts_) {
    next = std::min<std::chrono::nanoseconds>(next, plan.due - now);
  }
  if (pod_->spec.active_deadline_seconds) {
    const auto started = base::parse_rfc3339(containers_.state().started_at);
    if (started) {
      const auto due = *started + std::chrono::seconds(*pod_->spec.active_deadline_seconds);
      next = std::min<std::chrono::nanoseconds>(next, due - parts_.timers.clock().now());
    }
  }
  return std::max<std::chrono::nanoseconds>(next, 1ms);
}

// Plans the restart of what ended, and makes those that are due.
async::Task<void> PodWorker::restart_due() {
  const PodPointer pod = pod_;
  if (pod->spec.active_deadline_seconds) {
    const auto started = base::parse_rfc3339(containers_.state().started_at);
    const auto limit = std::chrono::seconds(*pod->spec.active_deadline_seconds);
    if (started && parts_.timers.clock().now() - *started >= limit) {
      fail("DeadlineExceeded", "Pod was active on the node longer than the specified deadline");
      co_return;
    }
  }
  for (const api::Container& container : pod->spec.containers) {
    const ContainerState* known = containers_.find(container.name);
    if (known == nullptr || known->pid != 0 || !known->end) continue;
    if (restart_decision(*pod, *known) == Restart::kNever) continue;
    const auto now = parts_.timers.clock().monotonic();
    if (!restarts_.contains(container.name)) {
      const bool first = known->restarts == 0;
      const auto delay =
          first ? std::chrono::nanoseconds(0)
                : std::min(kRestartDelayFirst * (1 << std::min(known->restarts - 1, 6)),
                           kRestartDelayMax);
      restarts_[container.name] = {now + delay, delay};
      if (!first) {
        waiting_[container.name] = {kCrashLoop, "restarting failed container " + container.name};
      }
    }
    if (restarts_[container.name].due > now) continue;
    restarts_.erase(container.name);
    if (!material_ready_) {
      // An adopted pod: what its containers are made from is read again.
      if (!co_await prepare()) continue;
    }
    if (!co_await start_one(container, ContainerRole::kMain)) {
      restarts_[container.name] = {now + kRestartDelayFirst, kRestartDelayFirst};
    }
  }
}

// All containers have ended, or the pod as a whole has failed: say so, then free what it holds.
async::Task<void> PodWorker::give_up_pod() {
  if (containers_.any_running()) co_await stop_containers();
  co_await report();
  co_await release();
  while (report_failed_ && !ending() && !co_await async::is_cancelled()) {
    (void)co_await wait_change(kReportRetry);
    co_await report();
  }
}

async::Task<void> PodWorker::release() {
  kube::Backoff backoff(kCleanupBackoff);
  while (!co_await async::is_cancelled()) {
    const Status freed = co_await tear_down_pod(parts_, uid_, Keep::kLogs);
    if (freed) break;
    observe::log_warning("pod not freed yet",
                         {{"pod", pod_->metadata.name}, {"why", freed.error().message}});
    if (co_await parts_.timers.sleep_for(backoff.next(parts_.random)) == async::Wake::kCancelled) {
      co_return;
    }
  }
  containers_.state().released = true;
  (void)co_await containers_.save();
  parts_.claims.release(uid_);
}

async::Task<void> PodWorker::stop_containers() {
  co_await containers_.signal_all(SIGTERM);
  const auto end = parts_.timers.clock().monotonic() + grace_of(*pod_);
  // An object that is gone has waited long enough.
  while (containers_.any_running() && !gone_ && !co_await async::is_cancelled()) {
    const auto left = end - parts_.timers.clock().monotonic();
    if (left.count() <= 0) break;
    if (co_await wait_change(left) == async::Wake::kCancelled) co_return;
  }
}

async::Task<void> PodWorker::end_pod() {
  parts_.claims.mark_ending(uid_);
  if (containers_.any_running()) co_await stop_containers();
  kube::Backoff backoff(kCleanupBackoff);
  while (!co_await async::is_cancelled()) {
    const Status removed = co_await tear_down_pod(parts_, uid_, Keep::kNothing);
    if (removed) break;
    observe::log_warning("pod not removed yet",
                         {{"pod", pod_->metadata.name}, {"why", removed.error().message}});
    if (co_await parts_.timers.sleep_for(backoff.next(parts_.random)) == async::Wake::kCancelled) {
      co_return;
    }
  }
  parts_.claims.release(uid_);
  while (!gone_ && !co_await async::is_cancelled()) {
    kube::DeleteOptions options;
    options.uid = uid_;
    options.grace_period_seconds = 0;
    kube::ObjectKey key = kube::key_of(*pod_);
    const Status removed = co_await parts_.client.remove(api::Pod::kType, std::move(key), options);
    if (removed || removed.error().code == base::ErrorCode::kNotFound ||
        removed.error().code == base::ErrorCode::kConflict) {
      break;
    }
    (void)co_await parts_.timers.sleep_for(backoff.next(parts_.random));
  }
}

async::Task<void> PodWorker::report() {
  if (gone_) co_return;
  api::Pod pod = *pod_;
  if (reported_) pod.status = reported_;
  const PodView view{pod,
                     containers_.state(),
                     waiting_,
                     failure_reason_,
                     failure_message_,
                     parts_.identity.ip,
                     base::format_rfc3339(parts_.timers.clock().now())};
  api::PodStatus status = make_pod_status(view);
  if (reported_ && *reported_ == status) co_return;
  json::object patch;
  patch["metadata"] = json::object{{"uid", uid_}};
  json::object body = status.to_json();
  // A merge keeps what it does not name.
  if (status.reason.empty()) body["reason"] = nullptr;
  if (status.message.empty()) body["message"] = nullptr;
  patch["status"] = std::move(body);
  kube::ObjectKey key = kube::key_of(pod);
  const auto written =
      co_await parts_.client.patch(api::Pod::kType, std::move(key), kube::PatchType::kMerge,
                                   json::value(std::move(patch)), kube::Subresource::kStatus);
  report_failed_ = false;
  if (written) {
    reported_ = std::move(status);
  } else if (written.error().code == base::ErrorCode::kNotFound ||
             written.error().code == base::ErrorCode::kConflict) {
    // Gone, or another pod of that name: the watch will say so.
  } else {
    report_failed_ = true;
    observe::log_warning("pod status not written",
                         {{"pod", pod_->metadata.name}, {"why", written.error().message}});
  }
}

}  // namespace agenttier::node
