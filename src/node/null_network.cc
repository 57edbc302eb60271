#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "api/network_policy.h"
#include "async/blocking_pool.h"
#include "node/network.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/mount.h"

namespace agenttier::node {

using base::Result;
using base::Status;

namespace {

Status raise_loopback() {
  const os::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return base::from_errno("raise the loopback device", errno);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0) return {};
  return base::from_errno("raise the loopback device", errno);
}

Status make_namespace(const std::string& path) {
  AT_TRY(const os::Fd file, os::open_file(path, O_WRONLY | O_CREAT, 0600));
  Status status;
  // A thread of its own: a namespace once left cannot be entered again by chance.
  std::thread maker([&status, &path] {
    if (::unshare(CLONE_NEWNET) != 0) {
      status = base::from_errno("make a network namespace", errno);
      return;
    }
    status = raise_loopback();
    if (status &&
        ::mount("/proc/thread-self/ns/net", path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      status = base::from_errno("keep the network namespace at " + path, errno);
    }
  });
  maker.join();
  return status;
}

class NullNetwork final : public Network {
 public:
  NullNetwork(async::BlockingPool& blocking, std::string folder)
      : blocking_(blocking), folder_(std::move(folder)) {}

  async::Task<Result<PodNetwork>> set_up(NetworkedPod pod) override {
    const std::string path = folder_ + "/" + pod.uid;
    const std::string folder = folder_;
    auto make = [path, folder]() -> Status {
      AT_OK(os::make_directories(folder, 0700));
      AT_TRY(const std::vector<std::string> mounted, os::mounts_below(path));
      return mounted.empty() ? make_namespace(path) : Status();
    };
    AT_CO_OK(co_await blocking_.run(std::move(make)));
    PodNetwork network;
    network.ip = "127.0.0.1";
    network.netns_path = path;
    co_return network;
  }

  async::Task<Status> tear_down(std::string pod_uid) override {
    const std::string path = folder_ + "/" + pod_uid;
    auto remove = [path]() -> Status {
      AT_OK(os::unmount(path));
      return os::remove_file(path);
    };
    co_return co_await blocking_.run(std::move(remove));
  }

  async::Task<Status> apply_policies(NetworkRules) override { co_return Status(); }

  async::Task<Status> recover(std::vector<std::string> known) override {
    const std::string folder = folder_;
    const auto names = co_await blocking_.run([folder] { return os::list_directory(folder); });
    for (const std::string& uid : names) {
      if (std::find(known.begin(), known.end(), uid) != known.end()) continue;
      AT_CO_OK(co_await tear_down(uid));
    }
    co_return Status();
  }

 private:
  async::BlockingPool& blocking_;
  const std::string folder_;
};

}  // namespace

std::unique_ptr<Network> make_null_network(async::BlockingPool& blocking, std::string netns_dir) {
  return std::make_unique<NullNetwork>(blocking, std::move(netns_dir));
}

}  // namespace agenttier::node
