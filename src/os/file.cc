#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

namespace agenttier::os {

using base::from_errno;
using base::Result;
using base::Status;

namespace {

enum class Durability { kSynced, kUnsynced };

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_all(int fd, std::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return from_errno("write " + path, errno);
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status write_and_rename(const std::string& path, std::string_view data, unsigned mode,
                        Durability durability) {
  static std::atomic<unsigned> counter{0};  // only makes names differ
  const std::string temporary =
      path + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  AT_TRY(Fd file, open_file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
  Status written = write_all(file.get(), data, path);
  if (written && ::fchmod(file.get(), mode) != 0) written = from_errno("write " + path, errno);
  if (written && durability == Durability::kSynced && ::fsync(file.get()) != 0) {
    written = from_errno("sync " + path, errno);
  }
  if (written) written = rename_path(temporary, path);
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return durability == Durability::kSynced ? sync_directory(parent_of(path)) : Status();
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  AT_TRY(Fd file, open_file(path, O_RDONLY));
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return from_errno("read " + path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > bytes_max) {
      return base::invalid("read " + path + ": over " + std::to_string(bytes_max) + " bytes");
    }
  }
}

Status write_file_atomic(const std::string& path, std::string_view data, unsigned mode) {
  return write_and_rename(path, data, mode, Durability::kSynced);
}

Status write_file_unsynced(const std::string& path, std::string_view data, unsigned mode) {
  return write_and_rename(path, data, mode, Durability::kUnsynced);
}

Status write_existing(const std::string& path, std::string_view data) {
  AT_TRY(Fd file, open_file(path, O_WRONLY | O_TRUNC));
  return write_all(file.get(), data, path);
}

bool exists(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

bool is_directory(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

Status make_directories(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    // The umask must not decide over who may enter.
    return change_mode(path, mode);
  }
  if (errno == EEXIST) {
    struct stat info;
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
    return from_errno("make directory " + path, ENOTDIR);
  }
  if (errno != ENOENT) return from_errno("make directory " + path, errno);
  const std::string parent = parent_of(path);
  if (parent == path) return from_errno("make directory " + path, ENOENT);
  AT_OK(make_directories(parent, 0755));
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return from_errno("make directory " + path, errno);
  }
  return change_mode(path, mode);
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return from_errno("remove " + path, errno);
}

Status rename_path(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return from_errno("rename " + from + " to " + to, errno);
}

Status sync_directory(const std::string& path) {
  AT_TRY(Fd directory, open_directory(path));
  if (::fsync(directory.get()) != 0) return from_errno("sync " + path, errno);
  return {};
}

Status sync_file_system(const std::string& path) {
  AT_TRY(Fd directory, open_directory(path));
  if (::syncfs(directory.get()) != 0) return from_errno("sync the file system of " + path, errno);
  return {};
}

Status change_owner(const std::string& path, unsigned uid, unsigned gid) {
  if (::lchown(path.c_str(), uid, gid) == 0) return {};
  return from_errno("change owner of " + path, errno);
}

Status change_mode(const std::string& path, unsigned mode) {
  if (::chmod(path.c_str(), mode) == 0) return {};
  return from_errno("change mode of " + path, errno);
}

Result<Fd> open_in_root(int root_fd, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN means that a rename raced with the walk.
  for (int attempt = 0; attempt < 32; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root_fd, path.c_str(), &how, sizeof how);
    if (fd >= 0) return Fd(static_cast<int>(fd));
    if (errno != EINTR && errno != EAGAIN) break;
  }
  return from_errno("open " + path, errno);
}

Result<FileSystemUsage> file_system_usage(const std::string& path) {
  struct statvfs info;
  if (::statvfs(path.c_str(), &info) != 0) return from_errno("read the space of " + path, errno);
  return FileSystemUsage{.bytes_total = info.f_blocks * info.f_frsize,
                         .bytes_free = info.f_bavail * info.f_frsize,
                         .inodes_total = info.f_files,
                         .inodes_free = info.f_favail};
}

}  // namespace agenttier::os
