#include "os/quota.h"

#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/file.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif

namespace agenttier::os {

using base::from_errno;
using base::Result;
using base::Status;

namespace {

constexpr unsigned long kXfsMagic = 0x58465342;
constexpr std::uint32_t kFirstProject = 1U << 20U;  // leaves the low ids to the administrator
constexpr std::uint32_t kProjectProbesMax = 64;
// A file for every 4 KiB, as file systems are made, and enough for a small volume: a file system's
// files can be used up without its bytes.
constexpr std::uint64_t kBytesPerFile = 4096;
constexpr std::uint64_t kFilesMin = 65536;

std::uint64_t files_max(std::uint64_t bytes_max) {
  return bytes_max == 0 ? 0 : std::max(kFilesMin, bytes_max / kBytesPerFile);
}

bool is_xfs(int fd) {
  struct statfs info;
  return ::fstatfs(fd, &info) == 0 && static_cast<unsigned long>(info.f_type) == kXfsMagic;
}

long quota_control(int fd, int command, std::uint32_t project, void* data) {
  return ::syscall(SYS_quotactl_fd, fd, QCMD(command, PRJQUOTA), project, data);
}

Status unsupported(int error) {
  return base::unimplemented(
      "size limits: the file system keeps no project quotas (" + std::string(std::strerror(error)) +
      "); put the state folder on xfs or ext4 mounted with the option prjquota");
}

// The id that the inode asks for, or one of the next if another tree has it.
Result<std::uint32_t> choose_project(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return from_errno("limit the size of " + path, errno);
  const auto wanted = kFirstProject + static_cast<std::uint32_t>(info.st_ino % 0xE0000000U);
  for (std::uint32_t project = wanted; project < wanted + kProjectProbesMax; ++project) {
    dqblk present{};
    const bool known = quota_control(fd, Q_GETQUOTA, project, &present) == 0;
    if (!known || (present.dqb_bhardlimit == 0 && present.dqb_curspace == 0)) return project;
  }
  return base::exhausted("limit the size of " + path + ": no free project id near " +
                         std::to_string(wanted));
}

Result<std::uint32_t> tag_tree(int fd, const std::string& path) {
  fsxattr attributes{};
  if (::ioctl(fd, FS_IOC_FSGETXATTR, &attributes) != 0) return unsupported(errno).error();
  if (attributes.fsx_projid != 0) return attributes.fsx_projid;
  AT_TRY(attributes.fsx_projid, choose_project(fd, path));
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  if (::ioctl(fd, FS_IOC_FSSETXATTR, &attributes) != 0) return unsupported(errno).error();
  return attributes.fsx_projid;
}

Status set_limit(int fd, std::uint32_t project, std::uint64_t bytes_max) {
  if (is_xfs(fd)) {
    fs_disk_quota limit{};
    limit.d_version = FS_DQUOT_VERSION;
    limit.d_id = project;
    limit.d_flags = FS_PROJ_QUOTA;
    limit.d_fieldmask = FS_DQ_BHARD | FS_DQ_BSOFT | FS_DQ_IHARD | FS_DQ_ISOFT;
    limit.d_blk_hardlimit = bytes_max / 512U;
    limit.d_blk_softlimit = bytes_max / 512U;
    limit.d_ino_hardlimit = files_max(bytes_max);
    limit.d_ino_softlimit = files_max(bytes_max);
    if (quota_control(fd, Q_XSETQLIM, project, &limit) != 0) return unsupported(errno);
    return {};
  }
  dqblk limit{};
  limit.dqb_bhardlimit = bytes_max / 1024U;
  limit.dqb_bsoftlimit = bytes_max / 1024U;
  limit.dqb_ihardlimit = files_max(bytes_max);
  limit.dqb_isoftlimit = files_max(bytes_max);
  limit.dqb_valid = QIF_LIMITS;
  if (quota_control(fd, Q_SETQUOTA, project, &limit) != 0) return unsupported(errno);
  return {};
}

}  // namespace

Status set_tree_quota(const std::string& path, std::uint64_t bytes_max) {
  AT_TRY(Fd directory, open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  dqblk probe{};
  // Asking first leaves no mark on a file system without quotas.
  if (quota_control(directory.get(), Q_GETQUOTA, kFirstProject, &probe) != 0 && errno != ENOENT) {
    return unsupported(errno);
  }
  AT_TRY(const std::uint32_t project, tag_tree(directory.get(), path));
  return set_limit(directory.get(), project, bytes_max);
}

Result<std::uint64_t> tree_quota_usage(const std::string& path) {
  AT_TRY(Fd directory, open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  fsxattr attributes{};
  if (::ioctl(directory.get(), FS_IOC_FSGETXATTR, &attributes) != 0)
    return unsupported(errno).error();
  if (attributes.fsx_projid == 0) return base::not_found(path + " has no size limit");
  dqblk usage{};
  if (quota_control(directory.get(), Q_GETQUOTA, attributes.fsx_projid, &usage) != 0) {
    return unsupported(errno).error();
  }
  return usage.dqb_curspace;
}

Status clear_tree_quota(const std::string& path) {
  AT_TRY(Fd directory, open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  fsxattr attributes{};
  if (::ioctl(directory.get(), FS_IOC_FSGETXATTR, &attributes) != 0) return {};
  if (attributes.fsx_projid < kFirstProject) return {};
  return set_limit(directory.get(), attributes.fsx_projid, 0);
}

}  // namespace agenttier::os
