#pragma once
// The node agent: runs the pods of an API on this machine, as a kubelet does.
//
// start() takes over the machine: it adopts what runs and is still wanted, and removes every
// container, mount, control group, network namespace and folder of ours that no pod owns. run()
// then follows the API. When it is cancelled the sandboxes keep running, for the next agent to
// adopt.
//
// One agent per state folder (kExists otherwise). One loop; the references outlive the agent.
//
// Example:
//   NodeAgent agent(executor, timers, random, blocking, client, *network, {.state_folder = dir});
//   AT_CO_OK(co_await agent.start());
//   group.spawn(agent.run());
//   ...
//   co_await agent.close();

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/cluster.h"
#include "api/network_policy.h"
#include "async/blocking_pool.h"
#include "async/task_group.h"
#include "kube/informer.h"
#include "node/claims.h"
#include "node/log_reader.h"
#include "node/node_parts.h"
#include "node/pod_worker.h"

namespace agenttier::node {

struct NodeOptions {
  std::string state_folder = kDefaultStateFolder;
  std::string name;            // of the Node object; empty: the machine's host name
  std::string ip;              // of this machine as pods' hostIP; may be empty
  std::string runtime_binary;  // the static sandbox runtime
  // What starts containers that ask for no runtime class; none: crun if installed, else runc.
  std::optional<RuntimeKind> native_runtime;
  ImageStoreOptions images;
};

class NodeAgent {
 public:
  NodeAgent(async::Executor executor, async::Timers& timers, base::Random& random,
            async::BlockingPool& blocking, kube::Client& client, Network& network, NodePaths paths,
            os::Cgroups cgroups, NodeOptions options);
  ~NodeAgent();

  async::Task<base::Status> start();
  async::Task<void> run();
  async::Task<void> close();

  ImageStore& images() { return images_; }
  const NodePaths& paths() const { return paths_; }
  std::size_t pods() const { return workers_.size(); }

  // kNotFound if this node does not run the pod or it has no such container (empty: its first).
  base::Result<std::unique_ptr<http::BodyReader>> read_log(const kube::ObjectKey& pod,
                                                           std::string container, LogQuery query);

 private:
  using PodPointer = PodWorker::PodPointer;

  base::Status take_lock();
  async::Task<base::Status> recover_pods();
  async::Task<base::Status> remove_unowned(const std::set<std::string>& known);
  void on_pod(const PodPointer& old, const PodPointer& now);
  void start_worker(const PodPointer& pod, std::optional<PodState> adopted);
  async::Task<void> run_worker(std::shared_ptr<PodWorker> worker);
  bool is_ours(const api::Pod& pod) const;

  async::Task<void> keep_rules();
  async::Task<void> keep_house();
  async::Task<void> keep_node();
  NetworkRules current_rules() const;
  std::set<std::string> digests_in_use() const;
  void rules_changed();

  const NodePaths paths_;
  const os::Cgroups cgroups_;
  const NodeOptions options_;
  const NodeIdentity identity_;
  async::Executor executor_;
  async::Timers& timers_;
  async::BlockingPool& blocking_;
  kube::Client& client_;
  Network& network_;
  async::BlockingPool bulk_;
  std::unique_ptr<os::CommandRunner> runner_;
  ImageStore images_;
  VolumeStore volumes_;
  Claims claims_;
  OciRuntimes runtimes_;
  NodeParts parts_;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::NetworkPolicy> policies_;
  kube::Informer<api::Namespace> namespaces_;
  os::Fd lock_;
  os::OrphanReaper reaper_;
  std::map<std::string, std::shared_ptr<PodWorker>> workers_;  // by pod uid
  bool recovered_ = false;
  std::uint64_t rules_wanted_ = 0;  // counted, so that no change is missed
  async::Event rules_event_;
  async::TaskGroup watches_;  // informers
  async::TaskGroup tasks_;    // workers
};

}  // namespace agenttier::node
