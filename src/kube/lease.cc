#include "kube/lease.h"

#include <algorithm>
#include <utility>

#include "async/shield.h"
#include "async/time_limit.h"
#include "base/assert.h"
#include "base/time_format.h"
#include "kube/typed.h"
#include "observe/log.h"

namespace agenttier::kube {
namespace {

using api::Lease;

// A holder that states no lease time, or a nonsensical one, is given ours.
std::chrono::seconds lease_time_of(const Lease& lease, std::chrono::seconds fallback) {
  const std::int64_t stated = lease.spec.lease_duration_seconds.value_or(0);
  constexpr std::int64_t kStatedMax = 3600;
  return stated > 0 && stated <= kStatedMax ? std::chrono::seconds(stated) : fallback;
}

}  // namespace

LeaderElection::LeaderElection(Client& client, async::Timers& timers, base::Random& random,
                               LeaderElectionOptions options)
    : client_(client), timers_(timers), random_(random), options_(std::move(options)) {
  AT_ASSERT(!options_.identity.empty());
  AT_ASSERT(options_.renew_time_max < options_.lease_time);
  AT_ASSERT(options_.retry_time + options_.call_time_max < options_.renew_time_max);
}

bool LeaderElection::may_write() const {
  return held_.has_value() && timers_.clock().monotonic() < lead_until_;
}

// Spread, so that waiting replicas do not all write at once.
std::chrono::nanoseconds LeaderElection::pause() {
  const auto full = static_cast<double>(std::chrono::nanoseconds(options_.retry_time).count());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(full * (0.8 + random_.unit() / 5)));
}

async::Task<base::Result<Lease>> LeaderElection::read() {
  return async::with_time_limit<Lease>(timers_, options_.call_time_max,
                                       get<Lease>(client_, options_.lease));
}

async::Task<base::Result<Lease>> LeaderElection::write(Lease lease) {
  const bool is_new = lease.metadata.resource_version.empty();
  auto call =
      is_new ? create<Lease>(client_, std::move(lease)) : update<Lease>(client_, std::move(lease));
  return async::with_time_limit<Lease>(timers_, options_.call_time_max, std::move(call));
}

async::Task<void> LeaderElection::run(Lead lead) {
  Ended ended = Ended::kLost;
  while (ended == Ended::kLost && !co_await async::is_cancelled()) {
    const bool acquired = co_await try_acquire();
    if (!acquired) {
      if (co_await async::is_cancelled()) co_return;
      co_await timers_.sleep_for(pause());
      continue;
    }
    observe::log_info("leading", {{"lease", options_.lease.text()}, {"term", term_}});
    ended = co_await hold(lead);
    observe::log_info("no longer leading", {{"lease", options_.lease.text()}, {"term", term_}});
    if (ended != Ended::kLost) co_await async::run_shielded(release());
    held_.reset();
  }
}

async::Task<LeaderElection::Ended> LeaderElection::hold(Lead lead) {
  // Led is a value for a task that gives none.
  struct Led {};
  struct Runner {
    static async::Task<Led> run(Lead task) {
      co_await task();
      co_return Led{};
    }
  };
  const auto led =
      co_await async::run_until_alarm<Led>(Runner::run(std::move(lead)), keep_renewing());
  if (co_await async::is_cancelled()) co_return Ended::kCancelled;
  co_return led ? Ended::kByItself : Ended::kLost;
}

// Ends when the term does.
async::Task<async::Wake> LeaderElection::keep_renewing() {
  for (;;) {
    const std::chrono::nanoseconds left = lead_until_ - timers_.clock().monotonic();
    const auto wake = co_await timers_.sleep_for(std::min(pause(), left));
    if (wake == async::Wake::kCancelled) co_return wake;
    if (!may_write()) co_return async::Wake::kTimeout;
    if (!co_await renew()) co_return async::Wake::kTimeout;
    if (co_await async::is_cancelled()) co_return async::Wake::kCancelled;
    if (!may_write()) co_return async::Wake::kTimeout;
  }
}

// False if the lease is known to be another's; a failed call leaves the term as it is.
async::Task<bool> LeaderElection::renew() {
  const base::MonotonicTime asked_at = timers_.clock().monotonic();
  const std::chrono::nanoseconds left = lead_until_ - asked_at;
  auto renewed = co_await async::with_time_limit<Lease>(timers_, left, write(claimed(held_)));
  if (renewed) {
    won(*renewed, asked_at);
    co_return true;
  }
  if (renewed.error().code != base::ErrorCode::kConflict) co_return true;
  // Perhaps the write that succeeded was our own, whose answer was lost.
  auto current = co_await async::with_time_limit<Lease>(timers_, left, read());
  if (!current) co_return current.error().code != base::ErrorCode::kNotFound;
  if (current->spec.holder_identity != options_.identity) co_return false;
  held_ = *std::move(current);
  co_return true;
}

async::Task<bool> LeaderElection::try_acquire() {
  auto current = co_await read();
  std::optional<Lease> previous;
  if (current) {
    if (!is_free(*current)) co_return false;
    previous = *std::move(current);
  } else if (current.error().code != base::ErrorCode::kNotFound) {
    observe::log_warning("lease cannot be read", {{"error", current.error().message}});
    co_return false;
  }
  const base::MonotonicTime asked_at = timers_.clock().monotonic();
  auto taken = co_await write(claimed(std::move(previous)));
  if (!taken) co_return false;
  won(*taken, asked_at);
  co_return may_write();
}

// A lease of our own identity is one whose answer we never saw, or which could not be given back.
bool LeaderElection::is_free(const Lease& lease) {
  const std::string holder = lease.spec.holder_identity.value_or("");
  if (holder.empty() || holder == options_.identity) return true;
  const base::MonotonicTime now = timers_.clock().monotonic();
  if (lease.metadata.resource_version != seen_version_) {
    seen_version_ = lease.metadata.resource_version;
    seen_at_ = now;
  }
  return now - seen_at_ >= lease_time_of(lease, options_.lease_time);
}

Lease LeaderElection::claimed(std::optional<Lease> previous) const {
  Lease lease = previous ? *std::move(previous) : Lease();
  const std::string now = base::format_rfc3339_micros(timers_.clock().now());
  lease.metadata.name = options_.lease.name;
  lease.metadata.ns = options_.lease.ns;
  if (lease.spec.holder_identity != options_.identity) {
    lease.spec.lease_transitions = lease.spec.lease_transitions.value_or(0) + 1;
    lease.spec.acquire_time = now;
  }
  lease.spec.holder_identity = options_.identity;
  lease.spec.lease_duration_seconds = options_.lease_time.count();
  lease.spec.renew_time = now;
  return lease;
}

void LeaderElection::won(const Lease& lease, base::MonotonicTime asked_at) {
  held_ = lease;
  lead_until_ = asked_at + options_.renew_time_max;
  term_ = lease.spec.lease_transitions.value_or(0);
}

// Best effort, also when the task is cancelled: the next replica need not wait for the lease's end.
async::Task<void> LeaderElection::release() {
  Lease lease = *held_;
  lease.spec.holder_identity = "";
  auto released = co_await write(std::move(lease));
  if (!released) {
    observe::log_warning("lease is not given back", {{"error", released.error().message}});
  }
}

}  // namespace agenttier::kube
