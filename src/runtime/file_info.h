#pragma once
// What a directory holds, and what a file is, without opening any file.

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/runtime_protocol.h"
#include "base/result.h"
#include "os/fd.h"
#include "runtime/file_roots.h"

namespace agenttier::runtime {

// Uploads grow under names of this form; they are no part of what a directory holds.
inline constexpr std::string_view kUploadPrefix = ".agenttier-upload-";
bool is_upload_name(std::string_view name);

// "-rw-r--r--", as ls prints it.
std::string mode_text(mode_t mode);

// A symlink is described, not followed. kNotFound if there is nothing.
base::Result<api::FileEntry> describe_file(const FileRoots& roots, const std::string& path);

// The listing of a directory as JSON, given in pieces so that a large one needs little memory:
// only the names are held. Entries are described when their piece is made.
class DirectoryListing {
 public:
  static base::Result<std::unique_ptr<DirectoryListing>> open(const FileRoots& roots,
                                                              const std::string& path);
  // Appends to `out` until it has about bytes_max.
  void next(std::string& out, std::size_t bytes_max);
  bool done() const { return done_; }

 private:
  DirectoryListing(std::string path, os::Fd folder);
  base::Status read_names();
  const char* name_at(std::size_t index) const { return names_.data() + starts_[index]; }

  std::string path_;
  os::Fd folder_;
  std::string names_;  // each ends with a NUL
  std::vector<std::uint32_t> starts_;
  std::size_t next_ = 0;
  bool any_ = false;
  bool truncated_ = false;
  bool done_ = false;
};

}  // namespace agenttier::runtime
