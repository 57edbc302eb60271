#include "runtime/file_upload.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include "runtime/file_info.h"
#include "runtime/limits.h"
#include "runtime/tree_walk.h"

namespace agenttier::runtime {

using base::Result;
using base::Status;

namespace {

constexpr mode_t kModeDefault = 0644;
constexpr mode_t kModeMask = 07777;
constexpr std::size_t kNameRandomBytes = 8;

std::string descriptor_path(const os::Fd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

}  // namespace

Result<std::unique_ptr<Upload>> Upload::begin(const FileRoots& roots, const std::string& path,
                                              std::optional<mode_t> mode, base::Random& random) {
  AT_TRY(Place place, roots.find(path, {.parents = Parents::kMake}));
  const std::string name = std::string(kUploadPrefix) + random.hex(kNameRandomBytes);
  std::unique_ptr<Upload> upload(new Upload(path, std::move(place), name));
  AT_OK(upload->open_file(mode));
  return upload;
}

Upload::Upload(std::string path, Place place, std::string temporary_name)
    : path_(std::move(path)),
      place_(std::move(place)),
      temporary_name_(std::move(temporary_name)) {}

Upload::~Upload() {
  if (stage_ == Stage::kNamed) unlinkat(place_.parent.get(), temporary_name_.c_str(), 0);
}

Status Upload::open_file(std::optional<mode_t> mode) {
  const int folder = place_.parent.get();
  struct stat old {};
  const bool exists = fstatat(folder, place_.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    return base::conflict("write: " + path_ + ": is a directory");
  }
  if (exists && !S_ISREG(old.st_mode)) {
    return base::invalid("write: " + path_ + ": is not a regular file");
  }
  file_ = os::Fd(openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!file_.is_open() || access(descriptor_path(file_).c_str(), F_OK) < 0) {
    constexpr int kFlags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
    file_ = os::Fd(openat(folder, temporary_name_.c_str(), kFlags, 0600));
    if (!file_.is_open()) return file_error("write", path_, errno);
    stage_ = Stage::kNamed;
  }
  // The owner first, for it takes away special bits. A stranger's file becomes ours.
  if (exists) (void)!fchown(file_.get(), old.st_uid, old.st_gid);
  const mode_t wanted = exists ? old.st_mode & kModeMask : mode.value_or(kModeDefault);
  if (fchmod(file_.get(), wanted) < 0) return file_error("write", path_, errno);
  return {};
}

Status Upload::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error("write", path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
    bytes_ += static_cast<std::uint64_t>(count);
  }
  if (bytes_ - flushed_ >= kUploadFlushBytes) {
    // Starts to write back, so that little is left to wait for at the end.
    (void)sync_file_range(file_.get(), static_cast<off64_t>(flushed_),
                          static_cast<off64_t>(bytes_ - flushed_), SYNC_FILE_RANGE_WRITE);
    flushed_ = bytes_;
  }
  return {};
}

Status Upload::commit() {
  if (fsync(file_.get()) < 0) return file_error("write", path_, errno);
  if (stage_ == Stage::kNameless) AT_OK(link_file());
  const int folder = place_.parent.get();
  if (renameat(folder, temporary_name_.c_str(), folder, place_.name.c_str()) < 0) {
    return file_error("write", path_, errno);
  }
  stage_ = Stage::kDone;
  const os::Fd readable(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (readable.is_open() && fsync(readable.get()) < 0 && errno != EINVAL) {
    return file_error("write", path_, errno);
  }
  return {};
}

Status Upload::link_file() {
  if (linkat(AT_FDCWD, descriptor_path(file_).c_str(), place_.parent.get(), temporary_name_.c_str(),
             AT_SYMLINK_FOLLOW) < 0) {
    return file_error("write", path_, errno);
  }
  stage_ = Stage::kNamed;
  return {};
}

std::size_t remove_leftover_uploads(const std::string& root, const std::atomic<bool>& go_on) {
  const std::time_t started = std::time(nullptr);
  os::Fd folder(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return 0;
  TreeWalk walk(std::move(folder), {.depth_max = kDepthMax,
                                    .other_file_systems = Cross::kSkip,
                                    .unreadable = Unreadable::kSkip});
  std::size_t removed = 0;
  for (std::uint64_t seen = 0; seen < kLeftoverScanMax && go_on; ++seen) {
    const auto entry = walk.next();
    if (!entry || !*entry) break;
    const TreeWalk::Entry& found = **entry;
    // An upload of this run is not older than this run.
    if (!is_upload_name(found.name) || !S_ISREG(found.info.st_mode) ||
        found.info.st_ctime >= started) {
      continue;
    }
    if (unlinkat(found.folder, found.name.c_str(), 0) == 0) ++removed;
  }
  return removed;
}

}  // namespace agenttier::runtime
