#include "node/pod_worker.h"

#include "api/names.h"
#include "async/time_limit.h"
#include "base/time_format.h"
#include "kube/typed.h"
#include "node/both.h"
#include "node/claims.h"
#include "node/pod_files.h"
#include "observe/log.h"

namespace agenttier::node {

namespace names = api::names;
using base::Error;
using base::Result;
using base::Status;
using namespace std::chrono_literals;

namespace {

constexpr kube::BackoffLimits kStartBackoff{10s, 5min};
constexpr std::chrono::nanoseconds kForEver = 24h;
constexpr const char* kRunContainerError = "RunContainerError";
constexpr const char* kCrashLoop = "CrashLoopBackOff";

PodState fresh_state(const api::Pod& pod) {
  PodState state;
  state.uid = pod.metadata.uid;
  state.ns = pod.metadata.ns;
  state.name = pod.metadata.name;
  state.boot_id = current_boot_id();
  return state;
}

std::int64_t micros(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

bool is_terminal(const api::Pod& pod) {
  return pod.status && (pod.status->phase == names::kubernetes::kPodSucceeded ||
                        pod.status->phase == names::kubernetes::kPodFailed);
}

// What the API already says is kept: an ended pod whose folder is gone needs no second life.
PodState initial_state(const api::Pod& pod, std::optional<PodState> adopted) {
  if (adopted) return *std::move(adopted);
  PodState state = fresh_state(pod);
  state.released = is_terminal(pod);
  return state;
}

}  // namespace

PodWorker::PodWorker(const NodeParts& parts, PodPointer pod, std::optional<PodState> adopted)
    : parts_(parts),
      pod_(pod),
      uid_(pod->metadata.uid),
      adopted_(adopted.has_value()),
      changed_(parts.executor),
      containers_(parts, pod, initial_state(*pod, std::move(adopted)), [this] { note_change(); }) {
  if (is_terminal(*pod)) reported_ = pod->status;
}

void PodWorker::note_change() {
  ++changes_;
  changed_.notify_all();
}

void PodWorker::update(PodPointer pod) {
  if (pod) {
    pod_ = std::move(pod);
  } else {
    gone_ = true;
  }
  if (ending()) parts_.claims.mark_ending(uid_);
  note_change();
}

void PodWorker::fail(std::string reason, std::string message) {
  if (!failure_reason_.empty()) return;
  failure_reason_ = std::move(reason);
  failure_message_ = std::move(message);
  note_change();
}

bool PodWorker::ending() const {
  return gone_ || pod_->metadata.deletion_timestamp.has_value();
}

std::set<std::string> PodWorker::image_digests() const {
  std::set<std::string> digests;
  if (containers_.state().released) return digests;
  for (const auto& [name, image] : material_.images) digests.insert(image.digest);
  for (const ContainerState& container : containers_.state().containers) {
    digests.insert(container.image_digest);
  }
  return digests;
}

std::shared_ptr<ContainerLog> PodWorker::log(const std::string& container) const {
  return containers_.log(container);
}

NetworkedPod PodWorker::networked() const {
  return {uid_, pod_->metadata.ns, pod_->metadata.name, pod_->metadata.labels};
}

async::Task<void> PodWorker::run() {
  if (adopted_) {
    for (const api::Volume& volume : pod_->spec.volumes) {
      if (!volume.persistent_volume_claim || containers_.state().released) continue;
      parts_.claims.adopt({pod_->metadata.ns, volume.persistent_volume_claim->claim_name}, uid_);
    }
    containers_.adopt();
  }
  if (!containers_.state().released && !ending()) {
    if (!adopted_) co_await bring_up();
    co_await supervise();
  }
  while (!ending() && !co_await async::is_cancelled()) (void)co_await wait_change(kForEver);
  if (ending() && !co_await async::is_cancelled()) co_await end_pod();
  co_await containers_.close();
}

async::Task<async::Wake> PodWorker::wait_change(std::chrono::nanoseconds limit) {
  if (co_await async::is_cancelled()) co_return async::Wake::kCancelled;
  if (changes_ != seen_) {
    seen_ = changes_;
    co_return async::Wake::kNotified;
  }
  const async::Wake wake = co_await async::wait_or_sleep(changed_, parts_.timers, limit);
  seen_ = changes_;
  co_return wake;
}

async::Task<async::Wake> PodWorker::until_ending() {
  while (!ending() && failure_reason_.empty()) {
    if (co_await changed_.wait() == async::Wake::kCancelled) co_return async::Wake::kCancelled;
  }
  co_return async::Wake::kNotified;
}

async::Task<void> PodWorker::bind() {
  if (pod_->spec.node_name.value_or("") == parts_.identity.name) co_return;
  kube::ObjectKey key = kube::key_of(*pod_);
  const Status bound = co_await parts_.client.bind(std::move(key), parts_.identity.name);
  if (bound || bound.error().code == base::ErrorCode::kConflict) co_return;
  if (bound.error().code != base::ErrorCode::kNotFound) {
    observe::log_warning("pod not bound",
                         {{"pod", pod_->metadata.name}, {"why", bound.error().message}});
  }
}

async::Task<void> PodWorker::bring_up() {
  kube::Backoff backoff(kStartBackoff);
  while (!ending() && failure_reason_.empty() && !co_await async::is_cancelled()) {
    auto started = co_await async::run_until_alarm<Status>(start_pod(), until_ending());
    if (!started || co_await async::is_cancelled()) co_return;
    if (*started) {
      const auto took = parts_.timers.clock().monotonic() - times_.begin;
      observe::log_info("pod is set up", {{"pod", pod_->metadata.name},
                                          {"us", micros(took)},
                                          {"prepared_us", micros(times_.prepared)},
                                          {"networked_us", micros(times_.networked)}});
      co_await report();
      co_await bind();
      co_return;
    }
    observe::log_warning("pod cannot start yet",
                         {{"pod", pod_->metadata.name}, {"why", started->error().message}});
    co_await report();
    const auto until = parts_.timers.clock().monotonic() + backoff.next(parts_.random);
    while (!ending() && parts_.timers.clock().monotonic() < until) {
      const auto left = until - parts_.timers.clock().monotonic();
      if (co_await wait_change(left) == async::Wake::kCancelled) co_return;
    }
  }
}

void PodWorker::set_waiting(const std::string& container, std::string reason, const Error& error) {
  waiting_[container] = {std::move(reason), error.message};
}

async::Task<Status> PodWorker::start_pod() {
  const std::string first = pod_->spec.containers.empty() ? "" : pod_->spec.containers[0].name;
  if (Status good = check_pod(*pod_); !good) {
    set_waiting(first, std::string(names::kubernetes::kCreateContainerConfigError), good.error());
    co_return good;
  }
  PodState& state = containers_.state();
  if (state.started_at.empty()) {
    state.started_at = base::format_rfc3339(parts_.timers.clock().now());
  }
  const NodePaths* paths = &parts_.paths;
  const std::string uid = uid_;
  times_.begin = parts_.timers.clock().monotonic();
  AT_CO_OK(co_await parts_.blocking.run([paths, uid] { return make_pod_folder(*paths, uid); }));
  if (co_await async::is_cancelled()) co_return base::cancelled("stopping");
  auto [prepared, network] = co_await both(prepare(), set_up_network());
  if (!prepared) co_return prepared;
  if (!network) {
    set_waiting(first, "CreatePodSandboxError", network.error());
    co_return std::move(network).error().context("set up the network");
  }
  state.network = *std::move(network);
  const PodPointer pod = pod_;
  const PodNetwork net = state.network;
  AT_CO_OK(co_await parts_.blocking.run(
      [paths, pod, net] { return write_network_files(*paths, *pod, net); }));
  AT_CO_OK(co_await run_init_containers());
  co_return co_await start_main_containers();
}

async::Task<Result<PodNetwork>> PodWorker::set_up_network() {
  NetworkedPod pod = networked();
  auto network = co_await parts_.network.set_up(std::move(pod));
  times_.networked = parts_.timers.clock().monotonic() - times_.begin;
  co_return network;
}

async::Task<Status> PodWorker::prepare() {
  if (material_ready_) co_return Status();
  const std::string first = pod_->spec.containers.empty() ? "" : pod_->spec.containers[0].name;
  api::Pod copy = *pod_;
  auto sources = co_await load_pod_sources(parts_.client, std::move(copy));
  if (!sources) {
    set_waiting(first, std::string(names::kubernetes::kCreateContainerConfigError),
                sources.error());
    co_return std::move(sources).error();
  }
  material_.sources = *std::move(sources);
  AT_CO_OK(co_await pull_images());
  std::map<std::string, std::string> claims;
  AT_CO_OK(co_await get_claims(&claims));
  const NodePaths* paths = &parts_.paths;
  const PodPointer pod = pod_;
  auto sources_copy = std::make_shared<const PodSources>(material_.sources);
  auto make = [paths, pod, sources_copy, claims] {
    return make_pod_volumes(*paths, *pod, *sources_copy, claims);
  };
  auto volumes = co_await parts_.blocking.run(std::move(make));
  if (!volumes) {
    set_waiting(first, std::string(names::kubernetes::kContainerCreating), volumes.error());
    co_return std::move(volumes).error();
  }
  material_.volumes = *std::move(volumes);
  if (pod_->spec.init_containers.empty() && !pod_->spec.containers.empty()) {
    std::string rootfs = material_.images.at(first).rootfs;
    AT_CO_OK(co_await containers_.prepare_root(first, std::move(rootfs)));
  }
  material_ready_ = true;
  times_.prepared = parts_.timers.clock().monotonic() - times_.begin;
  co_return Status();
}

async::Task<Status> PodWorker::pull_images() {
  std::vector<api::Container> all = pod_->spec.init_containers;
  all.insert(all.end(), pod_->spec.containers.begin(), pod_->spec.containers.end());
  for (const api::Container& container : all) {
    ImageRequest request{container.image.value_or(""), pull_policy(container),
                         material_.sources.auth_json};
    if (auto present = parts_.images.find(request)) {
      material_.images[container.name] = *std::move(present);
      continue;
    }
    // A pull takes long enough for people to look: say what goes on.
    co_await report();
    auto image = co_await parts_.images.get(std::move(request));
    if (!image) {
      const bool repeated = waiting_.contains(container.name);
      const std::string reason = image.error().reason == image_reasons::kErrImagePull && repeated
                                     ? std::string(names::kubernetes::kImagePullBackOff)
                                     : image.error().reason;
      set_waiting(container.name, reason.empty() ? image_reasons::kErrImagePull : reason,
                  image.error());
      co_return std::move(image).error();
    }
    waiting_.erase(container.name);
    material_.images[container.name] = *std::move(image);
  }
  co_return Status();
}

async::Task<Status> PodWorker::get_claims(std::map<std::string, std::string>* paths) {
  const PodPointer pod = pod_;
  for (const api::Volume& volume : pod->spec.volumes) {
    if (!volume.persistent_volume_claim) continue;
    kube::ObjectKey key{pod->metadata.ns, volume.persistent_volume_claim->claim_name};
    auto claimed = co_await parts_.claims.acquire(std::move(key), uid_);
    if (!claimed) {
      set_waiting(pod->spec.containers[0].name, std::string(names::kubernetes::kContainerCreating),
                  claimed.error());
      co_return std::move(claimed).error();
    }
    (*paths)[volume.name] = claimed->path;
  }
  co_return Status();
}

async::Task<Status> PodWorker::start_one(const api::Container& container, ContainerRole role) {
  Status started = co_await containers_.start(container, role, material_);
  if (started) {
    waiting_.erase(container.name);
    co_return started;
  }
  const auto code = started.error().code;
  const bool config = code == base::ErrorCode::kInvalid || code == base::ErrorCode::kNotFound;
  set_waiting(
      container.name,
      config ? std::string(names::kubernetes::kCreateContainerConfigError) : kRunContainerError,
      started.error());
  co_return std::move(started).error().context("start container " + container.name);
}

async::Task<Status> PodWorker::run_init_containers() {
  const PodPointer pod = pod_;
  for (const api::Container& container : pod->spec.init_containers) {
    const ContainerState* known = containers_.find(container.name);
    if (known != nullptr && known->end && known->end->exit_code == 0) continue;
    if (known == nullptr || known->pid == 0) {
      AT_CO_OK(co_await start_one(container, ContainerRole::kInit));
    }
    co_await report();
    while (containers_.find(container.name)->pid != 0) {
      if (co_await wait_change(kForEver) == async::Wake::kCancelled) {
        co_return base::cancelled("stopping");
      }
    }
    const ContainerState& ended = *containers_.find(container.name);
    if (ended.end->exit_code == 0) continue;
    if (restart_decision(*pod, ended) == Restart::kNever) co_return Status();
    const Error error =
        base::unavailable("init container " + container.name + " ended with exit code " +
                          std::to_string(ended.end->exit_code));
    set_waiting(container.name, kCrashLoop, error);
    co_return error;
  }
  co_return Status();
}

async::Task<Status> PodWorker::start_main_containers() {
  if (phase_of(*pod_, containers_.state()) == PodPhase::kFailed) co_return Status();
  const PodPointer pod = pod_;
  for (const api::Container& container : pod->spec.containers) {
    const ContainerState* known = containers_.find(container.name);
    if (known != nullptr && (known->pid != 0 || known->end)) continue;
    AT_CO_OK(co_await start_one(container, ContainerRole::kMain));
  }
  co_return Status();
}

}  // namespace agenttier::node
