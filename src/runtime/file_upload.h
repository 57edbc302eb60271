#pragma once
// An Upload replaces a file as a whole or not at all: bytes go to a file without a name (or a
// hidden one, where the file system has no such thing), are made durable, and take the place of the
// old file in one step. Destroyed before commit() it leaves nothing.
//
// A new file gets mode 0644 unless told otherwise; an existing one keeps its mode and owner.
// Missing parents are made. All calls may block: use a BlockingPool.
//
// Example:
//   AT_TRY(auto upload, Upload::begin(roots, path, std::nullopt, random));
//   AT_OK(upload->write(bytes));
//   AT_OK(upload->commit());

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "os/fd.h"
#include "runtime/file_roots.h"

namespace agenttier::runtime {

class Upload {
 public:
  static base::Result<std::unique_ptr<Upload>> begin(const FileRoots& roots,
                                                     const std::string& path,
                                                     std::optional<mode_t> mode,
                                                     base::Random& random);
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  base::Status write(std::string_view bytes);
  base::Status commit();
  std::uint64_t bytes() const { return bytes_; }

 private:
  Upload(std::string path, Place place, std::string temporary_name);
  base::Status open_file(std::optional<mode_t> mode);
  base::Status link_file();

  std::string path_;
  Place place_;
  std::string temporary_name_;
  enum class Stage : std::uint8_t { kNameless, kNamed, kDone } stage_ = Stage::kNameless;
  os::Fd file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t flushed_ = 0;
};

// Removes what uploads of an earlier run left below a root, as long as `go_on` is true. Bounded,
// and never follows a link. Gives the number of files removed.
std::size_t remove_leftover_uploads(const std::string& root, const std::atomic<bool>& go_on);

}  // namespace agenttier::runtime
