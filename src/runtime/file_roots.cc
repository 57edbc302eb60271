#include "runtime/file_roots.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "runtime/limits.h"

namespace agenttier::runtime {

using base::Result;
using base::Status;

namespace {

constexpr mode_t kParentMode = 0755;
constexpr int kRetriesMax = 16;  // of a lookup that raced with a rename

int open_beneath(int root, const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int i = 0;; ++i) {
    const long fd = syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd >= 0 || errno != EAGAIN || i == kRetriesMax) return static_cast<int>(fd);
  }
}

// Some kernels lack the call, and some sandboxes forbid what they do not know.
Resolver probe() {
  const os::Fd fd(open_beneath(AT_FDCWD, ".", O_PATH | O_DIRECTORY));
  return fd.is_open() ? Resolver::kKernel : Resolver::kByComponent;
}

base::Error outside(const std::string& path, const std::vector<std::string>& roots) {
  std::string names;
  for (const std::string& root : roots) names += (names.empty() ? "" : " and ") + root;
  base::Error error = base::denied("path: " + path.substr(0, 300) + " is outside " + names);
  error.reason = "outside_workspace";
  return error;
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (!name.empty() && name != ".") names.emplace_back(name);
  }
  return names;
}

// What follows the root in the path; nothing if the path is not in it.
std::optional<std::string_view> below(std::string_view path, std::string_view root) {
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (!path.empty() && path[0] != '/') return std::nullopt;
  return path;
}

Status check_names(const std::string& path, const std::vector<std::string>& names) {
  if (names.size() > kDepthMax) {
    return base::invalid_field("path", "is deeper than " + std::to_string(kDepthMax) + " levels");
  }
  for (const std::string& name : names) {
    if (name == "..") {
      return base::invalid_field("path", "must not contain \"..\": " + path.substr(0, 300));
    }
    if (name.size() > kNameBytesMax) {
      return base::invalid_field(
          "path", "has a name longer than " + std::to_string(kNameBytesMax) + " bytes");
    }
  }
  return {};
}

}  // namespace

base::Error file_error(std::string_view step, const std::string& path, int error_number) {
  const std::string message =
      std::string(step) + ": " + path.substr(0, 300) + ": " + std::strerror(error_number);
  base::Error error = base::internal(message);
  switch (error_number) {
    case ENOENT:
      return base::not_found(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return base::denied(message);
    case EEXIST:
      return base::exists(message);
    case ENOTEMPTY:
    case EBUSY:
    case ETXTBSY:
      return base::conflict(message);
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:
    case EFBIG:
      return base::invalid(message);
    case ENOSPC:
    case EDQUOT:
      error = base::exhausted(message);
      error.reason = "no_space";
      return error;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return base::unavailable(message);
    default:
      return error;
  }
}

// Follows a path one name at a time, holding every directory on the way open.
class FileRoots::Walk {
 public:
  Walk(const std::string& path, const Inside& inside, const FileRoots& roots, FindOptions options)
      : path_(path), roots_(roots), options_(options), root_(inside.root) {
    pending_.assign(inside.names.begin(), inside.names.end());
  }

  Result<Place> run() {
    AT_OK(enter_root());
    while (!pending_.empty()) {
      const std::string name = std::move(pending_.front());
      pending_.pop_front();
      if (name == "..") {  // of a link; paths from clients have none
        if (open_.size() == 1) return outside(path_, roots_.roots_);
        open_.pop_back();
        continue;
      }
      AT_TRY(const Step step, take(name));
      if (step == Step::kArrived) return Place{std::move(open_.back()), name};
    }
    // A link led to a directory that is held open, or the path is the root.
    return Place{std::move(open_.back()), "."};
  }

 private:
  enum class Step : std::uint8_t { kArrived, kOn };

  Status enter_root() {
    open_.clear();
    open_.emplace_back(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!open_.back().is_open()) return file_error("open", root_, errno);
    return {};
  }

  Result<Step> take(const std::string& name) {
    const bool last = pending_.empty();
    const int folder = open_.back().get();
    struct stat info {};
    if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno != ENOENT) return file_error("look up", path_, errno);
      if (last) return Step::kArrived;
      AT_OK(make_folder(name));
    } else if (S_ISLNK(info.st_mode) && (!last || options_.link == FinalLink::kFollow)) {
      AT_OK(follow(name));
      return Step::kOn;
    } else if (last) {
      return Step::kArrived;
    }
    return enter(name);
  }

  Status make_folder(const std::string& name) {
    if (options_.parents == Parents::kMustExist) return file_error("look up", path_, ENOENT);
    if (mkdirat(open_.back().get(), name.c_str(), kParentMode) < 0 && errno != EEXIST) {
      return file_error("make a directory for", path_, errno);
    }
    return {};
  }

  Result<Step> enter(const std::string& name) {
    constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    os::Fd next(openat(open_.back().get(), name.c_str(), kFlags));
    if (!next.is_open()) return file_error("look up", path_, errno);
    if (open_.size() > kDepthMax) return file_error("look up", path_, ENAMETOOLONG);
    open_.push_back(std::move(next));
    return Step::kOn;
  }

  Status follow(const std::string& name) {
    if (++links_ > kSymlinksMax) return file_error("look up", path_, ELOOP);
    std::array<char, PATH_MAX> target;
    const ssize_t size = readlinkat(open_.back().get(), name.c_str(), target.data(), target.size());
    if (size < 0) return file_error("look up", path_, errno);
    std::string_view text(target.data(), static_cast<std::size_t>(size));
    if (text.starts_with('/')) {
      AT_TRY(text, enter_root_of(text));
    }
    std::vector<std::string> names = split(text);
    pending_.insert(pending_.begin(), names.begin(), names.end());
    if (pending_.size() > 2 * kDepthMax) return file_error("look up", path_, ENAMETOOLONG);
    return {};
  }

  // Starts again at the root that an absolute link names; gives the rest of its target.
  Result<std::string_view> enter_root_of(std::string_view target) {
    for (const std::string& root : roots_.roots_) {
      const auto rest = below(target, root);
      if (!rest) continue;
      root_ = root;
      AT_OK(enter_root());
      return *rest;
    }
    return outside(path_, roots_.roots_);
  }

  const std::string& path_;
  const FileRoots& roots_;
  FindOptions options_;
  std::string root_;
  std::vector<os::Fd> open_;
  std::deque<std::string> pending_;
  int links_ = 0;
};

