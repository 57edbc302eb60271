#include "controller/testing.h"

#include <algorithm>
#include <utility>

#include "api/event.h"
#include "api/meta.h"
#include "api/names.h"
#include "observe/log.h"

namespace agenttier::controller {
namespace {

namespace json = boost::json;
namespace names = api::names;

constexpr std::chrono::nanoseconds kStepMin = std::chrono::milliseconds(1);

json::object main_status(json::object state) {
  return {{"name", std::string(names::kSandboxContainer)},
          {"ready", state.contains("running")},
          {"restartCount", 0},
          {"image", ""},
          {"imageID", ""},
          {"state", std::move(state)}};
}

}  // namespace

FakeKubelet::FakeKubelet(kube::Client& client, kube::TestLoop& loop)
    : client_(client), loop_(loop), pods_(client, loop.timers(), loop.random(), loop.executor()) {
  pods_.add_handler([this](const PodPointer& old, const PodPointer& now) { on_change(old, now); });
}

void FakeKubelet::on_change(const PodPointer& old, const PodPointer& now) {
  if (now == nullptr) return;
  if (old == nullptr) check(now);
  if (api::is_being_deleted(now->metadata)) {
    if (ends_) finish(*now);
    return;
  }
  const bool fresh = !now->status || now->status->pod_ip.empty();
  if (starts_ && fresh && old == nullptr) start(*now);
}

// A pod that begins: alone for its sandbox, alone on its volume, behind its policy.
void FakeKubelet::check(const PodPointer& now) {
  const std::string_view sandbox = api::label_of(now->metadata, names::kSandboxLabel);
  for (const PodPointer& other : pods_.list()) {
    if (other->metadata.uid == now->metadata.uid) continue;
    if (api::label_of(other->metadata, names::kSandboxLabel) == sandbox) {
      breaches_.push_back("two pods of " + std::string(sandbox));
    }
    if (other->spec.volumes == now->spec.volumes) {
      breaches_.push_back("a volume of two pods: " + now->metadata.name);
    }
  }
  if (policies_ == nullptr) return;
  const auto found = policies_->find(now->metadata.ns, names::network_policy_of(sandbox));
  if (!found) breaches_.push_back("a pod without policy: " + now->metadata.name);
}

void FakeKubelet::start(const api::Pod& pod) {
  const std::string ip = "10.0.0." + std::to_string(++addresses_ % 250 + 1);
  json::object status = {{"phase", "Running"},
                         {"podIP", ip},
                         {"containerStatuses", {main_status({{"running", json::object()}})}}};
  loop_.spawn(write_status(pod.metadata.name, std::move(status)));
}

void FakeKubelet::finish(const api::Pod& pod) {
  loop_.spawn(remove(pod.metadata.name, pod.metadata.uid));
}

void FakeKubelet::release_starts() {
  starts_ = true;
  for (const PodPointer& pod : pods_.list()) {
    if (!pod->status || pod->status->pod_ip.empty()) start(*pod);
  }
}

void FakeKubelet::release_ends() {
  ends_ = true;
  for (const PodPointer& pod : pods_.list()) {
    if (api::is_being_deleted(pod->metadata)) finish(*pod);
  }
}

void FakeKubelet::end_pod(const std::string& name, const std::string& reason, int exit_code) {
  json::object state = {{"terminated", {{"exitCode", exit_code}, {"reason", reason}}}};
  json::object status = {{"phase", exit_code == 0 ? "Succeeded" : "Failed"},
                         {"containerStatuses", {main_status(std::move(state))}}};
  loop_.run(write_status(name, std::move(status)));
}

void FakeKubelet::stall_pod(const std::string& name, const std::string& reason,
                            const std::string& message) {
  json::object state = {{"waiting", {{"reason", reason}, {"message", message}}}};
  json::object status = {{"phase", "Pending"},
                         {"containerStatuses", {main_status(std::move(state))}}};
  loop_.run(write_status(name, std::move(status)));
}

void FakeKubelet::drop_pod(const std::string& name) {
  loop_.run(remove(name, ""));
}

async::Task<void> FakeKubelet::write_status(std::string name, json::object status) {
  const kube::ObjectKey key{"default", std::move(name)};
  json::value patch = json::object{{"status", std::move(status)}};
  (void)co_await client_.patch(api::Pod::kType, key, kube::PatchType::kMerge, std::move(patch),
                               kube::Subresource::kStatus);
}

async::Task<void> FakeKubelet::remove(std::string name, std::string uid) {
  const kube::ObjectKey key{"default", std::move(name)};
  kube::DeleteOptions options;
  options.uid = std::move(uid);
  options.grace_period_seconds = 0;
  (void)co_await client_.remove(api::Pod::kType, key, std::move(options));
}

async::Task<base::Status> FakeProbe::check_health(std::string) {
  ++health_checks;
  if (healthy) co_return base::Status();
  co_return base::unavailable("connection refused");
}

async::Task<base::Result<RuntimeActivity>> FakeProbe::read_activity(std::string,
                                                                    std::string token) {
  token_seen = std::move(token);
  if (answers) co_return activity;
  co_return base::unavailable("connection refused");
}

// One life of the controller, from start to crash.
struct TestPlane::Controller {
  Controller(kube::StoreFixture& fixture, FakeProbe& probe, SandboxReconcilerOptions options)
      : loop(fixture.loop),
        events(*fixture.client, fixture.loop.timers(), fixture.loop.random(),
               fixture.loop.executor(), {.component = "agenttier-controller"}),
        reconciler({.client = *fixture.client,
                    .timers = fixture.loop.timers(),
                    .random = fixture.loop.random(),
                    .probe = probe,
                    .events = events,
                    .executor = fixture.loop.executor()},
                   std::move(options)),
        tasks(fixture.loop.executor(), {.name = "controller", .tasks_max = 4}) {
    AT_ASSERT(tasks.spawn(events.run()).has_value());
    AT_ASSERT(tasks.spawn(reconciler.run()).has_value());
  }
  ~Controller() {
    tasks.cancel_all();
    AT_ASSERT(loop.run_until([&] { return tasks.size() == 0; }));
  }

