#include "node/container.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "node/json_fields.h"

namespace agenttier::node {

namespace json = boost::json;

namespace {

constexpr std::int64_t kCpuPeriodMicros = 100'000;

json::object mount(const char* target, const char* type, const char* source,
                   std::initializer_list<const char*> options) {
  json::array list;
  for (const char* option : options) list.emplace_back(option);
  return {
      {"destination", target}, {"type", type}, {"source", source}, {"options", std::move(list)}};
}

json::object bind(const MountedPath& path) {
  json::array options{"bind", "rprivate", "nosuid", "nodev"};
  options.emplace_back(path.access == Access::kReadOnly ? "ro" : "rw");
  return {{"destination", path.target},
          {"type", "bind"},
          {"source", path.source},
          {"options", std::move(options)}};
}

json::array mounts(const ContainerConfig& config) {
  json::array result;
  result.push_back(mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}));
  result.push_back(
      mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=64k"}));
  result.push_back(
      mount("/dev/pts", "devpts", "devpts",
            {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}));
  json::object shm = mount("/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777"});
  shm["options"].as_array().emplace_back("size=" +
                                         std::to_string(config.limits.shared_memory_bytes));
  result.push_back(std::move(shm));
  result.push_back(mount("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}));
  result.push_back(mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"}));
  // Language runtimes size their heaps by what they read here.
  result.push_back(
      mount("/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev", "relatime", "ro"}));
  for (const MountedPath& path : config.mounts) result.push_back(bind(path));
  return result;
}

json::object capabilities(const ContainerConfig& config) {
  const json::array all(config.capabilities.begin(), config.capabilities.end());
  // An ordinary user has none; what is in the bounding set comes with setuid programs alone.
  const json::array effective = config.uid == 0 ? all : json::array();
  const json::array bounding =
      config.uid == 0 || config.escalation == Escalation::kAllowed ? all : json::array();
  return {{"bounding", bounding},
          {"effective", effective},
          {"permitted", effective},
          {"inheritable", json::array()},
          {"ambient", json::array()}};
}

json::object rlimit(const char* type, std::uint64_t value) {
  return {{"type", type}, {"hard", value}, {"soft", value}};
}

json::object process(const ContainerConfig& config) {
  json::object user{{"uid", config.uid}, {"gid", config.gid}};
  if (!config.groups.empty()) {
    user["additionalGids"] = json::array(config.groups.begin(), config.groups.end());
  }
  json::object result;
  result["terminal"] = false;
  result["user"] = std::move(user);
  result["args"] = to_json_array(config.argv);
  result["env"] = to_json_array(config.env);
  result["cwd"] = config.working_dir;
  result["capabilities"] = capabilities(config);
  result["rlimits"] =
      json::array{rlimit("RLIMIT_NOFILE", config.limits.open_files), rlimit("RLIMIT_CORE", 0)};
  result["noNewPrivileges"] = config.escalation == Escalation::kForbidden;
  return result;
}

// Weights of cpu groups: 1024 is one cpu, 2 is the least the kernel takes.
std::int64_t cpu_shares(std::int64_t millis) {
  return std::clamp<std::int64_t>(millis * 1024 / 1000, 2, 262144);
}

json::object resources(const ContainerLimits& limits) {
  json::object memory;
  if (limits.memory_bytes > 0) {
    memory["limit"] = limits.memory_bytes;
    memory["swap"] = limits.memory_bytes;  // memory and swap together
  }
  json::object cpu{{"shares", cpu_shares(limits.cpu_share_millis)}};
  if (limits.cpu_millis > 0) {
    cpu["period"] = kCpuPeriodMicros;
    cpu["quota"] = std::max<std::int64_t>(limits.cpu_millis * kCpuPeriodMicros / 1000, 1000);
  }
  return {{"devices", json::array{json::object{{"allow", false}, {"access", "rwm"}}}},
          {"memory", std::move(memory)},
          {"cpu", std::move(cpu)},
          {"pids", json::object{{"limit", limits.pids + limits.pids_reserve}}}};
}

json::array namespaces(const ContainerConfig& config) {
  json::array result;
  for (const char* type : {"pid", "ipc", "uts", "mount"}) {
    result.push_back(json::object{{"type", type}});
  }
  result.push_back(json::object{{"type", "network"}, {"path", config.netns_path}});
  if (config.cgroup_view == CgroupView::kOwnNamespace) {
    result.push_back(json::object{{"type", "cgroup"}});
  }
  return result;
}

json::object linux_part(const ContainerConfig& config) {
  json::object result;
  result["namespaces"] = namespaces(config);
  result["resources"] = resources(config.limits);
  result["cgroupsPath"] = config.cgroup_path;
  result["seccomp"] = default_seccomp_profile(config.seccomp);
  result["maskedPaths"] =
      json::array{"/proc/acpi",        "/proc/asound",  "/proc/interrupts",
                  "/proc/kcore",       "/proc/keys",    "/proc/latency_stats",
                  "/proc/sched_debug", "/proc/scsi",    "/proc/timer_list",
                  "/proc/timer_stats", "/sys/firmware", "/sys/devices/virtual/powercap"};
  result["readonlyPaths"] =
      json::array{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};
  return result;
}

}  // namespace

std::string format_bundle(const ContainerConfig& config) {
  json::object bundle;
  bundle["ociVersion"] = "1.0.2";
  bundle["hostname"] = config.hostname;
  bundle["root"] =
      json::object{{"path", config.rootfs}, {"readonly", config.root_access == Access::kReadOnly}};
  bundle["process"] = process(config);
  bundle["mounts"] = mounts(config);
  bundle["linux"] = linux_part(config);
  return json::serialize(bundle);
}

std::set<std::string> default_capabilities() {
  return {"CAP_CHOWN",   "CAP_DAC_OVERRIDE", "CAP_FOWNER",          "CAP_FSETID",
          "CAP_KILL",    "CAP_SETGID",       "CAP_SETUID",          "CAP_SETPCAP",
          "CAP_SETFCAP", "CAP_SYS_CHROOT",   "CAP_NET_BIND_SERVICE"};
}

bool is_grantable_capability(const std::string& name) {
  static const std::set<std::string> kMore = {"CAP_NET_RAW",    "CAP_MKNOD",    "CAP_AUDIT_WRITE",
                                              "CAP_SYS_PTRACE", "CAP_IPC_LOCK", "CAP_SYS_NICE"};
  return default_capabilities().contains(name) || kMore.contains(name);
}

}  // namespace agenttier::node
