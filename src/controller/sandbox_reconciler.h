#pragma once
// The SandboxReconciler makes the world as each Sandbox says: observe, plan, apply.
//
// Informers deliver changes of Sandboxes, of the objects that belong to them (by label, so nobody
// else's pods and Secrets are kept in memory), and of templates; each change puts the sandbox's key
// into a queue; a worker observes it from the caches, plans (sandbox_plan.h) and applies
// (sandbox_applier.h). Before it plans, a worker waits until the caches show what it wrote last, so
// it never acts on what was before. Nothing is polled: a pod that gets an address is asked at once
// whether its runtime answers, at growing intervals of milliseconds until it does.
//
// What is kept in memory is only what can be found again: which runtime has answered, readings of
// activity, the token of a Secret being made. A restart begins with a full list and goes on.
//
// The references in Parts outlive the reconciler. Loop thread only.
//
// Example:
//   SandboxReconciler reconciler({client, timers, random, probe, events, executor}, options);
//   AT_CO_OK(group.spawn(reconciler.run()));

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "api/network_policy.h"
#include "api/pod.h"
#include "api/sandbox.h"
#include "api/secret.h"
#include "api/template.h"
#include "api/volume_claim.h"
#include "async/task_group.h"
#include "async/timers.h"
#include "base/random.h"
#include "controller/runtime_probe.h"
#include "controller/sandbox_applier.h"
#include "controller/sandbox_plan.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/work_queue.h"
#include "policy/decision.h"
#include "policy/effective_spec.h"
#include "policy/template_merge.h"

namespace agenttier::controller {

struct SandboxReconcilerOptions {
  std::string ns;  // whose sandboxes; empty: all namespaces
  PlanOptions plan;
  policy::SpecDefaults defaults;
  policy::SandboxRules rules;
  std::vector<std::string> shared_template_namespaces = {"agenttier"};
  std::size_t workers = 16;
  std::size_t sandboxes_max = 100'000;
  std::chrono::seconds cache_wait_max{5};  // for an own write to show up
  std::chrono::milliseconds health_delay_first{2};
  std::chrono::milliseconds health_delay_max{100};
  // Doubled with each conflict in a row.
  std::chrono::milliseconds conflict_delay_first{10};
  std::chrono::milliseconds conflict_delay_max{5000};
};

class SandboxReconciler {
 public:
  struct Parts {
    kube::Client& client;
    async::Timers& timers;
    base::Random& random;
    RuntimeProbe& probe;
    kube::EventRecorder& events;
    async::Executor executor;
  };

  SandboxReconciler(Parts parts, SandboxReconcilerOptions options);

  // Works until the task is cancelled, then ends all it started.
  async::Task<void> run();
  // Whether all caches are filled.
  bool synced() const;
  // Whether no sandbox waits for work or is being worked on.
  bool idle() const { return queue_.idle(); }

 private:
  using SandboxPointer = std::shared_ptr<const api::Sandbox>;

  // What is remembered of one sandbox, by UID.
  struct Memory {
    std::string uid;
    std::string new_token;
    std::string asked_pod_uid;  // whose runtime is being asked for health
    std::string answering_pod_uid;
    ActivityView activity;
    bool asking_activity = false;
    std::optional<ApplyFailure> failure;
    int conflicts = 0;                     // in a row
    std::string sandbox_version;           // of the last own write
    std::map<Part, std::string> versions;  // the same, by part
  };
  using MemoryPointer = std::shared_ptr<Memory>;

  void watch_changes();
  void enqueue(const api::ObjectMeta& meta);
  void enqueue_users_of_templates();
  base::Status start_informers();
  async::Task<base::Status> wait_until_synced();

  async::Task<base::Result<kube::WorkQueue::Requeue>> reconcile(kube::ObjectKey key);
  async::Task<base::Status> apply(MemoryPointer memory, std::shared_ptr<PlanRun> run, Plan plan);
  void tell(const api::Sandbox& sandbox, const EventNote& note);
  kube::WorkQueue::Requeue next_look(const Plan& plan) const;
  MemoryPointer memory_of(const kube::ObjectKey& key, const api::Sandbox& sandbox);
  async::Task<base::Status> wait_for_own_writes(MemoryPointer memory);
  Observed observe(SandboxPointer sandbox, Memory& memory);
  std::chrono::nanoseconds conflict_delay(Memory& memory) const;
  Resolution resolve(const api::Sandbox& sandbox) const;
  base::Result<policy::EffectiveSpec> resolve_spec(const api::Sandbox& sandbox,
                                                   Resolution& resolution) const;
  std::optional<policy::TemplateRecord> find_template(const policy::TemplateKey& key) const;
  async::Task<base::Result<ServiceSelectors>> read_services(Resolution resolution, std::string ns);

  void ask_health(const kube::ObjectKey& key, MemoryPointer memory, AskHealth question);
  async::Task<void> wait_for_health(kube::ObjectKey key, MemoryPointer memory, AskHealth question);
  void ask_activity(const kube::ObjectKey& key, MemoryPointer memory, AskActivity question);
  async::Task<void> read_activity(kube::ObjectKey key, MemoryPointer memory, AskActivity question);

  Parts parts_;
  const SandboxReconcilerOptions options_;
  kube::Informer<api::Sandbox> sandboxes_;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::PersistentVolumeClaim> volumes_;
  kube::Informer<api::NetworkPolicy> policies_;
  kube::Informer<api::Secret> secrets_;
  kube::Informer<api::SandboxTemplate> templates_;
  kube::Informer<api::ClusterSandboxTemplate> cluster_templates_;
  kube::WorkQueue queue_;
  std::map<kube::ObjectKey, MemoryPointer> memories_;
  async::TaskGroup tasks_;
  SandboxApplier applier_;
};

}  // namespace agenttier::controller
