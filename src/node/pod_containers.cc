#include "node/pod_containers.h"

#include <signal.h>

#include <algorithm>

#include "api/names.h"
#include "base/time_format.h"
#include "node/gvisor_mounts.h"
#include "node/pod_files.h"
#include "node/pod_teardown.h"
#include "observe/log.h"
#include "os/file.h"

namespace agenttier::node {

namespace names = api::names;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kTasksMax = 256;
constexpr int kUnknownExitCode = 137;
constexpr const char* kUnknownReason = "ContainerStatusUnknown";

// What the runtime in a sandbox keeps for itself, whatever the programs take: a task for each
// program that it runs at a time, until that has moved to the programs' group, and its own threads.
constexpr std::int64_t kRuntimeTasksReserve = 256 + 64;
constexpr const char* kInnerGroupsEnv = "AGENTTIER_RUNTIME_INNER_GROUPS=";

ContainerEnd make_end(std::optional<os::ExitStatus> status, std::uint64_t oom_kills,
                      const std::string& started_at, const std::string& now) {
  ContainerEnd end;
  end.started_at = started_at;
  end.finished_at = now;
  if (!status) {
    end.exit_code = kUnknownExitCode;
    end.reason = kUnknownReason;
    end.message = "it ended while the node agent was not running; its exit code is not known";
    return end;
  }
  end.exit_code = status->exit_code;
  end.signal = status->signal;
  // The runtime passes a killed main process on as 128 + 9.
  const bool killed = status->signal == SIGKILL || status->exit_code == 128 + SIGKILL;
  if (killed && oom_kills > 0) {
    end.reason = names::kubernetes::kOomKilled;
    end.message = "the kernel killed it: it reached its memory limit";
  } else {
    end.reason =
        end.exit_code == 0 ? names::kubernetes::kCompletedReason : names::kubernetes::kErrorReason;
  }
  return end;
}

}  // namespace

PodContainers::PodContainers(const NodeParts& parts, std::shared_ptr<const api::Pod> pod,
                             PodState state, std::function<void()> changed)
    : parts_(parts),
      pod_(std::move(pod)),
      state_(std::move(state)),
      changed_(std::move(changed)),
      tasks_(parts.executor,
             {.name = "containers of " + pod_->metadata.name, .tasks_max = kTasksMax}) {}

PodContainers::~PodContainers() = default;

async::Task<void> PodContainers::close() {
  co_await tasks_.close();
}

std::string PodContainers::now() const {
  return base::format_rfc3339(parts_.timers.clock().now());
}

OciRuntime& PodContainers::runtime() {
  const auto named = runtime_class_of(pod_->spec.runtime_class_name.value_or(""));
  return named == RuntimeClass::kGvisor ? parts_.runtimes.gvisor() : parts_.runtimes.native();
}

async::Task<Status> PodContainers::save() {
  const std::string path = parts_.paths.sandbox_state(state_.uid);
  const std::string text = format_pod_state(state_);
  co_return co_await parts_.blocking.run(
      [path, text] { return os::write_file_unsynced(path, text, 0600); });
}

ContainerState* PodContainers::find(const std::string& name) {
  for (ContainerState& container : state_.containers) {
    if (container.name == name) return &container;
  }
  return nullptr;
}

bool PodContainers::any_running() const {
  return !running_.empty();
}

std::shared_ptr<ContainerLog> PodContainers::log(const std::string& container) const {
  const auto found = running_.find(container);
  return found == running_.end() ? nullptr : found->second.log;
}

ContainerState& PodContainers::record_of(const api::Container& container, ContainerRole role) {
  if (ContainerState* known = find(container.name)) return *known;
  ContainerState state;
  state.name = container.name;
  state.role = role;
  state.image = container.image.value_or("");
  state_.containers.push_back(std::move(state));
  return state_.containers.back();
}

void PodContainers::adopt() {
  const bool same_boot = state_.boot_id == current_boot_id();
  for (ContainerState& container : state_.containers) {
    if (container.pid == 0) continue;
    auto process =
        same_boot ? ContainerProcess::open(parts_.executor, container.pid, container.start_ticks)
                  : Result<ContainerProcess>(base::not_found("another boot"));
    if (process) {
      watch(container.name, std::make_shared<ContainerProcess>(*std::move(process)));
    } else {
      container.pid = 0;
      container.end = make_end(std::nullopt, 0, container.started_at, now());
    }
  }
}

async::Task<Status> PodContainers::prepare_root(std::string container, std::string image_rootfs) {
  const NodePaths* paths = &parts_.paths;
  const std::string uid = state_.uid;
  auto make = [paths, uid, container, image_rootfs] {
    return make_container_root(*paths, uid, container, image_rootfs);
  };
  AT_CO_TRY(ContainerRoot root, co_await parts_.blocking.run(std::move(make)));
  roots_[container] = root.bundle;
  co_return Status();
}

