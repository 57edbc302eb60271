#pragma once
// The volume claims of the API, made real on this machine.
//
// Guarantees: every claim gets a directory and becomes Bound; a claim that is deleted keeps its
// directory, and stays in the API by a finalizer, while a pod of this node uses it; two pods never
// overlap on a claim while the older one is ending. A claim with dataSource of kind
// PersistentVolumeClaim starts as a copy of that claim's files. A claim that was Bound and whose
// directory is gone becomes Lost, and is never quietly made empty.
//
// One loop. The references outlive it; run() is one task of the agent.
//
// Example:
//   AT_CO_TRY(ClaimedVolume volume, co_await claims.acquire({"default", "demo-workspace"},
//   pod_uid));
//   ... claims.release(pod_uid) when the pod's files are unmounted.

#include <map>
#include <set>
#include <string>

#include "api/volume_claim.h"
#include "async/blocking_pool.h"
#include "async/event.h"
#include "async/timers.h"
#include "kube/informer.h"
#include "kube/work_queue.h"
#include "node/volume_store.h"

namespace agenttier::node {

struct ClaimedVolume {
  std::string uid;
  std::string path;
};

class Claims {
 public:
  // `bulk` runs copies and removals that take long; it must not be the pool that starts containers.
  Claims(async::Executor executor, async::Timers& timers, base::Random& random,
         kube::Client& client, async::BlockingPool& bulk, VolumeStore& volumes);

  // Follows the API until its task is cancelled.
  async::Task<void> watch() { return informer_.run(); }
  async::Task<void> run();
  async::Task<base::Status> wait_until_synced() { return informer_.wait_until_synced(); }
  std::set<std::string> known_uids() const;

  // The claim's volume, held for the pod. Waits for the claim to appear, for a pod that is ending
  // to let go of it, and for its copy if it is a clone.
  async::Task<base::Result<ClaimedVolume>> acquire(kube::ObjectKey claim, std::string pod_uid);
  // A pod of an earlier run of the agent still has it mounted.
  void adopt(const kube::ObjectKey& claim, const std::string& pod_uid);
  // The pod is being ended: whoever else wants its claims waits for release().
  void mark_ending(const std::string& pod_uid);
  void release(const std::string& pod_uid);

 private:
  using ClaimPointer = kube::Informer<api::PersistentVolumeClaim>::Pointer;
  struct Holder {
    std::string claim_uid;
    bool ending = false;
  };

  async::Task<base::Result<kube::WorkQueue::Requeue>> reconcile(kube::ObjectKey key);
  async::Task<base::Status> provide(api::PersistentVolumeClaim claim);
  async::Task<base::Status> withdraw(api::PersistentVolumeClaim claim);
  async::Task<base::Result<VolumeInfo>> ensure(api::PersistentVolumeClaim claim);
  async::Task<base::Status> write_status(api::PersistentVolumeClaim claim, VolumeInfo volume);
  async::Task<base::Status> write_lost(api::PersistentVolumeClaim claim);
  async::Task<base::Status> set_finalizer(api::PersistentVolumeClaim claim);
  bool held(const std::string& claim_uid) const;
  bool held_by_ending(const std::string& claim_uid, const std::string& except_pod) const;

  async::Timers& timers_;
  kube::Client& client_;
  async::BlockingPool& bulk_;
  VolumeStore& volumes_;
  kube::Informer<api::PersistentVolumeClaim> informer_;
  kube::WorkQueue queue_;
  std::multimap<std::string, Holder> holders_;  // by pod uid
  std::set<std::string> ensuring_;              // claim uids that are being made
  async::Event changed_;
};

}  // namespace agenttier::node
