#include "runtime/file_changes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/file_upload.h"
#include "runtime/limits.h"
#include "runtime/tree_walk.h"

namespace agenttier::runtime {

using base::Result;
using base::Status;

namespace {

constexpr mode_t kDirectoryMode = 0755;
constexpr FileRoots::FindOptions kKeepLink{.link = FinalLink::kKeep};

Status refuse_root(const Place& place, const std::string& path, std::string_view step) {
  if (!place.is_root()) return {};
  return base::invalid(std::string(step) + ": " + path + ": is a root and stays");
}

Status copy_content(int from, Upload& upload, const std::string& path) {
  std::string buffer(kFilePieceBytes, '\0');
  while (true) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count == 0) return {};
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error("move", path, errno);
    AT_OK(upload.write({buffer.data(), static_cast<std::size_t>(count)}));
  }
}

Status move_between_file_systems(const FileRoots& roots, const Place& source,
                                 const std::string& from, const std::string& to,
                                 base::Random& random) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const os::Fd file(openat(source.parent.get(), source.name.c_str(), kFlags));
  struct stat info {};
  if (!file.is_open() || fstat(file.get(), &info) < 0) return file_error("move", from, errno);
  if (!S_ISREG(info.st_mode)) {
    return base::invalid("move: " + from + ": only a regular file can be moved to " + to +
                         ", which is on another file system");
  }
  AT_TRY(const auto upload, Upload::begin(roots, to, info.st_mode & 07777, random));
  AT_OK(copy_content(file.get(), *upload, from));
  AT_OK(upload->commit());
  if (unlinkat(source.parent.get(), source.name.c_str(), 0) < 0) {
    return file_error("move", from, errno);
  }
  return {};
}

// Empties a directory.
Status remove_below(os::Fd folder, const std::string& path) {
  TreeWalk walk(std::move(folder), {.depth_max = kDepthMax, .order = Order::kFolderLast});
  while (true) {
    AT_TRY(const auto entry, walk.next());
    if (!entry) return {};
    const int flag = S_ISDIR(entry->info.st_mode) ? AT_REMOVEDIR : 0;
    if (unlinkat(entry->folder, entry->name.c_str(), flag) < 0 && errno != ENOENT) {
      return file_error("remove", path + "/" + entry->path, errno);
    }
  }
}

}  // namespace

Result<Made> make_directory(const FileRoots& roots, const std::string& path) {
  AT_TRY(const Place place, roots.find(path, {.parents = Parents::kMake}));
  if (mkdirat(place.parent.get(), place.name.c_str(), kDirectoryMode) == 0) return Made::kNew;
  if (errno != EEXIST) return file_error("make a directory", path, errno);
  struct stat info {};
  if (fstatat(place.parent.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode)) {
    return Made::kExisted;
  }
  return file_error("make a directory", path, EEXIST);
}

Status move_file(const FileRoots& roots, const std::string& from, const std::string& to,
                 base::Random& random) {
  AT_TRY(const Place source, roots.find(from, kKeepLink));
  AT_OK(refuse_root(source, from, "move"));
  AT_TRY(const Place target, roots.find(to, kKeepLink));
  AT_OK(refuse_root(target, to, "move"));
  struct stat info {};
  if (fstatat(source.parent.get(), source.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) {
    return file_error("move", from, errno);
  }
  const bool taken =
      fstatat(target.parent.get(), target.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (taken && S_ISDIR(info.st_mode)) {
    return base::conflict("move: " + to + ": is a directory already");
  }
  if (renameat(source.parent.get(), source.name.c_str(), target.parent.get(),
               target.name.c_str()) == 0) {
    return {};
  }
  if (errno != EXDEV) return file_error("move", from + " to " + to, errno);
  return move_between_file_systems(roots, source, from, to, random);
}

Status remove_file(const FileRoots& roots, const std::string& path, Depth depth) {
  AT_TRY(const Place place, roots.find(path, kKeepLink));
  AT_OK(refuse_root(place, path, "remove"));
  const int folder = place.parent.get();
  const char* const name = place.name.c_str();
  struct stat info {};
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
    return file_error("remove", path, errno);
  }
  const bool is_directory = S_ISDIR(info.st_mode);
  if (is_directory && depth == Depth::kTree) {
    os::Fd tree(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!tree.is_open()) return file_error("remove", path, errno);
    AT_OK(remove_below(std::move(tree), path));
  }
  if (unlinkat(folder, name, is_directory ? AT_REMOVEDIR : 0) < 0) {
    return file_error("remove", path, errno);
  }
  return {};
}

}  // namespace agenttier::runtime
