#include "node/gvisor_mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <thread>

namespace agenttier::node {

using base::Result;
using os::Fd;

namespace {

constexpr const char* kHidden = "/proc/sys/net/core";

// Changes the calling thread for good.
Result<Fd> make_in_this_thread(const std::string& netns_path) {
  AT_TRY(const Fd netns, os::open_file(netns_path, O_RDONLY));
  if (::unshare(CLONE_NEWNS) != 0) return base::from_errno("make a mount namespace", errno);
  // What the machine unmounts goes from here as well; nothing goes the other way.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return base::from_errno("set the mount namespace apart", errno);
  }
  // The folder is another one in each network namespace.
  if (::setns(netns.get(), CLONE_NEWNET) != 0)
    return base::from_errno("enter " + netns_path, errno);
  if (::mount("none", kHidden, "tmpfs", MS_RDONLY, nullptr) != 0) {
    return base::from_errno(std::string("hide ") + kHidden, errno);
  }
  return os::open_file("/proc/thread-self/ns/mnt", O_RDONLY);
}

}  // namespace

Result<Fd> make_gvisor_mounts(const std::string& netns_path) {
  Result<Fd> made = base::internal("gvisor mounts: not made");
  // A thread of its own, which ends with its namespaces: one of a pool could not go back.
  std::thread([&made, &netns_path] { made = make_in_this_thread(netns_path); }).join();
  if (!made) return std::move(made).error().context("prepare gVisor's mounts");
  return made;
}

}  // namespace agenttier::node
