#include "os/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "os/file.h"

namespace agenttier::os {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t kFileBytesMax = 4UL << 20U;
constexpr const char* kInner = "/inner";
constexpr const char* kInnerControllers[] = {"pids", "cpu"};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  std::string part;
  while (std::getline(stream, part, separator)) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  const auto text = read_file(path, kFileBytesMax);
  std::uint64_t number = 0;
  if (!text || !(std::istringstream(*text) >> number)) return std::nullopt;
  return number;
}

// The number behind `key` in a file of "key number" lines.
std::optional<std::uint64_t> read_keyed(const std::string& path, const std::string& key) {
  const auto text = read_file(path, kFileBytesMax);
  if (!text) return std::nullopt;
  std::istringstream words(*text);
  std::string name;
  std::uint64_t number = 0;
  while (words >> name >> number) {
    if (name == key) return number;
  }
  return std::nullopt;
}

// Calls for every group below and including `directory`, deepest first. The tree is as deep as its
// creator nested it; sandboxes have no write access to it.
void for_each_group(const std::string& directory,
                    const std::function<void(const std::string&)>& visit) {
  for (const std::string& name : list_directory(directory)) {
    const std::string child = directory + "/" + name;
    if (is_directory(child)) for_each_group(child, visit);
  }
  visit(directory);
}

struct CgroupMount {
  std::string target;
  std::string type;
  std::vector<std::string> options;
};

std::vector<CgroupMount> cgroup_mounts(const std::string& mountinfo) {
  std::vector<CgroupMount> mounts;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    const auto left = split(line.substr(0, separator), ' ');
    const auto right = split(line.substr(separator + 3), ' ');
    if (left.size() < 5 || right.size() < 3 || !right[0].starts_with("cgroup")) continue;
    mounts.push_back({left[4], right[0], split(right[2], ',')});
  }
  return mounts;
}

}  // namespace

Result<Cgroups> Cgroups::detect() {
  AT_TRY(const std::string text, read_file("/proc/self/mountinfo", 64UL << 20U));
  return parse(text);
}

Result<Cgroups> Cgroups::parse(const std::string& mountinfo) {
  static const std::set<std::string> kControllers = {
      "cpu",  "cpuacct", "cpuset", "memory",  "devices",  "freezer",   "blkio",
      "pids", "hugetlb", "rdma",   "net_cls", "net_prio", "perf_event"};
  Cgroups result;
  std::string unified;
  for (const CgroupMount& mount : cgroup_mounts(mountinfo)) {
    if (std::find(result.trees_.begin(), result.trees_.end(), mount.target) !=
        result.trees_.end()) {
      continue;
    }
    result.trees_.push_back(mount.target);
    if (mount.type == "cgroup2") {
      unified = mount.target;
      continue;
    }
    for (const std::string& option : mount.options) {
      if (kControllers.contains(option) || option.starts_with("name=")) {
        result.roots_.emplace(option, mount.target);
      }
    }
  }
  if (result.trees_.empty()) {
    return base::not_found("control groups: none are mounted below /sys/fs/cgroup");
  }
  const bool v1_controllers =
      std::any_of(result.roots_.begin(), result.roots_.end(),
                  [](auto& root) { return !root.first.starts_with("name="); });
  if (unified.empty()) return result;
  result.mode_ = v1_controllers ? CgroupMode::kHybrid : CgroupMode::kV2;
  if (v1_controllers) result.hybrid_mount_ = unified;
  const auto controllers = read_file(unified + "/cgroup.controllers", kFileBytesMax);
  for (const std::string& name : split(controllers ? *controllers : "", ' ')) {
    result.roots_.emplace(name.substr(0, name.find('\n')), unified);
  }
  if (!v1_controllers) result.roots_.emplace("", unified);
  return result;
}

bool Cgroups::has(const std::string& controller) const {
  return roots_.contains(controller);
}

std::optional<std::string> Cgroups::directory(const std::string& controller,
                                              const std::string& path) const {
  const auto root = roots_.find(controller);
  if (root == roots_.end()) return std::nullopt;
  return root->second + path;
}

std::optional<std::uint64_t> Cgroups::memory_bytes(const std::string& path) const {
  const auto group = directory("memory", path);
  if (!group) return std::nullopt;
  return read_number(*group +
                     (mode_ == CgroupMode::kV2 ? "/memory.current" : "/memory.usage_in_bytes"));
}

std::optional<std::uint64_t> Cgroups::memory_limit_bytes(const std::string& path) const {
  const auto group = directory("memory", path);
  if (!group) return std::nullopt;
  return read_number(*group +
                     (mode_ == CgroupMode::kV2 ? "/memory.max" : "/memory.limit_in_bytes"));
}

