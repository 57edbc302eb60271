#include "runtime/file_content.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

namespace agenttier::runtime {

using base::Result;

namespace {

std::string format_http_date(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 64> text;
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

std::string format_etag(const struct stat& info) {
  std::array<char, 96> text;
  const int size = std::snprintf(text.data(), text.size(), "\"%llx-%llx-%llx%09lx\"",
                                 static_cast<unsigned long long>(info.st_ino),
                                 static_cast<unsigned long long>(info.st_size),
                                 static_cast<unsigned long long>(info.st_mtim.tv_sec),
                                 static_cast<unsigned long>(info.st_mtim.tv_nsec));
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

Result<std::shared_ptr<FileContent>> FileContent::open(const FileRoots& roots,
                                                       const std::string& path) {
  AT_TRY(os::Fd file, roots.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (fstat(file.get(), &info) < 0) return file_error("read", path, errno);
  if (!S_ISREG(info.st_mode)) {
    return base::invalid("read: " + path + ": is not a regular file");
  }
  (void)posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::shared_ptr<FileContent> content(new FileContent);
  content->path_ = path;
  content->file_ = std::move(file);
  content->size_ = static_cast<std::uint64_t>(info.st_size);
  content->etag_ = format_etag(info);
  content->last_modified_ = format_http_date(info.st_mtime);
  return content;
}

Result<std::string> FileContent::read(std::uint64_t offset, std::size_t length) const {
  std::string bytes(length, '\0');
  std::size_t done = 0;
  while (done < length) {
    const ssize_t count =
        pread(file_.get(), bytes.data() + done, length - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error("read", path_, errno);
    if (count == 0) return base::conflict("read: " + path_ + ": became shorter meanwhile");
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

}  // namespace agenttier::runtime
