#pragma once
// The content of one regular file, opened for reading and read in pieces. Pipes, devices and
// directories are refused without waiting for anything. All calls may block: use a BlockingPool.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "os/fd.h"
#include "runtime/file_roots.h"

namespace agenttier::runtime {

class FileContent {
 public:
  static base::Result<std::shared_ptr<FileContent>> open(const FileRoots& roots,
                                                         const std::string& path);

  std::uint64_t size() const { return size_; }
  const std::string& etag() const { return etag_; }
  const std::string& last_modified() const { return last_modified_; }  // as HTTP writes it

  // Exactly `length` bytes; kConflict if the file has become shorter.
  base::Result<std::string> read(std::uint64_t offset, std::size_t length) const;

 private:
  FileContent() = default;

  std::string path_;
  os::Fd file_;
  std::uint64_t size_ = 0;
  std::string etag_;
  std::string last_modified_;
};

}  // namespace agenttier::runtime
