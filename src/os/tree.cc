// Trees of files, walked by descriptors so that nothing below can redirect the walk.

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "os/file.h"

namespace agenttier::os {

using base::from_errno;
using base::Result;
using base::Status;

namespace {

// Deeper trees are refused: each level holds a descriptor and a stack frame.
constexpr int kDepthMax = 400;
// Removal never refuses: what lies deeper is moved to the top and removed from there.
constexpr int kRemovalDepthMax = 64;
constexpr std::size_t kCopyChunk = 64UL << 20U;

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using DirectoryStream = std::unique_ptr<DIR, DirectoryCloser>;

Result<DirectoryStream> open_stream(Fd directory, const std::string& path) {
  DIR* stream = ::fdopendir(directory.get());
  if (stream == nullptr) return from_errno("list " + path, errno);
  (void)directory.release();
  return DirectoryStream(stream);
}

Result<Fd> open_child_directory(int parent, const char* name, const std::string& path) {
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return from_errno("open " + path + "/" + name, errno);
  return Fd(fd);
}

// Names are read whole before any is removed: removal while listing may skip entries.
Result<std::vector<std::string>> names_of(Fd directory, const std::string& path) {
  AT_TRY(DirectoryStream stream, open_stream(std::move(directory), path));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

Result<Fd> duplicate(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return from_errno("duplicate a descriptor", errno);
  return Fd(copy);
}

Status too_deep(const std::string& path) {
  return base::invalid(path + ": nested over " + std::to_string(kDepthMax) + " directories");
}

class Removal {
 public:
  Removal(int root, dev_t device, std::string path)
      : root_(root), device_(device), path_(std::move(path)) {}

  Status run() {
    while (true) {
      const std::uint64_t moved_before = moved_;
      AT_OK(remove_below(root_, 0));
      if (moved_ == moved_before) return {};
    }
  }

 private:
  Status remove_below(int directory, int depth) {
    AT_TRY(Fd listing, duplicate(directory));
    // The copy shares its position with the original, which an earlier pass has moved.
    if (::lseek(listing.get(), 0, SEEK_SET) < 0) return from_errno("list " + path_, errno);
    AT_TRY(const std::vector<std::string> names, names_of(std::move(listing), path_));
    for (const std::string& name : names) AT_OK(remove_entry(directory, name, depth));
    return {};
  }

  Status remove_entry(int parent, const std::string& name, int depth) {
    struct stat info;
    if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Status() : failed(name, errno);
    }
    if (info.st_dev != device_) return mounted(name);
    if (!S_ISDIR(info.st_mode)) return unlink_entry(parent, name, 0);
    AT_TRY(Fd child, open_child_directory(parent, name.c_str(), path_));
    if (depth < kRemovalDepthMax) {
      AT_OK(remove_below(child.get(), depth + 1));
    } else if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) {
      return move_to_top(parent, name);
    }
    return unlink_entry(parent, name, AT_REMOVEDIR);
  }

  Status move_to_top(int parent, const std::string& name) {
    const std::string to = ".removing-" + std::to_string(moved_++);
    if (::renameat(parent, name.c_str(), root_, to.c_str()) == 0) return {};
    return errno == EBUSY ? mounted(name) : failed(name, errno);
  }

  Status unlink_entry(int parent, const std::string& name, int flags) {
    if (::unlinkat(parent, name.c_str(), flags) == 0 || errno == ENOENT) return {};
    return errno == EBUSY ? mounted(name) : failed(name, errno);
  }

  Status failed(const std::string& name, int error) const {
    return from_errno("remove " + path_ + ": " + base::to_valid_utf8(name), error);
  }
  Status mounted(const std::string& name) const {
    return base::conflict("remove " + path_ + ": a file system is mounted at " +
                          base::to_valid_utf8(name));
  }

