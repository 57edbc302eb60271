#include "controller/sandbox_reconciler.h"

#include <algorithm>
#include <utility>

#include "api/cluster.h"
#include "api/meta.h"
#include "api/names.h"
#include "controller/sandbox_objects.h"
#include "kube/typed.h"
#include "observe/log.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;
using base::ErrorCode;

constexpr std::size_t kTasksPerWorker = 16;

// Only what belongs to sandboxes is kept in memory.
kube::InformerOptions parts_of_sandboxes(const SandboxReconcilerOptions& options) {
  kube::InformerOptions made;
  made.ns = options.ns;
  made.label_selector = std::string(names::kSandboxLabel);
  made.index_labels = {std::string(names::kSandboxLabel)};
  made.objects_max = 2 * options.sandboxes_max;
  return made;
}

// Of the Secrets only those that the controller made: tokens and files.
kube::InformerOptions secrets_of_sandboxes(const SandboxReconcilerOptions& options) {
  kube::InformerOptions made = parts_of_sandboxes(options);
  made.label_selector += "," + std::string(names::kManagedLabel) + "=true";
  return made;
}

kube::InformerOptions in_namespace(const std::string& ns) {
  kube::InformerOptions made;
  made.ns = ns;
  return made;
}

// A conflict is the rule of the game: somebody wrote meanwhile, so look again soon.
bool is_race(const base::Error& error) {
  return error.code == ErrorCode::kConflict;
}

}  // namespace

SandboxReconciler::SandboxReconciler(Parts parts, SandboxReconcilerOptions options)
    : parts_(parts),
      options_(std::move(options)),
      sandboxes_(parts.client, parts.timers, parts.random, parts.executor,
                 in_namespace(options_.ns)),
      pods_(parts.client, parts.timers, parts.random, parts.executor, parts_of_sandboxes(options_)),
      volumes_(parts.client, parts.timers, parts.random, parts.executor,
               parts_of_sandboxes(options_)),
      policies_(parts.client, parts.timers, parts.random, parts.executor,
                parts_of_sandboxes(options_)),
      secrets_(parts.client, parts.timers, parts.random, parts.executor,
               secrets_of_sandboxes(options_)),
      templates_(parts.client, parts.timers, parts.random, parts.executor),
      cluster_templates_(parts.client, parts.timers, parts.random, parts.executor),
      queue_(
          parts.executor, parts.timers, parts.random,
          {.name = "sandboxes", .workers = options_.workers, .keys_max = options_.sandboxes_max}),
      tasks_(parts.executor,
             {.name = "sandbox controller",
              .tasks_max = options_.sandboxes_max + kTasksPerWorker * options_.workers}),
      applier_(parts.client, parts.executor, tasks_) {
  watch_changes();
}

void SandboxReconciler::watch_changes() {
  sandboxes_.add_handler([this](const auto& old, const auto& now) {
    const auto& meta = (now ? now : old)->metadata;
    (void)queue_.add({meta.ns, meta.name});
  });
  const auto to_sandbox = [this](const auto& old, const auto& now) {
    enqueue((now ? now : old)->metadata);
  };
  pods_.add_handler(to_sandbox);
  volumes_.add_handler(to_sandbox);
  policies_.add_handler(to_sandbox);
  secrets_.add_handler(to_sandbox);
  templates_.add_handler([this](const auto&, const auto&) { enqueue_users_of_templates(); });
  cluster_templates_.add_handler(
      [this](const auto&, const auto&) { enqueue_users_of_templates(); });
}

void SandboxReconciler::enqueue(const api::ObjectMeta& meta) {
  const std::string_view name = api::label_of(meta, names::kSandboxLabel);
  if (!name.empty()) (void)queue_.add({meta.ns, std::string(name)});
}

// A template may be an ancestor of any other, so all that could change are looked at.
void SandboxReconciler::enqueue_users_of_templates() {
  for (const SandboxPointer& sandbox : sandboxes_.list()) {
    if (!sandbox->spec.template_ref) continue;
    if (sandbox->status && sandbox->status->phase == "Stopped") continue;
    (void)queue_.add({sandbox->metadata.ns, sandbox->metadata.name});
  }
}

bool SandboxReconciler::synced() const {
  return sandboxes_.synced() && pods_.synced() && volumes_.synced() && policies_.synced() &&
         secrets_.synced() && templates_.synced() && cluster_templates_.synced();
}

base::Status SandboxReconciler::start_informers() {
  AT_OK(tasks_.spawn(sandboxes_.run()));
  AT_OK(tasks_.spawn(pods_.run()));
  AT_OK(tasks_.spawn(volumes_.run()));
  AT_OK(tasks_.spawn(policies_.run()));
  AT_OK(tasks_.spawn(secrets_.run()));
  AT_OK(tasks_.spawn(templates_.run()));
  return tasks_.spawn(cluster_templates_.run());
}

