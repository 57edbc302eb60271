#pragma once
// LeaderElection runs a task in at most one replica at a time, by a Lease object.
//
// Guarantees: a replica leads only while its lease is its own. It takes a lease that nobody holds,
// or that it has seen unchanged for the holder's whole lease time by its own clock (clocks of
// different machines are never compared). Each write names the resourceVersion it replaces, so two
// replicas cannot both take it. The leader counts its time from before its last successful renewal
// was sent, and stops `lease_time - renew_time_max` before anyone else could take over: its task is
// cancelled and awaited. Each call has its own time limit: an API that hangs does not prolong a
// term. may_write() tells within the task whether the term still runs. At the end the lease is
// given back.
//
// Example (kube/lease_test.cc):
//   LeaderElection election(client, timers, random, {.lease = {"agenttier", "controller"},
//                                                    .identity = pod_name});
//   co_await election.run([&] { return controller.run(); });

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/cluster.h"
#include "async/timers.h"
#include "base/random.h"
#include "kube/client.h"

namespace agenttier::kube {

struct LeaderElectionOptions {
  ObjectKey lease;
  std::string identity;                        // unique per replica and start
  std::chrono::seconds lease_time{15};         // others wait so long after the last renewal
  std::chrono::seconds renew_time_max{10};     // the leader stops so long after its last renewal
  std::chrono::milliseconds retry_time{2000};  // between renewals, and between looks at another's
  std::chrono::milliseconds call_time_max{3000};
};

class LeaderElection {
 public:
  using Lead = std::function<async::Task<void>()>;

  LeaderElection(Client& client, async::Timers& timers, base::Random& random,
                 LeaderElectionOptions options);
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  // Until cancelled: waits for the lease and runs lead() while holding it. lead() is cancelled when
  // the term ends and may be called again for a later term. It should heed cancellation within
  // lease_time - renew_time_max. If it returns by itself the lease is given back and run() ends.
  async::Task<void> run(Lead lead);

  bool may_write() const;
  // Grows with each change of the holder; 0 before the first term.
  std::int64_t term() const { return term_; }

 private:
  enum class Ended : std::uint8_t { kByItself, kLost, kCancelled };

  async::Task<bool> try_acquire();
  async::Task<base::Result<api::Lease>> read();
  async::Task<base::Result<api::Lease>> write(api::Lease lease);
  async::Task<Ended> hold(Lead lead);
  async::Task<async::Wake> keep_renewing();
  async::Task<bool> renew();
  async::Task<void> release();
  bool is_free(const api::Lease& lease);
  api::Lease claimed(std::optional<api::Lease> previous) const;
  void won(const api::Lease& lease, base::MonotonicTime asked_at);
  std::chrono::nanoseconds pause();

  Client& client_;
  async::Timers& timers_;
  base::Random& random_;
  const LeaderElectionOptions options_;
  std::optional<api::Lease> held_;  // as last written; set while leading
  base::MonotonicTime lead_until_{};
  std::int64_t term_ = 0;
  std::string seen_version_;       // of another's lease
  base::MonotonicTime seen_at_{};  // when that version was first seen
};

}  // namespace agenttier::kube