FileRoots::FileRoots(std::vector<std::string> roots) : FileRoots(std::move(roots), probe()) {}

FileRoots::FileRoots(std::vector<std::string> roots, Resolver resolver)
    : roots_(std::move(roots)), resolver_(resolver) {}

Result<FileRoots::Inside> FileRoots::parse(const std::string& path) const {
  if (!path.starts_with('/')) return base::invalid_field("path", "must be absolute");
  if (path.size() > kPathBytesMax) {
    return base::invalid_field("path",
                               "is longer than " + std::to_string(kPathBytesMax) + " bytes");
  }
  if (path.find('\0') != std::string::npos) {
    return base::invalid_field("path", "must not contain a NUL byte");
  }
  const std::vector<std::string> names = split(path);
  AT_OK(check_names(path, names));
  std::string normal;
  for (const std::string& name : names) normal += "/" + name;
  // The innermost root, should one lie in the other.
  const std::string* found = nullptr;
  for (const std::string& root : roots_) {
    if (below(normal, root) && (found == nullptr || root.size() > found->size())) found = &root;
  }
  if (found == nullptr) return outside(path, roots_);
  return Inside{*found, split(std::string_view(normal).substr(found->size()))};
}

Result<os::Fd> FileRoots::open(const std::string& path, int flags) const {
  AT_TRY(const Inside inside, parse(path));
  if (resolver_ == Resolver::kKernel) {
    const os::Fd root(::open(inside.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.is_open()) return file_error("open", inside.root, errno);
    std::string relative = ".";
    for (const std::string& name : inside.names) relative += "/" + name;
    os::Fd file(open_beneath(root.get(), relative.c_str(), flags));
    if (file.is_open()) return file;
    // An absolute link is out of bounds for the kernel, but may lead back inside.
    if (errno != EXDEV) return file_error("open", path, errno);
  }
  const bool keep_link = (flags & O_NOFOLLOW) != 0;
  FindOptions options;
  options.link = keep_link ? FinalLink::kKeep : FinalLink::kFollow;
  AT_TRY(const Place place, walk(path, inside, options));
  os::Fd file(openat(place.parent.get(), place.name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return file_error("open", path, errno);
  return file;
}

Result<Place> FileRoots::find(const std::string& path, FindOptions options) const {
  AT_TRY(const Inside inside, parse(path));
  return walk(path, inside, options);
}

Result<Place> FileRoots::walk(const std::string& path, const Inside& inside,
                              FindOptions options) const {
  return Walk(path, inside, *this, options).run();
}

}  // namespace agenttier::runtime
