#include "os/testing.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/file.h"
#include "os/mount.h"

namespace agenttier::os {

TestFolder::TestFolder() {
  char name[] = "/tmp/agenttier-test-XXXXXX";
  AT_ASSERT(::mkdtemp(name) != nullptr);
  path_ = name;
}

TestFolder::~TestFolder() {
  AT_ASSERT(unmount_below(path_).has_value());
  AT_ASSERT(remove_tree(path_).has_value());
}

std::string why_no_mounts() {
  if (::geteuid() != 0) return "needs root";
  TestFolder folder;
  const auto mounted = mount_tmpfs({.target = folder.path()});
  return mounted ? "" : "needs the right to mount: " + mounted.error().message;
}

}  // namespace agenttier::os
