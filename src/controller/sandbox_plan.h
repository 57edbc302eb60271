#pragma once
// What to do about a sandbox: a pure function from what is observed to a list of actions.
//
// plan_sandbox looks at the Sandbox, the objects that belong to it, the time, and what the runtime
// last said; it gives actions in stages. The actions of a stage are sent together; a stage starts
// when the one before succeeded. Nothing is remembered between two calls but what the objects say
// (and the answers of the runtime, which can be asked again), so a controller may die between any
// two actions and its successor goes on: each action is idempotent, and each plan is made from the
// world as it is.
//
// Ownership is by UID: an object that carries the sandbox's labels or name but not its UID does not
// belong to it and is never touched; its creation then waits for that object to go.
//
// How a stop survives everything: what is wanted is spec.desiredState. A stop annotation becomes
// desiredState: Stopped in the same write that removes it. A stop of the controller's own (idle,
// time limit, completed) is first noted in status.reason, then written to desiredState. A pod is
// deleted only after one of both says so, so a vanished pod is never mistaken for a stop, nor a
// stop for a failure. A resume during a stop waits for the old pod to be gone. A terminal Error
// keeps desiredState; it is left by annotation "resume", by a changed specification, or by a
// template that appears.
//
// Example:
//   const Plan plan = plan_sandbox(observed, options, clock.now());
//   for (const Stage& stage : plan.stages) AT_CO_OK(co_await apply(stage));

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/network_policy.h"
#include "api/pod.h"
#include "api/sandbox.h"
#include "api/secret.h"
#include "api/volume_claim.h"
#include "base/clock.h"
#include "base/result.h"
#include "controller/network_policy_builder.h"
#include "controller/pod_builder.h"
#include "policy/effective_spec.h"

namespace agenttier::controller {

// What the sandbox's specification means now, or why it means nothing.
struct Resolution {
  base::Result<policy::EffectiveSpec> spec = base::internal("not resolved");
  std::string template_name;     // of the template that the sandbox names
  std::string template_version;  // its resourceVersion
};

// One answer of the runtime about work going on.
struct ActivityReading {
  base::WallTime taken_at;
  base::WallTime last_input;  // epoch if there was none
  std::int64_t open_processes = 0;
  std::chrono::milliseconds cpu{0};  // of all processes since the pod's start
};

struct ActivityView {
  std::string pod_uid;  // whose readings these are
  std::optional<ActivityReading> previous;
  std::optional<ActivityReading> latest;
  std::optional<base::WallTime> failing_since;  // the runtime has not answered since
  std::optional<base::WallTime> asked_at;       // last attempt
};

// The sandbox's objects that a plan creates, replaces or deletes.
enum class Part : std::uint8_t { kPod, kVolume, kPolicy, kToken, kFiles };

struct ApplyFailure {
  Part part = Part::kPod;
  base::Error error;
};

struct Observed {
  std::shared_ptr<const api::Sandbox> sandbox;
  // With the sandbox's label; also those of an older sandbox of the same name.
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::shared_ptr<const api::PersistentVolumeClaim> volume;  // of the name that counts, or null
  std::shared_ptr<const api::NetworkPolicy> policy;
  std::shared_ptr<const api::Secret> token;
  std::shared_ptr<const api::Secret> files;
  Resolution resolution;
  ServiceSelectors services;
  std::string answering_pod_uid;  // the pod whose runtime answered a health check
  ActivityView activity;
  std::string new_token;                     // for a token Secret that is to be made
  double jitter = 0;                         // [0, 1)
  std::optional<ApplyFailure> last_failure;  // why the last plan could not be carried out
};

struct PlanOptions {
  PodOptions pod;
  NetworkOptions network;
  std::chrono::seconds create_time_max{600};
  int restarts_max = 5;
  std::chrono::seconds backoff_first{10};
  std::chrono::seconds backoff_max{160};
  double backoff_spread = 0.1;              // of the delay, added at random
  std::chrono::seconds stable_time{300};    // running so long fills the budget again
  std::chrono::seconds cpu_window{5};       // between two readings that are compared
  double busy_cores = 0.01;                 // CPU use from which a sandbox counts as working
  std::chrono::seconds activity_retry{30};  // after the runtime did not answer
};

struct Create {
  Part part;
  boost::json::object object;
};
struct Replace {  // guarded by the resourceVersion in the object
  Part part;
  boost::json::object object;
};
struct Delete {  // guarded by the UID
  Part part;
  std::string name;
  std::string uid;
};
struct WriteStatus {
  api::SandboxStatus status;
};
struct PatchSandbox {  // a merge patch of metadata or spec
  boost::json::object patch;
};
struct AskHealth {
  std::string pod_uid;
  std::string pod_ip;
};
struct AskActivity {
  std::string pod_uid;
  std::string pod_ip;
  std::string token;
};
using Action =
    std::variant<Create, Replace, Delete, WriteStatus, PatchSandbox, AskHealth, AskActivity>;
using Stage = std::vector<Action>;

enum class EventType : std::uint8_t { kNormal, kWarning };
struct EventNote {
  EventType type = EventType::kNormal;
  std::string reason;
  std::string message;
  bool operator==(const EventNote&) const = default;
};

struct Plan {
  std::vector<Stage> stages;
  std::vector<EventNote> events;          // told once all stages succeeded
  std::optional<base::WallTime> wake_at;  // look again then, whatever happens
  bool idle() const { return stages.empty(); }
};

Plan plan_sandbox(const Observed& observed, const PlanOptions& options, base::WallTime now);

// The claim whose volume counts: the one in status, or the one a new sandbox gets.
std::string volume_name_of(const api::Sandbox& sandbox);

}  // namespace agenttier::controller
