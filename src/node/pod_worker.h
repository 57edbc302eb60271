#pragma once
// Takes one pod of the API through its life on this machine, as the kubelet does: pull, volumes,
// network, init containers in order, containers, running, ended, gone.
//
// Guarantees: the first status a waiting client needs (Running with the address) is one write, made
// the moment the containers run; failures show the kubelet's reasons and are tried again with
// growing delays; deletion is polite first (SIGTERM), final after the grace period, and the object
// goes last. When the task is cancelled the pod's containers keep running; the next agent adopts
// them.
//
// Example:
//   auto worker = std::make_shared<PodWorker>(parts, pod, std::nullopt);
//   group.spawn(worker->run());
//   worker->update(newer);      // null: the object is gone

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "async/event.h"
#include "kube/backoff.h"
#include "node/pod_containers.h"
#include "node/pod_status.h"

namespace agenttier::node {

class PodWorker {
 public:
  using PodPointer = std::shared_ptr<const api::Pod>;

  // `adopted`: what an earlier agent left of it, still to be watched.
  PodWorker(const NodeParts& parts, PodPointer pod, std::optional<PodState> adopted);

  // Until the pod is gone from this machine and from the API, or the task is cancelled.
  async::Task<void> run();
  void update(PodPointer pod);
  // Ends the pod as failed: "Evicted".
  void fail(std::string reason, std::string message);

  const std::string& uid() const { return uid_; }
  const api::Pod& pod() const { return *pod_; }
  std::set<std::string> image_digests() const;
  std::shared_ptr<ContainerLog> log(const std::string& container) const;
  // Set up so far that the network knows its address.
  const PodState& state() const { return containers_.state(); }
  bool ended() const { return containers_.state().released; }

 private:
  async::Task<void> bind();
  async::Task<void> bring_up();
  async::Task<base::Status> start_pod();
  async::Task<base::Status> prepare();
  async::Task<base::Result<PodNetwork>> set_up_network();
  async::Task<base::Status> pull_images();
  async::Task<base::Status> get_claims(std::map<std::string, std::string>* paths);
  async::Task<base::Status> run_init_containers();
  async::Task<base::Status> start_main_containers();
  async::Task<base::Status> start_one(const api::Container& container, ContainerRole role);

  async::Task<void> supervise();
  async::Task<void> restart_due();
  async::Task<void> give_up_pod();
  async::Task<void> release();
  async::Task<void> end_pod();
  async::Task<void> stop_containers();

  async::Task<void> report();
  async::Task<async::Wake> until_ending();
  async::Task<async::Wake> wait_change(std::chrono::nanoseconds limit);
  bool ending() const;
  std::chrono::nanoseconds until_next_step() const;
  void note_change();
  void set_waiting(const std::string& container, std::string reason, const base::Error& error);
  NetworkedPod networked() const;

  const NodeParts& parts_;
  PodPointer pod_;  // newest object; kept when it is gone
  const std::string uid_;
  bool gone_ = false;
  PodMaterial material_;
  bool material_ready_ = false;
  struct SetUpTimes {
    base::MonotonicTime begin;
    std::chrono::nanoseconds prepared{0};   // images, claims, volumes and the root, since the begin
    std::chrono::nanoseconds networked{0};  // beside it
  };
  SetUpTimes times_;
  std::map<std::string, WaitingReason> waiting_;
  struct RestartPlan {
    base::MonotonicTime due;
    std::chrono::nanoseconds delay{0};
  };
  std::map<std::string, RestartPlan> restarts_;
  std::string failure_reason_;
  std::string failure_message_;
  std::optional<api::PodStatus> reported_;
  bool report_failed_ = false;
  std::uint64_t changes_ = 0;  // counted so that none is missed between a look and a wait
  std::uint64_t seen_ = 0;
  bool adopted_;
  async::Event changed_;
  PodContainers containers_;
};

}  // namespace agenttier::node