async::Task<Result<UserIds>> PodContainers::image_user(Image image) {
  if (image.config.user.empty()) co_return UserIds{};
  auto read = [image = std::move(image)] {
    return find_image_user(image.config.user, read_in_image(image.rootfs, "/etc/passwd"),
                           read_in_image(image.rootfs, "/etc/group"));
  };
  co_return co_await parts_.blocking.run(std::move(read));
}

// The sandbox runtime can start programs in a group of their own, so that it always has tasks left.
bool PodContainers::has_reserve(const api::Container& container) {
  return runtime().kind() != RuntimeKind::kGvisor && !container.command.empty() &&
         container.command[0] == names::kRuntimePath;
}

async::Task<Result<std::vector<os::Fd>>> PodContainers::make_inner_group(
    const api::Container& container) {
  if (!has_reserve(container)) co_return std::vector<os::Fd>();
  const os::Cgroups* cgroups = &parts_.cgroups;
  const std::string path = parts_.paths.container_cgroup(state_.uid, container.name);
  co_return co_await parts_.blocking.run([cgroups, path] { return cgroups->make_inner(path); });
}

async::Task<void> PodContainers::limit_inner_group(const api::Container& container) {
  if (!has_reserve(container)) co_return;
  const os::Cgroups* cgroups = &parts_.cgroups;
  const std::string path = parts_.paths.container_cgroup(state_.uid, container.name);
  const Status limited = co_await parts_.blocking.run(
      [cgroups, path] { return cgroups->limit_inner(path, ContainerLimits().pids); });
  // The outer limit holds all the same: the sandbox lacks its reserve, nobody else lacks anything.
  if (!limited) {
    observe::log_warning("the runtime of a sandbox has no tasks in reserve",
                         {{"pod", state_.name}, {"why", limited.error().message}});
  }
}

async::Task<Result<std::string>> PodContainers::write_bundle(const api::Container& container,
                                                             const PodMaterial& material,
                                                             std::size_t inner_groups) {
  const Image& image = material.images.at(container.name);
  const PodFacts facts{state_.network.ip, parts_.identity.name, parts_.identity.ip};
  AT_CO_TRY(const Environment env,
            plan_environment(*pod_, container, image.config, material.sources, facts));
  Image image_copy = image;
  AT_CO_TRY(const UserIds user, co_await image_user(std::move(image_copy)));

  ContainerPlaces places;
  places.rootfs = parts_.paths.container(state_.uid, container.name) + "/merged";
  places.files = parts_.paths.sandbox_files(state_.uid);
  places.netns_path = state_.network.netns_path;
  places.cgroup_path = parts_.paths.container_cgroup(state_.uid, container.name);
  places.runtime_binary = parts_.identity.runtime_binary;
  places.volumes = material.volumes;
  const NodePaths* paths = &parts_.paths;
  const std::string uid = state_.uid;
  const api::Container* spec = &container;  // the caller keeps it until this task ends
  const auto* volumes = &material.volumes;
  auto bind = [paths, uid, spec, volumes] { return make_sub_paths(*paths, uid, *spec, *volumes); };
  if (std::any_of(container.volume_mounts.begin(), container.volume_mounts.end(),
                  [](const api::VolumeMount& mount) {
                    return mount.sub_path.has_value() || mount.sub_path_expr.has_value();
                  })) {
    AT_CO_TRY(places.sub_paths, co_await parts_.blocking.run(std::move(bind)));
  }
  const ContainerPlan plan{*pod_, container, image.config, env, user, places};
  AT_CO_TRY(ContainerConfig config, plan_container(plan));
  // A limit cannot be raised without the right to.
  config.limits.open_files = std::min(config.limits.open_files, os::open_files_max());
  if (parts_.cgroups.mode() != os::CgroupMode::kV2) config.cgroup_view = CgroupView::kShared;
  if (runtime().kind() == RuntimeKind::kGvisor) config.seccomp = SeccompEnforcer::kGvisor;
  if (inner_groups > 0) {
    config.limits.pids_reserve = kRuntimeTasksReserve;
    config.env.push_back(kInnerGroupsEnv + std::to_string(inner_groups));
  }
  co_return format_bundle(config);
}

async::Task<Result<ContainerProcess>> PodContainers::launch(RunContainer run) {
  os::Fd mounts;
  if (runtime().kind() == RuntimeKind::kGvisor) {
    const std::string netns = state_.network.netns_path;
    AT_CO_TRY(mounts, co_await parts_.blocking.run([netns] { return make_gvisor_mounts(netns); }));
    run.mount_namespace_fd = mounts.get();
  }
  AT_CO_TRY(const pid_t pid, co_await runtime().run(std::move(run)));
  co_return ContainerProcess::open(parts_.executor, pid, 0);
}

