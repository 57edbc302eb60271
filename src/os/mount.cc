#include "os/mount.h"

#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <sstream>

#include "os/file.h"

namespace agenttier::os {

using base::from_errno;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMountInfoBytesMax = 64UL << 20U;

Status make_private(const std::string& target) {
  if (::mount(nullptr, target.c_str(), nullptr, MS_PRIVATE, nullptr) == 0) return {};
  const int error = errno;
  ::umount2(target.c_str(), MNT_DETACH);
  return from_errno("mount " + target, error);
}

// Overlay options separate paths by ',' and ':' and know '\' as the escape.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ',' || c == ':' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

// The kernel writes space, tab, newline and backslash as "\ooo".
std::string unescape_octal(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      result += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

bool lies_below(const std::string& path, const std::string& folder) {
  if (!path.starts_with(folder)) return false;
  return path.size() == folder.size() || folder.back() == '/' || path[folder.size()] == '/';
}

}  // namespace

Status mount_overlay(const OverlayMount& mount) {
  const std::string options = "lowerdir=" + escaped(mount.lower) +
                              ",upperdir=" + escaped(mount.upper) +
                              ",workdir=" + escaped(mount.work);
  if (::mount("overlay", mount.target.c_str(), "overlay", MS_NODEV, options.c_str()) != 0) {
    return from_errno("mount the root file system on " + mount.target, errno);
  }
  return make_private(mount.target);
}

Status mount_tmpfs(const TmpfsMount& mount) {
  char mode[32];
  std::snprintf(mode, sizeof mode, "mode=%o,uid=%u,gid=%u", mount.mode, mount.uid, mount.gid);
  std::string options = mode;
  if (mount.bytes_max > 0) options += ",size=" + std::to_string(mount.bytes_max);
  if (mount.inodes_max > 0) options += ",nr_inodes=" + std::to_string(mount.inodes_max);
  if (::mount("tmpfs", mount.target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return from_errno("mount memory on " + mount.target, errno);
  }
  return make_private(mount.target);
}

Status bind_mount(const std::string& source, const std::string& target) {
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return from_errno("mount " + source + " on " + target, errno);
  }
  AT_OK(make_private(target));
  if (::mount(nullptr, target.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV,
              nullptr) != 0) {
    return from_errno("mount " + source + " on " + target, errno);
  }
  return {};
}

Status bind_mount_fd(int source_fd, const std::string& target) {
  return bind_mount("/proc/self/fd/" + std::to_string(source_fd), target);
}

Status unmount(const std::string& target) {
  if (::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return {};
  if (errno == EINVAL || errno == ENOENT) return {};  // not a mount point
  return from_errno("unmount " + target, errno);
}

std::vector<std::string> parse_mounts_below(const std::string& mountinfo,
                                            const std::string& folder) {
  std::vector<std::string> targets;
  std::istringstream lines(mountinfo);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string skipped, target;
    fields >> skipped >> skipped >> skipped >> skipped >> target;
    target = unescape_octal(target);
    if (lies_below(target, folder)) targets.push_back(std::move(target));
  }
  // Later mounts lie on top of earlier ones.
  std::reverse(targets.begin(), targets.end());
  return targets;
}

Result<std::vector<std::string>> mounts_below(const std::string& folder) {
  AT_TRY(const std::string text, read_file("/proc/self/mountinfo", kMountInfoBytesMax));
  return parse_mounts_below(text, folder);
}

Status unmount_below(const std::string& folder) {
  AT_TRY(const std::vector<std::string> targets, mounts_below(folder));
  for (const std::string& target : targets) AT_OK(unmount(target));
  return {};
}

}  // namespace agenttier::os
