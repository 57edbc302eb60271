#pragma once
// A world for plan tests: the objects of one sandbox as values, and step(), which plans and lets
// every action happen at once. No API server, no loop: what a test sees is the plan's doing alone.
//
// Example:
//   PlanWorld world;
//   world.start();            // create, pod runs, runtime answers
//   world.pod_ends("OOMKilled", 137);
//   world.step();
//   EXPECT_EQ(world.phase(), "Error");

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "api/meta.h"
#include "api/names.h"
#include "base/time_format.h"
#include "controller/sandbox_objects.h"
#include "controller/sandbox_plan.h"

namespace agenttier::controller {

namespace names = api::names;

class PlanWorld {
 public:
  PlanWorld() {
    sandbox.metadata.name = "demo";
    sandbox.metadata.ns = "default";
    sandbox.metadata.uid = "uid-demo";
    sandbox.metadata.generation = 1;
    sandbox.metadata.resource_version = "1";
    sandbox.metadata.finalizers = {std::string(names::kSandboxFinalizer)};
    policy::SpecDefaults defaults;
    defaults.image = "debian:12";
    effective = policy::make_effective_spec({}, {}, defaults).value();
  }

  Observed observe() const {
    Observed observed;
    observed.sandbox = std::make_shared<api::Sandbox>(sandbox);
    for (const api::Pod& pod : pods) observed.pods.push_back(std::make_shared<api::Pod>(pod));
    if (volume) observed.volume = std::make_shared<api::PersistentVolumeClaim>(*volume);
    if (policy) observed.policy = std::make_shared<api::NetworkPolicy>(*policy);
    if (token) observed.token = std::make_shared<api::Secret>(*token);
    if (files) observed.files = std::make_shared<api::Secret>(*files);
    observed.resolution.template_name = "minimal";
    if (resolution_error) {
      observed.resolution.spec = *resolution_error;
    } else {
      observed.resolution.spec = effective;
    }
    observed.answering_pod_uid = answering;
    observed.activity = activity;
    observed.new_token = "fresh-token";
    observed.last_failure = last_failure;
    return observed;
  }

  Plan plan() const { return plan_sandbox(observe(), options, now); }

  Plan step() {
    Plan made = plan();
    for (const Stage& stage : made.stages) {
      for (const Action& action : stage) perform(action);
    }
    for (const EventNote& note : made.events) events.push_back(note.reason);
    return made;
  }