async::Task<Status> PodContainers::start(const api::Container& container, ContainerRole role,
                                         const PodMaterial& material) {
  const std::string name = container.name;
  const Image& image = material.images.at(name);
  if (const std::string why = OciRuntime::why_missing(runtime().kind()); !why.empty()) {
    co_return base::unavailable(why);
  }
  if (!roots_.contains(name)) AT_CO_OK(co_await prepare_root(name, image.rootfs));
  const std::string bundle = roots_[name];
  roots_.erase(name);
  AT_CO_TRY(const std::vector<os::Fd> inner, co_await make_inner_group(container));
  AT_CO_TRY(const std::string config, co_await write_bundle(container, material, inner.size()));
  const std::string log_base = parts_.paths.logs(state_.uid) + "/" + name;
  auto write = [bundle, config, log_base]() -> Result<std::shared_ptr<LogStreams>> {
    AT_OK(os::write_file_unsynced(bundle + "/config.json", config, 0600));
    AT_TRY(LogStreams streams, make_log_streams(log_base));
    return std::make_shared<LogStreams>(std::move(streams));
  };
  AT_CO_TRY(const std::shared_ptr<LogStreams> streams,
            co_await parts_.blocking.run(std::move(write)));

  const ContainerState& before = record_of(container, role);
  const int attempt = before.id.empty() ? 0 : before.restarts + 1;
  RunContainer run{.id = container_id(state_.uid, name, attempt),
                   .bundle = bundle,
                   .stdout_fd = streams->out.get(),
                   .stderr_fd = streams->err.get(),
                   .passed_fds = {}};
  for (const os::Fd& entrance : inner) run.passed_fds.push_back(entrance.get());
  const std::string id = run.id;
  auto process = co_await launch(std::move(run));
  if (!process) {
    // Whatever there is of it must not stand in the way of the next try.
    std::string cgroup = parts_.paths.container_cgroup(state_.uid, name);
    (void)co_await remove_container(parts_, id, std::move(cgroup));
    co_return std::move(process).error();
  }
  co_await limit_inner_group(container);
  ContainerState& record = record_of(container, role);
  if (attempt > 0) record.restarts = attempt;
  if (record.end) record.last_end = record.end;
  record.end.reset();
  record.id = id;
  record.image_id = image.id;
  record.image_digest = image.digest;
  record.pid = process->pid();
  record.start_ticks = process->start_ticks();
  record.started_at = now();
  watch(name, std::make_shared<ContainerProcess>(*std::move(process)));
  co_return co_await save();
}

void PodContainers::watch(const std::string& name, std::shared_ptr<ContainerProcess> process) {
  Running running;
  running.process = process;
  running.log = std::make_shared<ContainerLog>(parts_.executor, parts_.blocking, parts_.timers,
                                               parts_.paths.logs(state_.uid) + "/" + name);
  running.id = find(name)->id;
  (void)tasks_.spawn(running.log->run());
  (void)tasks_.spawn(follow(name, std::move(process)));
  running_[name] = std::move(running);
}

async::Task<void> PodContainers::follow(std::string name,
                                        std::shared_ptr<ContainerProcess> process) {
  const ContainerProcess::Ending ending = co_await process->wait(parts_.timers);
  if (ending.wake == async::Wake::kCancelled) co_return;
  co_await record_end(std::move(name), ending.status);
}

async::Task<void> PodContainers::record_end(std::string name,
                                            std::optional<os::ExitStatus> status) {
  const std::string cgroup = parts_.paths.container_cgroup(state_.uid, name);
  const os::Cgroups* cgroups = &parts_.cgroups;
  const std::uint64_t oom_kills =
      co_await parts_.blocking.run([cgroups, cgroup] { return cgroups->oom_kills(cgroup); });
  const auto found = running_.find(name);
  if (found == running_.end()) co_return;
  const std::string id = found->second.id;
  found->second.log->finish();
  running_.erase(found);
  ContainerState& record = *find(name);
  record.pid = 0;
  record.end = make_end(status, oom_kills, record.started_at, now());
  observe::log_info("container ended", {{"pod", state_.name},
                                        {"container", name},
                                        {"exit", record.end->exit_code},
                                        {"reason", record.end->reason}});
  (void)co_await save();
  changed_();
  const Status removed = co_await remove_container(parts_, id, cgroup);
  if (!removed) {
    observe::log_warning("container not removed yet",
                         {{"container", id}, {"why", removed.error().message}});
  }
}

async::Task<void> PodContainers::signal_all(int signal) {
  std::vector<std::string> ids;
  for (auto& [name, running] : running_) {
    if (runtime().kind() != RuntimeKind::kGvisor) {
      (void)running.process->signal(signal);
    } else {
      ids.push_back(running.id);
    }
  }
  for (const std::string& id : ids) (void)co_await runtime().kill(id, signal);
}

}  // namespace agenttier::node
