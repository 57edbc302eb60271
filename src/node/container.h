#pragma once
// What a container is given, in plain terms, and the OCI bundle configuration made from it.
//
// Whatever the configuration says, every container has its own pid, mount, ipc and uts namespaces,
// the default seccomp profile, a minimal /dev, masked /proc and /sys, no core dumps, and no swap
// beyond its memory limit. Privileged containers do not exist here.
//
// Pure: the same configuration gives the same bundle.
//
// Example:
//   ContainerConfig config{.argv = {"/bin/sh"}, .rootfs = merged, .netns_path =
//   network.netns_path}; AT_OK(os::write_file_unsynced(bundle + "/config.json",
//   format_bundle(config), 0600));

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "node/seccomp_default.h"

namespace agenttier::node {

enum class Access : std::uint8_t { kReadWrite, kReadOnly };
enum class Escalation : std::uint8_t {
  kForbidden,
  kAllowed
};  // setuid programs and file capabilities
enum class CgroupView : std::uint8_t { kOwnNamespace, kShared };

struct MountedPath {
  std::string source;  // on this machine
  std::string target;  // in the container
  Access access = Access::kReadWrite;
};

struct ContainerLimits {
  std::int64_t memory_bytes = 0;      // 0: none
  std::int64_t cpu_millis = 0;        // 0: none
  std::int64_t cpu_share_millis = 0;  // weight against others under load; 0: the least
  std::int64_t pids = 4096;
  std::int64_t pids_reserve = 0;  // on top of `pids`, for what is outside the inner group
  std::uint64_t open_files = 1U << 20U;
  std::uint64_t shared_memory_bytes = 64ULL << 20U;  // /dev/shm
};

struct ContainerConfig {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"
  std::string working_dir = "/";
  std::string hostname;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  std::string rootfs;
  Access root_access = Access::kReadWrite;
  std::string netns_path;
  std::string cgroup_path;
  CgroupView cgroup_view = CgroupView::kOwnNamespace;
  std::vector<MountedPath> mounts;     // in order
  std::set<std::string> capabilities;  // "CAP_CHOWN": what root in the container may do
  Escalation escalation = Escalation::kForbidden;
  SeccompEnforcer seccomp = SeccompEnforcer::kKernel;
  ContainerLimits limits;
};

// The text of config.json.
std::string format_bundle(const ContainerConfig& config);

// What root in a container may do unless the pod drops it: what package managers and servers need.
// Raw sockets, device nodes and audit are not in it.
std::set<std::string> default_capabilities();
// What a pod may ask for on top of the default.
bool is_grantable_capability(const std::string& name);

}  // namespace agenttier::node