async::Task<base::Status> SandboxReconciler::wait_until_synced() {
  AT_CO_OK(co_await pods_.wait_until_synced());
  AT_CO_OK(co_await volumes_.wait_until_synced());
  AT_CO_OK(co_await policies_.wait_until_synced());
  AT_CO_OK(co_await secrets_.wait_until_synced());
  AT_CO_OK(co_await templates_.wait_until_synced());
  AT_CO_OK(co_await cluster_templates_.wait_until_synced());
  co_return co_await sandboxes_.wait_until_synced();
}

async::Task<void> SandboxReconciler::run() {
  if (start_informers()) {
    const base::Status ready = co_await wait_until_synced();
    if (ready) {
      observe::log_info("the sandbox controller is working", {{"sandboxes", sandboxes_.size()}});
      co_await queue_.run([this](kube::ObjectKey key) { return reconcile(std::move(key)); });
    }
  }
  queue_.shutdown();
  co_await tasks_.close();
}

async::Task<base::Result<kube::WorkQueue::Requeue>> SandboxReconciler::reconcile(
    kube::ObjectKey key) {
  using Requeue = kube::WorkQueue::Requeue;
  SandboxPointer sandbox = sandboxes_.find(key);
  if (sandbox == nullptr) {
    memories_.erase(key);
    co_return Requeue();
  }
  const MemoryPointer memory = memory_of(key, *sandbox);
  AT_CO_OK(co_await wait_for_own_writes(memory));
  sandbox = sandboxes_.find(key);
  if (sandbox == nullptr || sandbox->metadata.uid != memory->uid) co_return Requeue();

  Observed observed = observe(sandbox, *memory);
  AT_CO_TRY(observed.services, co_await read_services(observed.resolution, key.ns));
  Plan plan = plan_sandbox(observed, options_.plan, parts_.timers.clock().now());
  const Requeue next = next_look(plan);
  const auto run = std::make_shared<PlanRun>(sandbox);
  base::Status applied = co_await apply(memory, run, std::move(plan));
  for (const auto& [part, version] : run->written) memory->versions[part] = version;
  if (run->sandbox_written) memory->sandbox_version = run->sandbox_version;
  memory->failure = run->failure;
  if (!applied && is_race(applied.error())) co_return Requeue(conflict_delay(*memory));
  memory->conflicts = 0;
  if (applied) co_return next;
  co_return std::move(applied).error();
}

async::Task<base::Status> SandboxReconciler::apply(MemoryPointer memory,
                                                   std::shared_ptr<PlanRun> run, Plan plan) {
  const kube::ObjectKey key{run->sandbox->metadata.ns, run->sandbox->metadata.name};
  for (Stage& stage : plan.stages) {
    for (const Action& action : stage) {
      if (const auto* health = std::get_if<AskHealth>(&action)) ask_health(key, memory, *health);
      if (const auto* work = std::get_if<AskActivity>(&action)) ask_activity(key, memory, *work);
    }
    std::erase_if(stage, [](const Action& action) {
      return std::holds_alternative<AskHealth>(action) ||
             std::holds_alternative<AskActivity>(action);
    });
    if (stage.empty()) continue;
    AT_CO_OK(co_await applier_.apply(run, std::move(stage)));
  }
  for (const EventNote& note : plan.events) tell(*run->sandbox, note);
  co_return base::Status();
}

void SandboxReconciler::tell(const api::Sandbox& sandbox, const EventNote& note) {
  const auto type = note.type == EventType::kNormal ? kube::EventRecorder::Type::kNormal
                                                    : kube::EventRecorder::Type::kWarning;
  parts_.events.record(kube::object_reference(sandbox), type, note.reason, note.message);
}

kube::WorkQueue::Requeue SandboxReconciler::next_look(const Plan& plan) const {
  if (!plan.wake_at) return std::nullopt;
  const auto left = *plan.wake_at - parts_.timers.clock().now();
  return std::max<std::chrono::nanoseconds>(left, std::chrono::milliseconds(1));
}

SandboxReconciler::MemoryPointer SandboxReconciler::memory_of(const kube::ObjectKey& key,
                                                              const api::Sandbox& sandbox) {
  MemoryPointer& memory = memories_[key];
  if (memory == nullptr || memory->uid != sandbox.metadata.uid) {
    memory = std::make_shared<Memory>();
    memory->uid = sandbox.metadata.uid;
    memory->new_token = parts_.random.token();
  }
  return memory;
}

