#include "controller/pod_security.h"

#include <utility>

#include "api/names.h"

namespace agenttier::controller {
namespace {

api::SeccompProfile default_profile() {
  api::SeccompProfile profile;
  profile.type = "RuntimeDefault";
  return profile;
}

}  // namespace

api::PodSecurityContext hardened_pod_context() {
  api::PodSecurityContext context;
  context.run_as_user = kSandboxUser;
  context.run_as_group = kSandboxUser;
  context.fs_group = kSandboxUser;
  // Without this a large volume is walked at every start.
  context.fs_group_change_policy = "OnRootMismatch";
  context.run_as_non_root = true;
  context.seccomp_profile = default_profile();
  return context;
}

api::SecurityContext hardened_context() {
  api::SecurityContext context;
  context.run_as_user = kSandboxUser;
  context.run_as_group = kSandboxUser;
  context.run_as_non_root = true;
  context.read_only_root_filesystem = true;
  context.allow_privilege_escalation = false;
  context.capabilities.emplace().drop = {"ALL"};
  context.seccomp_profile = default_profile();
  return context;
}

void relax(api::SecurityContext& context) {
  context.read_only_root_filesystem = false;
  context.seccomp_profile->type = "Unconfined";
}

void harden(api::Container& container) {
  api::SecurityContext context = hardened_context();
  if (container.security_context) {
    const api::SecurityContext& own = *container.security_context;
    if (own.run_as_user.value_or(0) > 0) context.run_as_user = own.run_as_user;
    if (own.run_as_group.value_or(0) > 0) context.run_as_group = own.run_as_group;
    if (own.read_only_root_filesystem) {
      context.read_only_root_filesystem = own.read_only_root_filesystem;
    }
  }
  container.security_context = std::move(context);
}

api::VolumeMount volume_mount(std::string_view name, std::string path, MountAccess access) {
  api::VolumeMount mount;
  mount.name = name;
  mount.mount_path = std::move(path);
  if (access == MountAccess::kReadOnly) mount.read_only = true;
  return mount;
}

std::vector<api::VolumeMount> shared_mounts(const std::string& workspace) {
  return {volume_mount(api::names::kWorkspaceVolume, workspace, MountAccess::kReadWrite),
          volume_mount(api::names::kTmpVolume, "/tmp", MountAccess::kReadWrite)};
}

}  // namespace agenttier::controller