  // Steps until nothing is left to do.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      const Plan made = step();
      const bool asks = std::any_of(made.stages.begin(), made.stages.end(), [](const Stage& stage) {
        return std::any_of(stage.begin(), stage.end(), [](const Action& action) {
          return std::holds_alternative<AskHealth>(action) ||
                 std::holds_alternative<AskActivity>(action);
        });
      });
      if (made.idle() || asks) return;
    }
    ADD_FAILURE() << "never settles";
  }

  // From nothing to Running.
  void start() {
    settle();
    pod_runs();
    answering = pods.at(0).metadata.uid;
    settle();
    ASSERT_EQ(phase(), "Running");
    events.clear();
  }

  void pod_runs() {
    api::PodStatus& status = pods.at(0).status.emplace();
    status.phase = names::kubernetes::kPodRunning;
    status.pod_ip = "10.1.2.3";
    api::ContainerStatus& main = status.container_statuses.emplace_back();
    main.name = names::kSandboxContainer;
    main.state.emplace().running.emplace();
  }

  void pod_ends(const std::string& reason, int exit_code) {
    api::PodStatus& status = pods.at(0).status.emplace();
    status.phase =
        exit_code == 0 ? names::kubernetes::kPodSucceeded : names::kubernetes::kPodFailed;
    api::ContainerStatus& main = status.container_statuses.emplace_back();
    main.name = names::kSandboxContainer;
    api::ContainerStateTerminated& end = main.state.emplace().terminated.emplace();
    end.exit_code = exit_code;
    end.reason = reason;
  }

  void pod_waits(const std::string& reason, const std::string& message) {
    api::PodStatus& status = pods.at(0).status.emplace();
    status.phase = names::kubernetes::kPodPending;
    api::ContainerStatus& main = status.container_statuses.emplace_back();
    main.name = names::kSandboxContainer;
    api::ContainerStateWaiting& waiting = main.state.emplace().waiting.emplace();
    waiting.reason = reason;
    waiting.message = message;
  }

  // Deleted pods stay until then, as with a kubelet.
  void pods_end() {
    std::erase_if(pods, [](const api::Pod& pod) { return api::is_being_deleted(pod.metadata); });
  }

  void want(const std::string& state) {
    if (sandbox.spec.desired_state != state) ++sandbox.metadata.generation;
    sandbox.spec.desired_state = state;
  }
  void annotate(std::string_view action) {
    sandbox.metadata.annotations[std::string(names::kActionAnnotation)] = action;
  }
  // As the router resumes.
  void resume() {
    want("Running");
    annotate(names::kActionResume);
  }
  void delete_sandbox() { sandbox.metadata.deletion_timestamp = base::format_rfc3339(now); }

  std::string phase() const { return sandbox.status ? sandbox.status->phase : ""; }
  const api::SandboxStatus& status() const { return *sandbox.status; }
  std::string ready_reason() const {
    const auto* ready = api::find_condition(status().conditions, names::conditions::kReady);
    return ready == nullptr ? "none" : ready->reason;
  }
  bool told(std::string_view reason) const {
    return std::find(events.begin(), events.end(), reason) != events.end();
  }
  int pods_created() const { return pods_created_; }

  api::Sandbox sandbox;
  std::vector<api::Pod> pods;
  std::optional<api::PersistentVolumeClaim> volume;
  std::optional<api::NetworkPolicy> policy;
  std::optional<api::Secret> token;
  std::optional<api::Secret> files;
  policy::EffectiveSpec effective;
  std::optional<base::Error> resolution_error;
  std::optional<ApplyFailure> last_failure;
  std::string answering;
  ActivityView activity;
  PlanOptions options;
  base::WallTime now = base::parse_rfc3339("2030-01-01T00:00:00Z").value();
  std::vector<std::string> events;

 private:
  template <class T>
  T made(const boost::json::object& object) {
    T value = T::from_json(boost::json::value(object)).value();
    value.metadata.uid = "uid-" + std::to_string(++uids_);
    value.metadata.resource_version = std::to_string(uids_);
    return value;
  }

  void store(Part part, const boost::json::object& object) {
    switch (part) {
      case Part::kPod:
        pods.push_back(made<api::Pod>(object));
        ++pods_created_;
        break;
      case Part::kVolume:
        volume = made<api::PersistentVolumeClaim>(object);
        break;
      case Part::kPolicy:
        policy = made<api::NetworkPolicy>(object);
        break;
      case Part::kToken:
        token = made<api::Secret>(object);
        break;
      case Part::kFiles:
        files = made<api::Secret>(object);
        break;
    }
  }

  void erase(const Delete& action) {
    switch (action.part) {
      case Part::kPod:
        for (api::Pod& pod : pods) {
          if (pod.metadata.uid != action.uid) continue;
          pod.metadata.deletion_timestamp = base::format_rfc3339(now);
        }
        break;
      case Part::kVolume:
        volume.reset();
        break;
      case Part::kPolicy:
        policy.reset();
        break;
      case Part::kToken:
        token.reset();
        break;
      case Part::kFiles:
        files.reset();
        break;
    }
  }

  void patch(const boost::json::object& changes) {
    if (const auto* spec = changes.if_contains("spec")) {
      want(std::string(spec->at("desiredState").as_string()));
    }
    const auto* metadata = changes.if_contains("metadata");
    if (metadata == nullptr) return;
    if (metadata->as_object().contains("annotations")) {
      sandbox.metadata.annotations.erase(std::string(names::kActionAnnotation));
    }
    if (const auto* finalizers = metadata->as_object().if_contains("finalizers")) {
      sandbox.metadata.finalizers.clear();
      for (const auto& item : finalizers->as_array()) {
        sandbox.metadata.finalizers.emplace_back(item.as_string());
      }
    }
  }

  void perform(const Action& action) {
    if (const auto* create = std::get_if<Create>(&action)) store(create->part, create->object);
    if (const auto* replace = std::get_if<Replace>(&action)) store(replace->part, replace->object);
    if (const auto* remove = std::get_if<Delete>(&action)) erase(*remove);
    if (const auto* write = std::get_if<WriteStatus>(&action)) sandbox.status = write->status;
    if (const auto* change = std::get_if<PatchSandbox>(&action)) patch(change->patch);
  }

  int uids_ = 0;
  int pods_created_ = 0;
};

}  // namespace agenttier::controller
