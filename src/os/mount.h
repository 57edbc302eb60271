#pragma once
// Mounts: overlay, tmpfs and bind mounts, and finding and removing those below a folder.
//
// Guarantees: every mount made here is private, so that it spreads to no other namespace, and
// nosuid and nodev unless it is an overlay root (whose processes run with no-new-privileges).
// unmount is idempotent. Targets must exist. Calls block only as long as the kernel does (well
// under 1 ms).
//
// Example:
//   AT_OK(os::mount_overlay({.lower = rootfs, .upper = upper, .work = work, .target = merged}));

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace agenttier::os {

struct OverlayMount {
  std::string lower;  // one directory, never changed
  std::string upper;
  std::string work;
  std::string target;
};
base::Status mount_overlay(const OverlayMount& mount);

struct TmpfsMount {
  std::string target;
  std::uint64_t bytes_max = 0;   // 0: the kernel's default, half of the memory
  std::uint64_t inodes_max = 0;  // 0: the kernel's default
  unsigned mode = 01777;
  unsigned uid = 0;
  unsigned gid = 0;
};
base::Status mount_tmpfs(const TmpfsMount& mount);

base::Status bind_mount(const std::string& source, const std::string& target);
// Binds what a descriptor (O_PATH) refers to, whatever its name is by now.
base::Status bind_mount_fd(int source_fd, const std::string& target);

// Detaches it at once, even if busy. Success if nothing is mounted there.
base::Status unmount(const std::string& target);

// Mount points at or below a folder, deepest first, as the kernel knows them now.
base::Result<std::vector<std::string>> mounts_below(const std::string& folder);
// From the text of /proc/self/mountinfo; pure.
std::vector<std::string> parse_mounts_below(const std::string& mountinfo,
                                            const std::string& folder);
base::Status unmount_below(const std::string& folder);

}  // namespace agenttier::os
