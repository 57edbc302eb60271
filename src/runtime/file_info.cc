#include "runtime/file_info.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "runtime/limits.h"

namespace agenttier::runtime {

using base::Result;

namespace {

std::string_view type_name(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "dir";
  if (S_ISLNK(mode)) return "symlink";
  return "other";
}

char type_letter(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return 'd';
    case S_IFLNK:
      return 'l';
    case S_IFCHR:
      return 'c';
    case S_IFBLK:
      return 'b';
    case S_IFIFO:
      return 'p';
    case S_IFSOCK:
      return 's';
    default:
      return '-';
  }
}

api::FileEntry describe(int folder, const char* name, const struct stat& info) {
  api::FileEntry entry;
  entry.name = base::to_valid_utf8(name);
  entry.size = info.st_size;
  entry.is_dir = S_ISDIR(info.st_mode);
  entry.mode = mode_text(info.st_mode);
  entry.modified_at = info.st_mtime;
  entry.type = type_name(info.st_mode);
  if (S_ISLNK(info.st_mode)) {
    std::array<char, PATH_MAX> target;
    const ssize_t size = readlinkat(folder, name, target.data(), target.size());
    if (size >= 0) {
      entry.target = base::to_valid_utf8({target.data(), static_cast<std::size_t>(size)});
    }
  }
  return entry;
}

std::string last_name(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "/";
  const std::size_t slash = path.rfind('/', end);
  return path.substr(slash + 1, end - slash);
}

std::string quoted(const std::string& text) {
  return boost::json::serialize(boost::json::value(base::to_valid_utf8(text)));
}

}  // namespace

bool is_upload_name(std::string_view name) {
  return name.starts_with(kUploadPrefix);
}

std::string mode_text(mode_t mode) {
  std::string text(1, type_letter(mode));
  const std::string_view letters = "rwxrwxrwx";
  for (int i = 0; i < 9; ++i) text += (mode & (0400U >> i)) != 0 ? letters[i] : '-';
  const auto special = [&](mode_t bit, std::size_t at, char with, char without) {
    if ((mode & bit) != 0) text[at] = text[at] == 'x' ? with : without;
  };
  special(S_ISUID, 3, 's', 'S');
  special(S_ISGID, 6, 's', 'S');
  special(S_ISVTX, 9, 't', 'T');
  return text;
}

Result<api::FileEntry> describe_file(const FileRoots& roots, const std::string& path) {
  AT_TRY(const Place place, roots.find(path, {.link = FinalLink::kKeep}));
  struct stat info {};
  if (fstatat(place.parent.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) {
    return file_error("stat", path, errno);
  }
  api::FileEntry entry = describe(place.parent.get(), place.name.c_str(), info);
  entry.name = base::to_valid_utf8(last_name(path));
  return entry;
}

DirectoryListing::DirectoryListing(std::string path, os::Fd folder)
    : path_(std::move(path)), folder_(std::move(folder)) {}

Result<std::unique_ptr<DirectoryListing>> DirectoryListing::open(const FileRoots& roots,
                                                                 const std::string& path) {
  AT_TRY(os::Fd folder, roots.open(path, O_RDONLY | O_DIRECTORY));
  std::unique_ptr<DirectoryListing> listing(new DirectoryListing(path, std::move(folder)));
  AT_OK(listing->read_names());
  return listing;
}

base::Status DirectoryListing::read_names() {
  DIR* const stream = fdopendir(fcntl(folder_.get(), F_DUPFD_CLOEXEC, 3));
  if (stream == nullptr) return file_error("list", path_, errno);
  errno = 0;
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || is_upload_name(name)) continue;
    if (starts_.size() >= kListEntriesMax) {
      truncated_ = true;
      break;
    }
    starts_.push_back(static_cast<std::uint32_t>(names_.size()));
    names_.append(name.data(), name.size() + 1);
    errno = 0;
  }
  const int failure = truncated_ ? 0 : errno;
  closedir(stream);
  if (failure != 0) return file_error("list", path_, failure);
  std::sort(starts_.begin(), starts_.end(), [this](std::uint32_t left, std::uint32_t right) {
    return std::strcmp(names_.data() + left, names_.data() + right) < 0;
  });
  return {};
}

void DirectoryListing::next(std::string& out, std::size_t bytes_max) {
  if (done_) return;
  if (next_ == 0 && !any_) out += "{\"path\":" + quoted(path_) + ",\"entries\":[";
  while (next_ < starts_.size() && out.size() < bytes_max) {
    const char* const name = name_at(next_++);
    struct stat info {};
    // Gone since its name was read: it is not listed.
    if (fstatat(folder_.get(), name, &info, AT_SYMLINK_NOFOLLOW) < 0) continue;
    if (std::exchange(any_, true)) out += ',';
    out += boost::json::serialize(describe(folder_.get(), name, info).to_json());
  }
  if (next_ < starts_.size()) return;
  out += truncated_ ? "],\"truncated\":true}" : "]}";
  done_ = true;
}

}  // namespace agenttier::runtime