std::optional<std::chrono::nanoseconds> Cgroups::cpu_time(const std::string& path) const {
  std::optional<std::uint64_t> nanoseconds;
  if (mode_ == CgroupMode::kV2) {
    const auto group = directory("", path);
    if (group) nanoseconds = read_keyed(*group + "/cpu.stat", "usage_usec");
    if (nanoseconds) *nanoseconds *= 1000U;
  } else if (const auto group = directory("cpuacct", path)) {
    nanoseconds = read_number(*group + "/cpuacct.usage");
  }
  if (!nanoseconds) return std::nullopt;
  return std::chrono::nanoseconds(*nanoseconds);
}

std::optional<std::uint64_t> Cgroups::process_count(const std::string& path) const {
  const auto group = directory("pids", path);
  return group ? read_number(*group + "/pids.current") : std::nullopt;
}

std::uint64_t Cgroups::oom_kills(const std::string& path) const {
  const auto group = directory("memory", path);
  if (!group) return 0;
  const char* file = mode_ == CgroupMode::kV2 ? "/memory.events" : "/memory.oom_control";
  return read_keyed(*group + file, "oom_kill").value_or(0);
}

std::vector<pid_t> Cgroups::processes(const std::string& path) const {
  std::set<pid_t> found;
  for (const std::string& tree : trees_) {
    if (!is_directory(tree + path)) continue;
    for_each_group(tree + path, [&found](const std::string& group) {
      const auto text = read_file(group + "/cgroup.procs", kFileBytesMax);
      std::istringstream numbers(text ? *text : "");
      pid_t pid = 0;
      // 0 stands for a process of another pid namespace; it must never reach kill().
      while (numbers >> pid) {
        if (pid > 1) found.insert(pid);
      }
    });
  }
  return {found.begin(), found.end()};
}

Status Cgroups::kill_all(const std::string& path, std::chrono::milliseconds time_max) const {
  const auto deadline = std::chrono::steady_clock::now() + time_max;
  auto pause = std::chrono::microseconds(200);
  while (true) {
    const std::vector<pid_t> alive = processes(path);
    if (alive.empty()) return {};
    const auto unified = mode_ == CgroupMode::kV2 ? directory("", path) : std::nullopt;
    if (!unified || !write_existing(*unified + "/cgroup.kill", "1")) {
      for (const pid_t pid : alive) ::kill(pid, SIGKILL);
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return base::deadline_exceeded("kill the processes of " + path + ": " +
                                     std::to_string(alive.size()) + " are still there");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
}

Status Cgroups::remove(const std::string& path) const {
  Status status;
  for (const std::string& tree : trees_) {
    if (!is_directory(tree + path)) continue;
    for_each_group(tree + path, [&status](const std::string& group) {
      // Busy for a moment after its last process ended.
      for (int attempt = 0; ::rmdir(group.c_str()) != 0 && errno != ENOENT; ++attempt) {
        if (errno != EBUSY || attempt >= 50) {
          status = base::from_errno("remove control group " + group, errno);
          return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  }
  return status;
}

// In version 2 the inner group is a threaded one, which has the two controllers and shares the
// rest.
Result<std::vector<Fd>> Cgroups::make_inner(const std::string& path) const {
  std::vector<Fd> entrances;
  const char* const entrance = mode_ == CgroupMode::kV2 ? "/cgroup.threads" : "/tasks";
  for (const char* controller : kInnerControllers) {
    const auto outer = directory(controller, path);
    if (!outer || (mode_ == CgroupMode::kV2 && !entrances.empty())) continue;
    AT_OK(make_directories(*outer + kInner, 0755));
    AT_TRY(Fd opened, open_file(*outer + kInner + entrance, O_WRONLY));
    entrances.push_back(std::move(opened));
  }
  return entrances;
}

Status Cgroups::limit_inner(const std::string& path, std::int64_t pids_max) const {
  const auto outer = directory("pids", path);
  if (!outer) return base::not_found("limit the tasks of " + path + ": no pids controller");
  if (mode_ == CgroupMode::kV2) {
    AT_OK(write_existing(*outer + kInner + "/cgroup.type", "threaded"));
    AT_OK(write_existing(*outer + "/cgroup.subtree_control", "+pids +cpu"));
  }
  return write_existing(*outer + kInner + "/pids.max", std::to_string(pids_max));
}

std::vector<std::string> Cgroups::children(const std::string& path) const {
  std::set<std::string> names;
  for (const std::string& tree : trees_) {
    for (const std::string& name : list_directory(tree + path)) {
      if (is_directory(tree + path + "/" + name)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace agenttier::os