async::Task<base::Status> SandboxReconciler::wait_for_own_writes(MemoryPointer memory) {
  const auto limit = options_.cache_wait_max;
  if (!memory->sandbox_version.empty()) {
    AT_CO_OK(co_await sandboxes_.wait_until_observed(memory->sandbox_version, limit));
    memory->sandbox_version.clear();
  }
  const std::map<Part, std::string> versions = std::exchange(memory->versions, {});
  for (const auto& [part, version] : versions) {
    base::Status seen;
    switch (part) {
      case Part::kPod:
        seen = co_await pods_.wait_until_observed(version, limit);
        break;
      case Part::kVolume:
        seen = co_await volumes_.wait_until_observed(version, limit);
        break;
      case Part::kPolicy:
        seen = co_await policies_.wait_until_observed(version, limit);
        break;
      case Part::kToken:
      case Part::kFiles:
        seen = co_await secrets_.wait_until_observed(version, limit);
        break;
    }
    if (!seen) {
      memory->versions.insert(versions.begin(), versions.end());
      co_return seen;
    }
  }
  co_return base::Status();
}

std::chrono::nanoseconds SandboxReconciler::conflict_delay(Memory& memory) const {
  std::chrono::nanoseconds delay = options_.conflict_delay_first;
  for (int i = 0; i < memory.conflicts && delay < options_.conflict_delay_max; ++i) delay *= 2;
  ++memory.conflicts;
  return std::min<std::chrono::nanoseconds>(delay, options_.conflict_delay_max);
}

Observed SandboxReconciler::observe(SandboxPointer sandbox, Memory& memory) {
  const std::string& ns = sandbox->metadata.ns;
  const std::string& name = sandbox->metadata.name;
  Observed observed;
  for (auto& pod : pods_.list_by_label(names::kSandboxLabel, name)) {
    if (pod->metadata.ns == ns) observed.pods.push_back(std::move(pod));
  }
  observed.volume = volumes_.find(ns, volume_name_of(*sandbox));
  observed.policy = policies_.find(ns, names::network_policy_of(name));
  observed.token = secrets_.find(ns, names::token_secret_of(name));
  observed.files = secrets_.find(ns, names::files_secret_of(name));
  observed.resolution = resolve(*sandbox);
  observed.answering_pod_uid = memory.answering_pod_uid;
  observed.activity = memory.activity;
  // A token is used once: should its Secret be lost, the next one is another.
  const bool used = observed.token && token_of(*observed.token) == memory.new_token;
  if (used) memory.new_token = parts_.random.token();
  observed.new_token = memory.new_token;
  observed.jitter = parts_.random.unit();
  observed.last_failure = memory.failure;
  observed.sandbox = std::move(sandbox);
  return observed;
}

std::optional<policy::TemplateRecord> SandboxReconciler::find_template(
    const policy::TemplateKey& key) const {
  if (key.scope == policy::TemplateScope::kCluster) {
    const auto found = cluster_templates_.find("", key.name);
    if (!found) return std::nullopt;
    return policy::TemplateRecord{found->spec, found->metadata.resource_version};
  }
  const auto found = templates_.find(key.ns, key.name);
  if (!found) return std::nullopt;
  return policy::TemplateRecord{found->spec, found->metadata.resource_version};
}

Resolution SandboxReconciler::resolve(const api::Sandbox& sandbox) const {
  Resolution resolution;
  resolution.spec = resolve_spec(sandbox, resolution);
  return resolution;
}

base::Result<policy::EffectiveSpec> SandboxReconciler::resolve_spec(const api::Sandbox& sandbox,
                                                                    Resolution& resolution) const {
  AT_OK(policy::check_sandbox(sandbox, options_.rules));
  api::SandboxTemplateSpec merged;
  if (sandbox.spec.template_ref) {
    resolution.template_name = sandbox.spec.template_ref->name;
    AT_TRY(policy::ResolvedTemplate resolved,
           policy::resolve_template(
               *sandbox.spec.template_ref,
               {.sandbox_namespace = sandbox.metadata.ns,
                .shared_namespaces = options_.shared_template_namespaces},
               [this](const policy::TemplateKey& key) { return find_template(key); }));
    resolution.template_version = resolved.resource_version;
    merged = std::move(resolved.spec);
  }
  AT_TRY(policy::EffectiveSpec spec,
         policy::make_effective_spec(sandbox.spec, merged, options_.defaults));
  AT_OK(policy::check_effective_spec(spec, options_.rules));
  return spec;
}

async::Task<base::Result<ServiceSelectors>> SandboxReconciler::read_services(Resolution resolution,
                                                                             std::string ns) {
  ServiceSelectors selectors;
  if (!resolution.spec) co_return selectors;
  const std::vector<std::string> keys = services_of(resolution.spec->network, ns);
  for (const std::string& text : keys) {
    const std::size_t slash = text.find('/');
    const kube::ObjectKey key{text.substr(0, slash), text.substr(slash + 1)};
    auto service = co_await kube::get<api::Service>(parts_.client, key);
    if (service) {
      selectors[text] = service->spec.selector;
    } else if (service.error().code != ErrorCode::kNotFound) {
      co_return std::move(service).error().context("read Service " + text);
    }
  }
  co_return selectors;
}

}  // namespace agenttier::controller
