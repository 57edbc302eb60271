// Random lives of many sandboxes from a seed: users, a failing network, dying pods, a dying
// controller. Whatever happens, at the end every sandbox is where its specification says.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "api/meta.h"
#include "api/names.h"
#include "controller/testing.h"

namespace agenttier::controller {
namespace {

using namespace std::chrono_literals;

constexpr int kSandboxes = 6;
constexpr int kSteps = 120;

class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {}

  void run() {
    for (int step = 0; step < kSteps; ++step) {
      act();
      plane_.settle(std::chrono::milliseconds(roll(300)));
      check_volumes();
      if (testing::Test::HasFailure()) return;
    }
    come_to_rest();
    check_end();
  }

 private:
  unsigned roll(unsigned below) { return static_cast<unsigned>(random_() % below); }

  void act() {
    const std::string name = "s" + std::to_string(roll(kSandboxes));
    const bool exists = wanted_.contains(name);
    switch (roll(12)) {
      case 0:
      case 1:
      case 2:
        if (!exists && plane_.phase(name) == "gone") create(name);
        break;
      case 3:
      case 4:
        if (exists) want(name, "Stopped");
        break;
      case 5:
      case 6:
        if (exists) want(name, "Running");
        break;
      case 7:
        if (exists) remove(name);
        break;
      case 8:
        if (plane_.object<api::Pod>(name + "-pod")) plane_.kubelet().drop_pod(name + "-pod");
        break;
      case 9:
        if (plane_.object<api::Pod>(name + "-pod")) {
          plane_.kubelet().end_pod(name + "-pod", "OOMKilled", 137);
        }
        break;
      case 10:
        plane_.restart_controller();
        break;
      case 11:
        plane_.faults().fail_request(1 + roll(10), roll(2) == 0 ? kube::FaultyClient::When::kBefore
                                                                : kube::FaultyClient::When::kAfter);
        break;
    }
  }

  void create(const std::string& name) {
    plane_.create(name);
    wanted_[name] = "Running";
  }
  void want(const std::string& name, const std::string& state) {
    state == "Running" ? plane_.resume(name) : plane_.stop(name);
    wanted_[name] = state;
  }
  void remove(const std::string& name) {
    plane_.remove(name);
    wanted_.erase(name);
    volumes_.erase(name);
  }

  // A volume once there stays the same until its sandbox is deleted.
  void check_volumes() {
    for (const auto& [name, state] : wanted_) {
      const auto sandbox = plane_.find(name);
      ASSERT_TRUE(sandbox) << name;
      if (!sandbox->status || sandbox->status->pvc_uid.empty()) continue;
      auto [known, fresh] = volumes_.emplace(name, sandbox->status->pvc_uid);
      ASSERT_EQ(known->second, sandbox->status->pvc_uid) << name;
      const auto volume = plane_.object<api::PersistentVolumeClaim>(name + "-workspace");
      ASSERT_TRUE(volume) << name;
      ASSERT_EQ(volume->metadata.uid, known->second) << name;
    }
    ASSERT_TRUE(plane_.kubelet().breaches().empty()) << plane_.kubelet().breaches()[0];
  }

  // Longer than any restart delay; whoever used up its restarts is started once more.
  void come_to_rest() {
    plane_.advance(400s);
    for (const auto& [name, state] : wanted_) {
      if (state == "Running" && plane_.phase(name) == "Error") plane_.resume(name);
    }
    plane_.advance(30s);
  }

  void check_end() {
    for (const auto& [name, state] : wanted_) {
      EXPECT_EQ(plane_.phase(name), state) << name << ": " << plane_.find(name)->status->message;
      EXPECT_EQ(plane_.object<api::Pod>(name + "-pod").has_value(), state == "Running") << name;
    }
    EXPECT_EQ(plane_.all<api::Sandbox>().size(), wanted_.size());
    EXPECT_LE(plane_.all<api::PersistentVolumeClaim>().size(), wanted_.size());
    EXPECT_LE(plane_.all<api::Secret>().size(), wanted_.size());
  }

  TestPlane plane_;
  std::mt19937 random_;
  std::map<std::string, std::string> wanted_;   // what each sandbox should be at the end
  std::map<std::string, std::string> volumes_;  // UID by sandbox
};

TEST(Simulation, EverySandboxEndsWhereItsSpecificationSays) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace agenttier::controller
