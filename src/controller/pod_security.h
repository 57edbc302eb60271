#pragma once
// The walls of a sandbox's pod, as values: security contexts and the mounts that containers share.
// Every container of a sandbox's pod passes through here.

#include <string>
#include <vector>

#include "api/container.h"
#include "api/pod.h"

namespace agenttier::controller {

inline constexpr std::int64_t kSandboxUser = 1000;  // uid, gid and fsGroup

api::PodSecurityContext hardened_pod_context();
api::SecurityContext hardened_context();
// What `privileged` lifts: the read-only root file system and the seccomp profile.
void relax(api::SecurityContext& context);
// Replaces the security context of a container that a user or template gave; a uid of its own that
// is not root stays.
void harden(api::Container& container);

enum class MountAccess : std::uint8_t { kReadWrite, kReadOnly };
api::VolumeMount volume_mount(std::string_view name, std::string path, MountAccess access);
// The workspace and /tmp.
std::vector<api::VolumeMount> shared_mounts(const std::string& workspace);

}  // namespace agenttier::controller
