#pragma once
// The containers of one pod on this machine: made, started, watched, removed. Knows no API writes:
// it keeps PodState right and tells of changes; the worker reports them.
//
// Guarantees: state.json names a container before anyone is told that it runs; an end is recorded
// with its exit code, whether the kernel killed it for memory, and its times; a container's log is
// read to its end. When the worker's task is cancelled the containers keep running, to be adopted
// later.
//
// One loop. close() before destroying.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/pod.h"
#include "async/event.h"
#include "async/task_group.h"
#include "node/container_log.h"
#include "node/container_process.h"
#include "node/node_parts.h"
#include "node/pod_plan.h"
#include "node/pod_state.h"

namespace agenttier::node {

// What the pod's containers share.
struct PodMaterial {
  PodSources sources;
  std::map<std::string, Image> images;         // by container name
  std::map<std::string, std::string> volumes;  // path by volume name
};

class PodContainers {
 public:
  // `changed` is called when a container ended.
  PodContainers(const NodeParts& parts, std::shared_ptr<const api::Pod> pod, PodState state,
                std::function<void()> changed);
  ~PodContainers();

  PodState& state() { return state_; }
  const PodState& state() const { return state_; }
  async::Task<base::Status> save();

  // Watches the containers that state says run; those that do not any more have ended, unknown how.
  void adopt();
  // kNotFound code and reason are those of the failing step; the caller knows the container.
  async::Task<base::Status> start(const api::Container& container, ContainerRole role,
                                  const PodMaterial& material);
  // The root for a start to come, made ahead while other things are waited for.
  async::Task<base::Status> prepare_root(std::string container, std::string image_rootfs);

  ContainerState* find(const std::string& name);
  bool any_running() const;
  async::Task<void> signal_all(int signal);
  // The log of a container that runs; null otherwise.
  std::shared_ptr<ContainerLog> log(const std::string& container) const;

  async::Task<void> close();

 private:
  struct Running {
    std::shared_ptr<ContainerProcess> process;
    std::shared_ptr<ContainerLog> log;
    std::string id;
  };

  OciRuntime& runtime();
  async::Task<base::Result<UserIds>> image_user(Image image);
  async::Task<base::Result<std::string>> write_bundle(const api::Container& container,
                                                      const PodMaterial& material,
                                                      std::size_t inner_groups);
  async::Task<base::Result<ContainerProcess>> launch(RunContainer run);
  bool has_reserve(const api::Container& container);
  async::Task<base::Result<std::vector<os::Fd>>> make_inner_group(const api::Container& container);
  async::Task<void> limit_inner_group(const api::Container& container);
  void watch(const std::string& name, std::shared_ptr<ContainerProcess> process);
  async::Task<void> follow(std::string name, std::shared_ptr<ContainerProcess> process);
  async::Task<void> record_end(std::string name, std::optional<os::ExitStatus> status);
  ContainerState& record_of(const api::Container& container, ContainerRole role);
  std::string now() const;

  const NodeParts& parts_;
  std::shared_ptr<const api::Pod> pod_;
  PodState state_;
  std::function<void()> changed_;
  std::map<std::string, Running> running_;
  std::map<std::string, std::string> roots_;  // bundle by container, made and not started yet
  async::TaskGroup tasks_;
};

}  // namespace agenttier::node
