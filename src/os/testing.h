#pragma once
// A folder for one test, removed with what is mounted below it; and a probe for what tests may
// need. Header only, so that tests of every folder can use it.

#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "base/assert.h"
#include "os/file.h"
#include "os/mount.h"

namespace agenttier::os {

class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/agenttier-test-XXXXXX";
    AT_ASSERT(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~TestFolder() {
    AT_ASSERT(unmount_below(path_).has_value());
    AT_ASSERT(remove_tree(path_).has_value());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Empty, or why mounts cannot be tested here: "needs root".
inline std::string why_no_mounts() {
  if (::geteuid() != 0) return "needs root";
  const TestFolder folder;
  const auto mounted = mount_tmpfs({.target = folder.path()});
  return mounted ? "" : "needs the right to mount: " + mounted.error().message;
}

}  // namespace agenttier::os
