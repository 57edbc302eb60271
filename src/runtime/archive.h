#pragma once
// A ZipStream turns a directory into a ZIP file, piece by piece, in memory that does not depend on
// the size of the files (the list of entries at its end is kept: some hundred bytes each).
//
// Names are UTF-8 and relative to the directory; modes, times and symlinks are kept; files beyond
// 4 GiB are fine. Sockets, pipes, devices, and what this user may not read are left out. A file
// that grows while it is read is cut at the size it had. All calls may block: use a BlockingPool.
//
// Example:
//   AT_TRY(auto zip, ZipStream::open(roots, "/workspace"));
//   while (!zip->done()) AT_OK(zip->next(out, kFilePieceBytes));

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/file_roots.h"

namespace agenttier::runtime {

class ZipStream {
 public:
  static base::Result<std::unique_ptr<ZipStream>> open(const FileRoots& roots,
                                                       const std::string& path);
  virtual ~ZipStream() = default;
  // Appends to `out` until it has about bytes_max.
  virtual base::Status next(std::string& out, std::size_t bytes_max) = 0;
  virtual bool done() const = 0;
};

}  // namespace agenttier::runtime
