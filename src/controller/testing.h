#pragma once
// A control plane for tests: the embedded store, the sandbox controller, a kubelet that is not one,
// fake time, and a transport that fails on demand.
//
// Example:
//   TestPlane plane;
//   plane.create("demo");
//   plane.settle();
//   EXPECT_EQ(plane.phase("demo"), "Running");
//   plane.kubelet().end_pod("demo-pod", "OOMKilled", 137);

#include <boost/json/object.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/sandbox.h"
#include "controller/sandbox_reconciler.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/testing.h"
#include "kube/testing_store.h"
#include "kube/typed.h"

namespace agenttier::controller {

// Runs pods by writing their status. By default every pod runs at once and ends at once when it is
// deleted.
class FakeKubelet {
 public:
  FakeKubelet(kube::Client& client, kube::TestLoop& loop);

  async::Task<void> run() { return pods_.run(); }

  // Pods stay as they are until told otherwise.
  void hold_starts() { starts_ = false; }
  void release_starts();
  void hold_ends() { ends_ = false; }
  void release_ends();

  // The main container's end, as the kubelet reports it.
  void end_pod(const std::string& name, const std::string& reason, int exit_code);
  // What makes the pod wait, as the kubelet reports it.
  void stall_pod(const std::string& name, const std::string& reason, const std::string& message);
  // The pod object goes, as after a node was lost.
  void drop_pod(const std::string& name);

  std::vector<std::shared_ptr<const api::Pod>> pods() const { return pods_.list(); }

  // What every moment must fulfil; each breach is kept as a sentence.
  const std::vector<std::string>& breaches() const { return breaches_; }
  void check_policies_of(const kube::Informer<api::NetworkPolicy>& policies) {
    policies_ = &policies;
  }

 private:
  using PodPointer = std::shared_ptr<const api::Pod>;

  void on_change(const PodPointer& old, const PodPointer& now);
  void check(const PodPointer& now);
  void start(const api::Pod& pod);
  void finish(const api::Pod& pod);
  async::Task<void> write_status(std::string name, boost::json::object status);
  async::Task<void> remove(std::string name, std::string uid);

  kube::Client& client_;
  kube::TestLoop& loop_;
  kube::Informer<api::Pod> pods_;
  const kube::Informer<api::NetworkPolicy>* policies_ = nullptr;
  bool starts_ = true;
  bool ends_ = true;
  int addresses_ = 0;
  std::vector<std::string> breaches_;
};

// Answers for every pod unless told otherwise.
class FakeProbe final : public RuntimeProbe {
 public:
  async::Task<base::Status> check_health(std::string pod_ip) override;
  async::Task<base::Result<RuntimeActivity>> read_activity(std::string pod_ip,
                                                           std::string token) override;

  bool healthy = true;
  RuntimeActivity activity;
  bool answers = true;
  int health_checks = 0;
  std::string token_seen;
};

class TestPlane {
 public:
  explicit TestPlane(SandboxReconcilerOptions options = standard_options());
  ~TestPlane();

  static SandboxReconcilerOptions standard_options();

  void create(const std::string& name, boost::json::object spec = {});
  void patch(const std::string& name, boost::json::object patch);
  void stop(const std::string& name) { patch(name, {{"spec", {{"desiredState", "Stopped"}}}}); }
  void resume(const std::string& name);
  void remove(const std::string& name);

  // Lets everything happen that needs no time, and at most `limit` of fake time for retries.
  void settle(std::chrono::milliseconds limit = std::chrono::milliseconds(2000)) { advance(limit); }
  // Lets fake time pass, from one sleeper to the next.
  void advance(std::chrono::nanoseconds time);

  // The controller ends where it is; another begins.
  void restart_controller();
  void stop_controller();
  void start_controller();

  std::optional<api::Sandbox> find(const std::string& name);
  std::string phase(const std::string& name);
  template <class T>
  std::vector<T> all() {
    auto list = fixture_.loop.run(kube::list_all<T>(direct_));
    AT_ASSERT(list.has_value());
    return std::move(list->items);
  }
  template <class T>
  std::optional<T> object(const std::string& name) {
    auto found = fixture_.loop.run(kube::get<T>(direct_, {"default", name}));
    if (!found) return std::nullopt;
    return *std::move(found);
  }
  std::set<std::string> events();  // reasons

  // Writes of the controller so far, as "METHOD path".
  std::vector<std::string> writes() const;

  FakeKubelet& kubelet() { return kubelet_; }
  FakeProbe& probe() { return probe_; }
  kube::FaultyClient& faults() { return *fixture_.faulty; }
  kube::TestLoop& loop() { return fixture_.loop; }
  kube::Client& direct() { return direct_; }

 private:
  struct Controller;

  kube::StoreFixture fixture_;
  kube::Client direct_;  // past the faults
  const SandboxReconcilerOptions options_;
  FakeProbe probe_;
  kube::Informer<api::NetworkPolicy> policies_;
  FakeKubelet kubelet_;
  std::unique_ptr<Controller> controller_;
};

}  // namespace agenttier::controller
