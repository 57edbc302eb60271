#include "identity/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

namespace agenttier::identity {
namespace {

constexpr std::size_t kFileBytesMax = 4096;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

base::Error system_error(std::string_view step, const std::string& path) {
  const int error_number = errno;
  return base::from_errno(std::string(step) + " " + path, error_number);
}

base::Status check_file(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error("examine", path);
  if (!S_ISREG(info.st_mode)) return base::conflict(path + ": is not a regular file; remove it");
  if (info.st_uid != ::geteuid()) {
    return base::denied(path + ": belongs to another user; change its owner or remove it");
  }
  if ((info.st_mode & 077) != 0) {
    return base::denied(path + ": others may read or write it; run: chmod 600 " + path);
  }
  return {};
}

base::Result<std::string> read_all(int fd, const std::string& path) {
  std::string content(kFileBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = ::read(fd, content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kFileBytesMax) return base::conflict(path + ": is too large to be a key");
  content.resize(size);
  while (!content.empty() &&
         std::string_view(" \t\r\n").find(content.back()) != std::string::npos) {
    content.pop_back();
  }
  return content;
}

base::Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error("write", path);
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(fd) != 0) return system_error("flush", path);
  return {};
}

base::Status flush_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const File opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open() || ::fsync(opened.fd()) != 0) return system_error("flush", directory);
  return {};
}

base::Status write_temporary(const std::string& path, const std::string& content) {
  const File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return system_error("make", path);
  return write_all(file.fd(), content, path);
}

}  // namespace

base::Result<std::optional<std::string>> read_key_file(const std::string& path) {
  // O_NONBLOCK: a FIFO in its place must not hold the program up.
  const File file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT) return std::optional<std::string>();
    if (errno == ELOOP) return base::conflict(path + ": is a symbolic link; remove it");
    return system_error("open", path);
  }
  AT_OK(check_file(file.fd(), path));
  AT_TRY(std::string content, read_all(file.fd(), path));
  return std::optional<std::string>(std::move(content));
}

base::Status write_key_file(const std::string& path, const std::string& temporary,
                            const std::string& content) {
  base::Status status = write_temporary(temporary, content);
  // A link, unlike a rename, never replaces what is there.
  if (status && ::link(temporary.c_str(), path.c_str()) != 0) status = system_error("make", path);
  ::unlink(temporary.c_str());
  if (!status) return status;
  return flush_directory_of(path);
}

}  // namespace agenttier::identity
