#include "runtime/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "runtime/file_info.h"
#include "runtime/limits.h"
#include "runtime/tree_walk.h"

// libarchive marks names as UTF-8 only where the locale is, and asks the C library. An image may
// have no locale at all, and our names are always UTF-8: this program answers in the C library's
// place.
extern "C" char* nl_langinfo(nl_item item) noexcept {
  static char utf8[] = "UTF-8";
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return item == CODESET ? utf8 : nl_langinfo_l(item, plain);
}

// The ZIP writer calls this for devices and the like, which are never given to it. In libarchive it
// shares a file with the table of all formats: linked statically, that table would bring every
// format with it and the compression libraries they need.
extern "C" void __archive_write_entry_filetype_unsupported(archive* writer, archive_entry*,
                                                           const char* format) {
  archive_set_error(writer, EINVAL, "%s: unsupported kind of file", format);
}

namespace agenttier::runtime {

using base::Result;
using base::Status;

namespace {

constexpr const char* kCompressionLevel = "3";  // fast, and most of what higher levels gain
constexpr std::size_t kReadBytes = 64UL << 10;

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
struct FreeArchive {
  void operator()(archive* writer) const { archive_write_free(writer); }
};

class LibarchiveZip final : public ZipStream {
 public:
  LibarchiveZip(std::string path, os::Fd folder)
      : path_(std::move(path)),
        walk_(std::move(folder), {.depth_max = kDepthMax, .unreadable = Unreadable::kSkip}) {}

  Status begin();
  Status next(std::string& out, std::size_t bytes_max) override;
  bool done() const override { return done_; }

 private:
  static la_ssize_t write_callback(archive* writer, void* self, const void* bytes,
                                   std::size_t size);

  Status step();
  Status add(const TreeWalk::Entry& found);
  Status write_header(const TreeWalk::Entry& found, const struct stat& info,
                      const std::string& link_target);
  Status copy_some();
  base::Error failure(std::string_view step) const;

  std::string path_;
  TreeWalk walk_;
  std::string out_;
  bool done_ = false;
  std::size_t entries_ = 0;
  os::Fd file_;  // the one being copied
  std::string buffer_ = std::string(kReadBytes, '\0');
  // Declared last: freeing it writes.
  std::unique_ptr<archive, FreeArchive> writer_;
};

la_ssize_t LibarchiveZip::write_callback(archive*, void* self, const void* bytes,
                                         std::size_t size) {
  static_cast<LibarchiveZip*>(self)->out_.append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

Status LibarchiveZip::begin() {
  writer_.reset(archive_write_new());
  archive* const writer = writer_.get();
  if (writer == nullptr) return base::unavailable("archive: no memory");
  if (archive_write_set_format_zip(writer) != ARCHIVE_OK ||
      archive_write_set_format_option(writer, "zip", "compression-level", kCompressionLevel) !=
          ARCHIVE_OK ||
      archive_write_set_bytes_per_block(writer, 0) != ARCHIVE_OK ||
      archive_write_open(writer, this, nullptr, write_callback, nullptr) != ARCHIVE_OK) {
    return failure("begin");
  }
  return {};
}

Status LibarchiveZip::next(std::string& out, std::size_t bytes_max) {
  while (!done_ && out.size() + out_.size() < bytes_max) AT_OK(step());
  out += out_;
  out_.clear();
  return {};
}

Status LibarchiveZip::step() {
  if (file_.is_open()) return copy_some();
  AT_TRY(const auto found, walk_.next());
  if (found) return add(*found);
  if (archive_write_close(writer_.get()) != ARCHIVE_OK) return failure("end");
  done_ = true;
  return {};
}

Status LibarchiveZip::add(const TreeWalk::Entry& found) {
  if (is_upload_name(found.name)) return {};
  if (++entries_ > kArchiveEntriesMax) {
    return base::invalid("archive: " + path_ + ": has more than " +
                         std::to_string(kArchiveEntriesMax) + " files");
  }
  if (S_ISDIR(found.info.st_mode)) return write_header(found, found.info, {});
  if (S_ISLNK(found.info.st_mode)) {
    std::array<char, PATH_MAX> target;
    const ssize_t size = readlinkat(found.folder, found.name.c_str(), target.data(), target.size());
    if (size < 0) return {};  // vanished
    return write_header(found, found.info, {target.data(), static_cast<std::size_t>(size)});
  }
  if (!S_ISREG(found.info.st_mode)) return {};
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  os::Fd file(openat(found.folder, found.name.c_str(), kFlags));
  struct stat info {};
  if (!file.is_open() || fstat(file.get(), &info) < 0 || !S_ISREG(info.st_mode)) return {};
  AT_OK(write_header(found, info, {}));
  if (info.st_size > 0) file_ = std::move(file);
  return {};
}

Status LibarchiveZip::write_header(const TreeWalk::Entry& found, const struct stat& info,
                                   const std::string& link_target) {
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  if (!entry) return base::unavailable("archive: no memory");
  archive_entry_copy_pathname(entry.get(), base::to_valid_utf8(found.path).c_str());
  archive_entry_set_filetype(entry.get(), info.st_mode & S_IFMT);
  archive_entry_set_perm(entry.get(), info.st_mode & 07777);
  archive_entry_set_mtime(entry.get(), info.st_mtime, 0);
  archive_entry_set_size(entry.get(), S_ISREG(info.st_mode) ? info.st_size : 0);
  if (S_ISLNK(info.st_mode)) archive_entry_copy_symlink(entry.get(), link_target.c_str());
  if (archive_write_header(writer_.get(), entry.get()) < ARCHIVE_WARN) return failure(found.path);
  return {};
}

Status LibarchiveZip::copy_some() {
  const ssize_t count = read(file_.get(), buffer_.data(), buffer_.size());
  if (count < 0 && errno == EINTR) return {};
  if (count < 0) return file_error("archive", path_, errno);
  const auto size = static_cast<std::size_t>(count);
  const la_ssize_t written =
      size == 0 ? 0 : archive_write_data(writer_.get(), buffer_.data(), size);
  if (written < 0) return failure("write");
  // Less than given: the file grew beyond the size it was announced with.
  if (static_cast<std::size_t>(written) < buffer_.size()) file_.reset();
  return {};
}

base::Error LibarchiveZip::failure(std::string_view step) const {
  const char* const text = archive_error_string(writer_.get());
  return base::internal("archive: " + std::string(step) + ": " +
                        (text == nullptr ? "unknown" : text));
}

}  // namespace

Result<std::unique_ptr<ZipStream>> ZipStream::open(const FileRoots& roots,
                                                   const std::string& path) {
  AT_TRY(os::Fd folder, roots.open(path, O_RDONLY | O_DIRECTORY));
  auto zip = std::make_unique<LibarchiveZip>(path, std::move(folder));
  AT_OK(zip->begin());
  return std::unique_ptr<ZipStream>(std::move(zip));
}

}  // namespace agenttier::runtime
