#pragma once
// A node agent on this machine for tests: real store, real runc, real mounts and control groups, a
// network of loopback-only namespaces, and one tiny image ("agenttier/busybox") made once.
//
// Example:
//   if (const std::string why = TestNode::why_not(); !why.empty()) GTEST_SKIP() << why;
//   TestNode node;
//   node.start();
//   node.create(pod("demo", {"sh", "-c", "exit 3"}));
//   EXPECT_EQ(node.wait_end("demo").exit_code, 3);

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/pod.h"
#include "async/blocking_pool.h"
#include "async/task_group.h"
#include "async/timers.h"
#include "http/in_process.h"
#include "kube/client.h"
#include "kube/typed.h"
#include "node/node_agent.h"
#include "os/testing.h"
#include "store/store.h"

namespace agenttier::node {

// A pod with one container named "main"; more can be added.
api::Pod make_pod(const std::string& name, std::vector<std::string> command);
api::PersistentVolumeClaim make_claim(const std::string& name, const std::string& size = "1Gi");
// Mounts the claim at /data.
void use_claim(api::Pod& pod, const std::string& claim);

// What the machine holds for all agents of tests; equal before and after a test that leaks nothing.
struct MachineCounts {
  std::size_t mounts = 0;
  std::size_t cgroups = 0;
  std::size_t processes = 0;  // of containers
  bool operator==(const MachineCounts&) const = default;
};

class TestNode {
 public:
  static std::string why_not();         // empty, or why node tests cannot run here
  static std::string busybox_layout();  // OCI layout, tag "latest"

  TestNode();
  ~TestNode();

  // What starts containers from the next start() on; none: what the agent prefers.
  void use_runtime(std::optional<RuntimeKind> kind) { native_runtime_ = kind; }
  void start();  // store and agent
  // Ends the agent and the store politely; containers keep running.
  void stop();

  kube::Client& client() { return *client_; }
  NodeAgent& agent() { return *agent_; }
  const NodePaths& paths() const { return paths_; }
  const std::string& state() const { return paths_.state(); }

  template <class T>
  T create(T object) {
    return *run(kube::create<T>(*client_, std::move(object)));
  }
  std::optional<api::Pod> get(const std::string& name);
  void remove(const std::string& name, std::optional<std::int64_t> grace = std::nullopt);

  // Wait for what the pod's status says; fail the test (and give what there is) after `limit`.
  api::Pod wait_pod(const std::string& name, std::function<bool(const api::Pod&)> holds,
                    std::chrono::seconds limit = std::chrono::seconds(60));
  api::Pod wait_phase(const std::string& name, const std::string& phase);
  api::ContainerStateTerminated wait_end(const std::string& name);
  void wait_gone(const std::string& name);
  bool wait_until(std::function<bool()> holds,
                  std::chrono::seconds limit = std::chrono::seconds(60));

  std::string read_log(const std::string& pod, const std::string& container = "main");
  MachineCounts counts() const;
  pid_t pid_of(const std::string& pod, const std::string& container = "main");

  template <class T>
  T run(async::Task<T> task) {
    std::optional<T> result;
    AT_ASSERT(tasks_->spawn(keep<T>(std::move(task), &result)).has_value());
    AT_ASSERT(wait_until([&result] { return result.has_value(); }, std::chrono::seconds(120)));
    return *std::move(result);
  }
  void run(async::Task<void> task);
  void spawn(async::Task<void> task) { AT_ASSERT(tasks_->spawn(std::move(task)).has_value()); }

 private:
  template <class T>
  static async::Task<void> keep(async::Task<T> task, std::optional<T>* result) {
    result->emplace(co_await std::move(task));
  }
  static async::Task<void> note(async::Task<void> task, bool* done) {
    co_await std::move(task);
    *done = true;
  }

  os::TestFolder folder_;
  NodePaths paths_;
  std::optional<RuntimeKind> native_runtime_;
  boost::asio::io_context loop_{1};
  async::RealTimers timers_;
  base::SystemRandom random_;
  std::unique_ptr<async::BlockingPool> blocking_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<http::InProcessClient> transport_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<NodeAgent> agent_;
  std::unique_ptr<async::TaskGroup> tasks_;
};

}  // namespace agenttier::node