  int root_;
  dev_t device_;
  std::string path_;
  std::uint64_t moved_ = 0;
};

Status measure(Fd directory, dev_t device, SpaceUsage& usage, const std::string& path, int depth) {
  if (depth > kDepthMax) return too_deep(path);
  const int fd = directory.get();
  AT_TRY(DirectoryStream stream, open_stream(std::move(directory), path));
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info;
    // The tree may change under the walk; what is gone does not count.
    if (::fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (info.st_dev != device) continue;
    usage.bytes += static_cast<std::uint64_t>(info.st_blocks) * 512U;
    usage.inodes += 1;
    if (!S_ISDIR(info.st_mode)) continue;
    auto child = open_child_directory(fd, entry->d_name, path);
    if (child) AT_OK(measure(std::move(*child), device, usage, path, depth + 1));
  }
  return {};
}

Status copy_attributes(int from, int to, const std::string& path) {
  std::string names(65536, '\0');
  const ssize_t length = ::flistxattr(from, names.data(), names.size());
  if (length <= 0) return {};
  names.resize(static_cast<std::size_t>(length));
  for (std::size_t at = 0; at < names.size();) {
    const char* name = names.c_str() + at;
    at += std::string_view(name).size() + 1;
    // Others (security.*, trusted.*) are privileges that a copy must not carry.
    if (!std::string_view(name).starts_with("user.")) continue;
    std::string value(65536, '\0');
    const ssize_t size = ::fgetxattr(from, name, value.data(), value.size());
    if (size < 0) continue;
    if (::fsetxattr(to, name, value.data(), static_cast<std::size_t>(size), 0) != 0) {
      return from_errno("copy attributes of " + path, errno);
    }
  }
  return {};
}

Status copy_metadata(int to, const struct stat& info, const std::string& path) {
  if (::fchown(to, info.st_uid, info.st_gid) != 0)
    return from_errno("copy owner of " + path, errno);
  if (::fchmod(to, info.st_mode & 07777U) != 0) return from_errno("copy mode of " + path, errno);
  const timespec times[2] = {info.st_atim, info.st_mtim};
  if (::futimens(to, times) != 0) return from_errno("copy times of " + path, errno);
  return {};
}

Status copy_bytes(int from, int to, const std::string& path) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  while (true) {
    const ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, kCopyChunk, 0);
    if (count == 0) return {};
    if (count < 0 && errno != EINTR) return from_errno("copy " + path, errno);
  }
}

Status copy_file(int from_dir, int to_dir, const char* name, const struct stat& info,
                 const std::string& path) {
  const Fd from(::openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!from.is_open()) return from_errno("copy " + path, errno);
  const Fd to(::openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!to.is_open()) return from_errno("copy " + path, errno);
  AT_OK(copy_bytes(from.get(), to.get(), path));
  AT_OK(copy_attributes(from.get(), to.get(), path));
  return copy_metadata(to.get(), info, path);
}

Status copy_link(int from_dir, int to_dir, const char* name, const struct stat& info,
                 const std::string& path) {
  char target[4096];
  const ssize_t length = ::readlinkat(from_dir, name, target, sizeof target - 1);
  if (length < 0) return from_errno("copy " + path, errno);
  target[length] = '\0';
  if (::symlinkat(target, to_dir, name) != 0) return from_errno("copy " + path, errno);
  if (::fchownat(to_dir, name, info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return from_errno("copy owner of " + path, errno);
  }
  return {};
}

Status copy_below(Fd from, int to, dev_t device, const std::string& path, int depth);

Status copy_entry(int from, int to, const char* name, dev_t device, const std::string& path,
                  int depth) {
  struct stat info;
  if (::fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status() : from_errno("copy " + path, errno);
  }
  const std::string full = path + "/" + name;
  if (S_ISREG(info.st_mode)) return copy_file(from, to, name, info, full);
  if (S_ISLNK(info.st_mode)) return copy_link(from, to, name, info, full);
  if (!S_ISDIR(info.st_mode) || info.st_dev != device) return {};
  if (::mkdirat(to, name, 0700) != 0) return from_errno("copy " + full, errno);
  AT_TRY(Fd from_child, open_child_directory(from, name, path));
  AT_TRY(Fd to_child, open_child_directory(to, name, path));
  AT_OK(copy_attributes(from_child.get(), to_child.get(), full));
  AT_OK(copy_below(std::move(from_child), to_child.get(), device, full, depth + 1));
  return copy_metadata(to_child.get(), info, full);
}

Status copy_below(Fd from, int to, dev_t device, const std::string& path, int depth) {
  if (depth > kDepthMax) return too_deep(path);
  const int fd = from.get();
  AT_TRY(DirectoryStream stream, open_stream(std::move(from), path));
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    AT_OK(copy_entry(fd, to, entry->d_name, device, path, depth));
  }
  return {};
}

}  // namespace

Status remove_tree(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? Status() : from_errno("remove " + path, errno);
  }
  if (!S_ISDIR(info.st_mode)) return remove_file(path);
  AT_TRY(Fd directory, open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  AT_OK(Removal(directory.get(), info.st_dev, path).run());
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  if (errno == EBUSY) return base::conflict("remove " + path + ": it is a mount point");
  return from_errno("remove " + path, errno);
}

Status copy_tree(const std::string& from, const std::string& to) {
  AT_TRY(Fd source, open_file(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat info;
  if (::fstat(source.get(), &info) != 0) return from_errno("copy " + from, errno);
  if (::mkdir(to.c_str(), 0700) != 0 && errno != EEXIST) return from_errno("copy to " + to, errno);
  AT_TRY(Fd target, open_file(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  AT_OK(copy_below(std::move(source), target.get(), info.st_dev, from, 0));
  return copy_metadata(target.get(), info, to);
}

Result<SpaceUsage> tree_usage(const std::string& path) {
  AT_TRY(Fd directory, open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat info;
  if (::fstat(directory.get(), &info) != 0) return from_errno("measure " + path, errno);
  SpaceUsage usage;
  AT_OK(measure(std::move(directory), info.st_dev, usage, path, 0));
  return usage;
}

}  // namespace agenttier::os