  kube::TestLoop& loop;
  kube::EventRecorder events;
  SandboxReconciler reconciler;
  async::TaskGroup tasks;
};

TestPlane::TestPlane(SandboxReconcilerOptions options)
    : direct_(*fixture_.transport, {.authority = "", .bearer_token = "", .field_manager = "test"}),
      options_(std::move(options)),
      policies_(direct_, fixture_.loop.timers(), fixture_.loop.random(), fixture_.loop.executor()),
      kubelet_(direct_, fixture_.loop) {
  observe::set_log_level(observe::Level::kError);
  kubelet_.check_policies_of(policies_);
  fixture_.loop.spawn(policies_.run());
  fixture_.loop.spawn(kubelet_.run());
  start_controller();
  settle();
}

TestPlane::~TestPlane() {
  controller_.reset();
  fixture_.loop.close();
}

SandboxReconcilerOptions TestPlane::standard_options() {
  SandboxReconcilerOptions options;
  options.defaults.image = "debian:12";
  options.plan.backoff_spread = 0;
  options.plan.pod.node_name = "node-1";
  return options;
}

void TestPlane::start_controller() {
  controller_ = std::make_unique<Controller>(fixture_, probe_, options_);
}

void TestPlane::stop_controller() {
  controller_.reset();
}

void TestPlane::restart_controller() {
  stop_controller();
  start_controller();
}

void TestPlane::create(const std::string& name, json::object spec) {
  json::object sandbox = {{"metadata",
                           {{"name", name},
                            {"namespace", "default"},
                            {"finalizers", {std::string(names::kSandboxFinalizer)}}}},
                          {"spec", std::move(spec)}};
  const auto created = loop().run(direct_.create(api::Sandbox::kType, std::move(sandbox)));
  AT_ASSERT(created.has_value());
}

void TestPlane::patch(const std::string& name, json::object patch) {
  const auto patched = loop().run(direct_.patch(api::Sandbox::kType, {"default", name},
                                                kube::PatchType::kMerge, std::move(patch)));
  AT_ASSERT(patched.has_value());
}

void TestPlane::resume(const std::string& name) {
  patch(name, {{"spec", {{"desiredState", "Running"}}},
               {"metadata",
                {{"annotations",
                  {{std::string(names::kActionAnnotation), std::string(names::kActionResume)}}}}}});
}

void TestPlane::remove(const std::string& name) {
  const auto removed = loop().run(direct_.remove(api::Sandbox::kType, {"default", name}));
  AT_ASSERT(removed.has_value());
}

void TestPlane::advance(std::chrono::nanoseconds time) {
  loop().run_until_idle();
  // From one sleeper to the next: nothing happens in between.
  while (time.count() > 0) {
    const auto step = std::min(std::max(loop().timers().next_due(), kStepMin), time);
    loop().timers().advance(step);
    loop().run_until_idle();
    time -= step;
  }
}

std::optional<api::Sandbox> TestPlane::find(const std::string& name) {
  return object<api::Sandbox>(name);
}

std::string TestPlane::phase(const std::string& name) {
  const auto sandbox = find(name);
  if (!sandbox) return "gone";
  return sandbox->status ? sandbox->status->phase : "";
}

std::set<std::string> TestPlane::events() {
  std::set<std::string> reasons;
  for (const api::Event& event : all<api::Event>()) reasons.insert(event.reason);
  return reasons;
}

std::vector<std::string> TestPlane::writes() const {
  std::vector<std::string> made;
  for (const std::string& request : fixture_.faulty->log()) {
    const bool reads = request.starts_with("GET ");
    const bool tells = request.find("/events") != std::string::npos;
    if (!reads && !tells) made.push_back(request);
  }
  return made;
}

}  // namespace agenttier::controller
