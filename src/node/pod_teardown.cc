#include "node/pod_teardown.h"

#include "node/both.h"
#include "observe/log.h"
#include "os/file.h"

namespace agenttier::node {

using base::Status;

namespace {

constexpr auto kKillTimeMax = std::chrono::seconds(10);

async::Task<Status> kill_group(const NodeParts& parts, std::string cgroup) {
  const os::Cgroups* cgroups = &parts.cgroups;
  co_return co_await parts.blocking.run(
      [cgroups, cgroup] { return cgroups->kill_all(cgroup, kKillTimeMax); });
}

async::Task<Status> remove_group(const NodeParts& parts, std::string cgroup) {
  const os::Cgroups* cgroups = &parts.cgroups;
  co_return co_await parts.blocking.run([cgroups, cgroup] { return cgroups->remove(cgroup); });
}

async::Task<Status> remove_record(const NodeParts& parts, OciRuntime& runtime, std::string id) {
  Status removed = co_await runtime.remove(id);
  if (removed || runtime.kind() == RuntimeKind::kGvisor) co_return removed;
  if (removed.error().code == base::ErrorCode::kCancelled) co_return removed;
  // A crash while the runtime wrote its record leaves one that it cannot read. Its processes are
  // dead by now, and all it had besides is the control group.
  observe::log_warning("container record removed by hand",
                       {{"container", id}, {"why", removed.error().message}});
  const std::string record = runtime.records() + "/" + id;
  co_return co_await parts.blocking.run([record] { return os::remove_tree(record); });
}

async::Task<Status> remove_records(const NodeParts& parts, OciRuntime& runtime,
                                   std::string pod_uid) {
  if (!OciRuntime::why_missing(runtime.kind()).empty()) co_return Status();
  AT_CO_TRY(const std::vector<std::string> ids, co_await runtime.list());
  for (const std::string& id : ids) {
    if (pod_uid_of(id) == pod_uid) AT_CO_OK(co_await remove_record(parts, runtime, id));
  }
  co_return Status();
}

async::Task<Status> remove_files(const NodeParts& parts, std::string pod_uid, Keep keep) {
  const NodePaths* paths = &parts.paths;
  co_return co_await parts.blocking.run(
      [paths, pod_uid, keep] { return remove_pod_files(*paths, pod_uid, keep); });
}

}  // namespace

async::Task<Status> tear_down_pod(const NodeParts& parts, std::string pod_uid, Keep keep) {
  AT_CO_OK(check_uid(pod_uid));
  const std::string cgroup = parts.paths.pod_cgroup(pod_uid);
  AT_CO_OK(co_await kill_group(parts, cgroup));
  for (OciRuntime* runtime : parts.runtimes.all()) {
    AT_CO_OK(co_await remove_records(parts, *runtime, pod_uid));
  }
  AT_CO_OK(co_await remove_group(parts, cgroup));
  // The network before the folder: the folder is what a next try finds the pod by.
  AT_CO_OK(co_await parts.network.tear_down(pod_uid));
  co_return co_await remove_files(parts, pod_uid, keep);
}

async::Task<Status> remove_container(const NodeParts& parts, std::string id, std::string cgroup) {
  AT_CO_OK(co_await kill_group(parts, cgroup));
  AT_CO_OK(co_await remove_record(parts, parts.runtimes.of(id), id));
  co_return co_await remove_group(parts, cgroup);
}

}  // namespace agenttier::node
