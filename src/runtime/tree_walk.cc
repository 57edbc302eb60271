#include "runtime/tree_walk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "runtime/file_roots.h"

namespace agenttier::runtime {

using base::Result;
using base::Status;

TreeWalk::TreeWalk(os::Fd start, Options options) : options_(options), start_(std::move(start)) {}

TreeWalk::~TreeWalk() = default;

Result<std::optional<TreeWalk::Entry>> TreeWalk::next() {
  if (start_.is_open()) {
    struct stat info {};
    if (fstat(start_.get(), &info) < 0) return file_error("walk", ".", errno);
    device_ = info.st_dev;
    AT_OK(enter(std::move(start_), {}));
  }
  if (to_enter_) {
    const Entry folder = *std::exchange(to_enter_, std::nullopt);
    AT_OK(descend(folder));
  }
  while (!levels_.empty()) {
    Level& level = levels_.back();
    errno = 0;
    const dirent* found = readdir(level.stream.get());
    if (found == nullptr) {
      if (errno != 0) return file_error("walk", level.self.path, errno);
      if (auto left = leave()) return left;
      continue;
    }
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    const std::string& above = level.self.path;
    Entry entry{dirfd(level.stream.get()),
                std::string(name),
                (above.empty() ? "" : above + "/") + std::string(name),
                {}};
    if (fstatat(entry.folder, found->d_name, &entry.info, AT_SYMLINK_NOFOLLOW) < 0) continue;
    const bool inside =
        S_ISDIR(entry.info.st_mode) &&
        (options_.other_file_systems == Cross::kEnter || entry.info.st_dev == device_);
    if (inside && options_.order == Order::kFolderLast) {
      AT_OK(descend(entry));
      continue;
    }
    if (inside) to_enter_ = entry;
    return std::optional<Entry>(std::move(entry));
  }
  return std::optional<Entry>();
}

Status TreeWalk::descend(const Entry& entry) {
  if (levels_.size() > options_.depth_max) {
    return base::invalid("walk: " + entry.path.substr(0, 200) + ": is deeper than " +
                         std::to_string(options_.depth_max) + " levels");
  }
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  os::Fd folder(openat(dirfd(levels_.back().stream.get()), entry.name.c_str(), kFlags));
  if (!folder.is_open()) {
    // Vanished, or is something else by now.
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return {};
    if (errno == EACCES && options_.unreadable == Unreadable::kSkip) return {};
    return file_error("walk", entry.path, errno);
  }
  return enter(std::move(folder), entry);
}

Status TreeWalk::enter(os::Fd folder, Entry self) {
  DIR* const stream = fdopendir(folder.get());
  if (stream == nullptr) return file_error("walk", self.path, errno);
  (void)folder.release();  // the stream's now
  levels_.push_back({std::unique_ptr<DIR, CloseStream>(stream), std::move(self)});
  return {};
}

// Goes up one level; gives the directory that is left behind if it is its turn.
std::optional<TreeWalk::Entry> TreeWalk::leave() {
  Entry self = std::move(levels_.back().self);
  levels_.pop_back();
  if (levels_.empty() || options_.order == Order::kFolderFirst) return std::nullopt;
  self.folder = dirfd(levels_.back().stream.get());
  return self;
}

}  // namespace agenttier::runtime
