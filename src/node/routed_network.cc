#include "node/routed_network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "api/network_policy.h"
#include "async/blocking_pool.h"
#include "async/event.h"
#include "node/address_pool.h"
#include "node/netlink.h"
#include "node/network_rules.h"
#include "node/nftables.h"
#include "observe/log.h"

namespace agenttier::node {
namespace {

namespace fs = std::filesystem;

constexpr int kSubnetCandidates = 40;  // 10.213.0.0/16, 10.214.0.0/16, ...
constexpr std::uint32_t kFirstSubnet = 10U << 24 | 213U << 16;
constexpr const char* kPodDevice = "eth0";

// A namespace with its interfaces takes about as long to make as a container to start, so some are
// made ahead: not while pods are starting, which need the processor more.
constexpr std::size_t kSparesMax = 2;
constexpr auto kSpareQuiet = std::chrono::milliseconds(100);
constexpr auto kSpareRetry = std::chrono::seconds(5);

base::Status write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) return base::from_errno("write " + path, errno);
  return {};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// An identifier of this instance in interface and table names: five hex digits of its folder's
// name, so that two servers on one machine never touch each other's objects.
std::string instance_of(const std::string& state_dir) {
  std::uint32_t hash = 2166136261U;
  for (unsigned char c : state_dir) hash = (hash ^ c) * 16777619U;
  return fmt::format("{:05x}", hash & 0xFFFFFU);
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Moves the calling thread into a new network namespace for as long as it lives.
class NewNamespace {
 public:
  static base::Result<std::unique_ptr<NewNamespace>> enter() {
    auto home =
        std::make_unique<OpenFile>(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (home->get() < 0) return base::from_errno("open the host's network namespace", errno);
    if (unshare(CLONE_NEWNET) != 0) return base::from_errno("make a network namespace", errno);
    return std::unique_ptr<NewNamespace>(new NewNamespace(std::move(home)));
  }
  ~NewNamespace() {
    // A thread that cannot go home would run later work in the pod's namespace.
    AT_ASSERT(setns(home_->get(), CLONE_NEWNET) == 0);
  }

 private:
  explicit NewNamespace(std::unique_ptr<OpenFile> home) : home_(std::move(home)) {}
  std::unique_ptr<OpenFile> home_;
};

// The part that talks to the kernel. Every call holds the lock: netlink sockets and nftables
// contexts serve one thread at a time.
class Kernel {
 public:
  Kernel(std::string netns_dir, std::string prefix, std::string table, Netlink host,
         Nftables nftables)
      : netns_dir_(std::move(netns_dir)),
        prefix_(std::move(prefix)),
        table_(std::move(table)),
        host_(std::move(host)),
        nftables_(std::move(nftables)) {}

  std::string netns_path(std::uint32_t slot) const {
    return netns_dir_ + "/" + std::to_string(slot);
  }
  std::string device(std::uint32_t slot) const { return prefix_ + fmt::format("{:x}", slot); }

  base::Status make_slot(std::uint32_t slot, const std::string& address,
                         const std::string& gateway) {
    const std::lock_guard lock(mutex_);
    auto made = build(slot, address, gateway);
    if (!made) (void)drop_locked(slot);
    return made;
  }

  base::Status drop_slot(std::uint32_t slot) {
    const std::lock_guard lock(mutex_);
    return drop_locked(slot);
  }

  base::Status run_nft(const std::string& script) {
    const std::lock_guard lock(mutex_);
    return nftables_.run(script);
  }

  base::Result<std::set<std::uint32_t>> slots_in_kernel() {
    const std::lock_guard lock(mutex_);
    std::set<std::uint32_t> slots;
    AT_TRY(const auto names, host_.interfaces_with_prefix(prefix_));
    for (const std::string& name : names) {
      std::uint32_t slot = 0;
      const char* first = name.data() + prefix_.size();
      if (std::from_chars(first, name.data() + name.size(), slot, 16).ec == std::errc())
        slots.insert(slot);
    }
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(netns_dir_, ignored)) {
      const std::string name = entry.path().filename();
      std::uint32_t slot = 0;
      if (std::from_chars(name.data(), name.data() + name.size(), slot).ec == std::errc())
        slots.insert(slot);
    }
    return slots;
  }

  // A slot is whole if its namespace is mounted and its interface exists.
  bool is_whole(std::uint32_t slot) {
    const std::lock_guard lock(mutex_);
    struct stat file {
    }, folder{};
    if (stat(netns_path(slot).c_str(), &file) != 0 || stat(netns_dir_.c_str(), &folder) != 0)
      return false;
    if (file.st_dev == folder.st_dev) return false;
    const auto found = host_.interfaces_with_prefix(device(slot));
    if (!found) return false;
    for (const std::string& name : *found) {
      if (name == device(slot)) return true;
    }
    return false;
  }

 private:
  base::Status build(std::uint32_t slot, const std::string& address, const std::string& gateway) {
    const std::string path = netns_path(slot);
    const OpenFile file(::open(path.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
    if (file.get() < 0) return base::from_errno("create " + path, errno);
    AT_TRY(const auto inside, NewNamespace::enter());
    if (mount("/proc/thread-self/ns/net", path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      return base::from_errno("keep the namespace at " + path, errno);
    }
    // No IPv6 inside: nothing routes it, and link-local addresses would be one more way to talk.
    (void)write_text("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    (void)write_text("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    AT_TRY(Netlink pod, Netlink::open());
    AT_OK(pod.bring_up("lo"));
    const OpenFile netns(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (netns.get() < 0) return base::from_errno("open the pod's namespace", errno);
    AT_OK(host_.create_veth(
        {.name = device(slot), .peer_name = kPodDevice, .peer_netns = netns.get()}));
    AT_OK(pod.add_address(kPodDevice, {.address = address, .prefix_length = 32}));
    AT_OK(pod.bring_up(kPodDevice));
    AT_OK(host_.add_address(device(slot), {.address = gateway, .prefix_length = 32}));
    AT_OK(host_.bring_up(device(slot)));
    AT_OK(host_.add_route({.destination = address,
                           .prefix_length = 32,
                           .device = device(slot),
                           .gateway = "",
                           .preferred_source = gateway}));
    AT_OK(pod.add_route({.destination = gateway,
                         .prefix_length = 32,
                         .device = kPodDevice,
                         .gateway = "",
                         .preferred_source = ""}));
    return pod.add_route({.destination = "0.0.0.0",
                          .prefix_length = 0,
                          .device = kPodDevice,
                          .gateway = gateway,
                          .preferred_source = ""});
  }

  base::Status drop_locked(std::uint32_t slot) {
    AT_OK(host_.delete_interface(device(slot)));
    const std::string path = netns_path(slot);
    if (umount2(path.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT) {
      return base::from_errno("release the namespace at " + path, errno);
    }
    if (unlink(path.c_str()) != 0 && errno != ENOENT)
      return base::from_errno("remove " + path, errno);
    return {};
  }

  std::mutex mutex_;
  const std::string netns_dir_, prefix_, table_;
  Netlink host_;
  Nftables nftables_;
};

base::Result<Subnet> choose_subnet(Netlink& host, const RoutedNetworkOptions& options) {
  const std::string file = options.state_dir + "/subnet";
  const std::string wanted = options.subnet.empty() ? read_text(file) : options.subnet;
  if (!wanted.empty()) return Subnet::parse(wanted);
  AT_TRY(const auto taken, host.addresses());
  for (int i = 0; i < kSubnetCandidates; ++i) {
    const Subnet candidate{kFirstSubnet + (static_cast<std::uint32_t>(i) << 16), 16};
    bool free = true;
    for (const InterfaceAddress& address : taken) {
      AT_TRY(const std::uint32_t base, parse_ipv4(address.address));
      if (candidate.overlaps(Subnet{base, address.prefix_length})) free = false;
    }
    if (free) return candidate;
  }
  return base::unavailable("network: no free private network found; choose one with --pod-subnet");
}

class RoutedNetwork final : public Network {
 public:
  RoutedNetwork(async::Executor executor, async::BlockingPool& blocking,
                RoutedNetworkOptions options, Subnet subnet, std::string instance,
                std::unique_ptr<Kernel> kernel)
      : blocking_(blocking),
        options_(std::move(options)),
        subnet_(subnet),
        pool_(subnet),
        table_("agenttier_" + instance),
        kernel_(std::move(kernel)),
        applied_(executor),
        spare_taken_(std::move(executor)) {}

  async::Task<base::Result<PodNetwork>> set_up(NetworkedPod pod) override {
    if (const auto known = slots_.find(pod.uid); known != slots_.end())
      co_return describe(known->second);
    const bool is_spare = !spares_.empty();
    std::uint32_t slot = 0;
    if (is_spare) {
      slot = spares_.front();
      spares_.pop_front();
    } else {
      AT_CO_TRY(slot, pool_.take());
    }
    spare_taken_.notify_all();
    slots_[pod.uid] = slot;
    const std::string address = pool_.address(slot), gateway = pool_.gateway();
    const std::string record = pod_file(pod.uid);
    Kernel* const kernel = kernel_.get();
    auto make = [kernel, slot, address, gateway, record, is_spare]() -> base::Status {
      AT_OK(write_text(record, std::to_string(slot)));
      return is_spare ? base::Status() : kernel->make_slot(slot, address, gateway);
    };
    auto made = co_await blocking_.run(std::move(make));
    if (!made) {
      slots_.erase(pod.uid);
      auto drop = [kernel, slot, record] {
        std::error_code ignored;
        fs::remove(record, ignored);
        return kernel->drop_slot(slot);
      };
      if (co_await blocking_.run(std::move(drop))) pool_.release(slot);
      co_return std::move(made).error().context("network of pod " + pod.ns + "/" + pod.name);
    }
    if (auto ruled = co_await bring_rules_up_to_date(); !ruled) co_return std::move(ruled).error();
    co_return describe(slot);
  }

  async::Task<base::Status> tear_down(std::string pod_uid) override {
    const auto known = slots_.find(pod_uid);
    if (known == slots_.end()) co_return base::Status();
    const std::uint32_t slot = known->second;
    Kernel* const kernel = kernel_.get();
    const std::string record = pod_file(pod_uid);
    auto dropped = co_await blocking_.run([kernel, slot, record]() -> base::Status {
      AT_OK(kernel->drop_slot(slot));
      std::error_code ignored;
      fs::remove(record, ignored);
      return {};
    });
    AT_CO_OK(std::move(dropped));
    // Another call may have finished the same work while this one waited.
    if (slots_.erase(pod_uid) != 0) pool_.release(slot);
    co_return co_await bring_rules_up_to_date();
  }

  async::Task<base::Status> apply_policies(NetworkRules rules) override {
    rules_ = std::move(rules);
    co_return co_await bring_rules_up_to_date();
  }

  async::Task<base::Status> recover(std::vector<std::string> known_pod_uids) override {
    const std::set<std::string> known(known_pod_uids.begin(), known_pod_uids.end());
    Kernel* const kernel = kernel_.get();
    const std::string pods_dir = options_.state_dir + "/pods";
    auto adopted = co_await blocking_.run(
        [kernel, known, pods_dir] { return adopt(*kernel, known, pods_dir); });
    AT_CO_TRY(slots_, std::move(adopted));
    for (const auto& [uid, slot] : slots_) AT_CO_OK(pool_.take_slot(slot));
    for (const std::uint32_t slot : std::exchange(spares_, {})) pool_.release(slot);
    const std::string script =
        base_ruleset(table_, options_.state_dir.empty() ? "" : prefix(), subnet_.cidr());
    auto made = co_await blocking_.run([kernel, script] { return kernel->run_nft(script); });
    AT_CO_OK(std::move(made));
    chains_.clear();
    co_return co_await bring_rules_up_to_date();
  }

  async::Task<void> keep_spares() override {
    while (!co_await async::is_cancelled()) {
      if (spares_.size() >= kSparesMax) {
        (void)co_await spare_taken_.wait();
        continue;
      }
      if (co_await spare_taken_.wait_for(kSpareQuiet) != async::Wake::kTimeout) continue;
      const base::Status made = co_await make_spare();
      if (made) continue;
      observe::log_warning("no network made ahead", {{"why", made.error().message}});
      (void)co_await spare_taken_.wait_for(kSpareRetry);
    }
    co_await drop_spares();
  }

 private:
  async::Task<base::Status> make_spare() {
    AT_CO_TRY(const std::uint32_t slot, pool_.take());
    const std::string address = pool_.address(slot), gateway = pool_.gateway();
    Kernel* const kernel = kernel_.get();
    base::Status made = co_await blocking_.run(
        [kernel, slot, address, gateway] { return kernel->make_slot(slot, address, gateway); });
    if (made) {
      spares_.push_back(slot);
    } else {
      pool_.release(slot);
    }
    co_return made;
  }

  // What cannot be freed now, the next start of the agent finds and frees.
  async::Task<void> drop_spares() {
    Kernel* const kernel = kernel_.get();
    while (!spares_.empty()) {
      const std::uint32_t slot = spares_.front();
      spares_.pop_front();
      const base::Status dropped =
          co_await blocking_.run([kernel, slot] { return kernel->drop_slot(slot); });
      if (dropped) pool_.release(slot);
    }
  }

  static base::Result<std::map<std::string, std::uint32_t>> adopt(
      Kernel& kernel, const std::set<std::string>& known, const std::string& pods_dir) {
    std::map<std::string, std::uint32_t> adopted;
    AT_TRY(std::set<std::uint32_t> slots, kernel.slots_in_kernel());
    std::vector<fs::path> stale;
    for (const auto& entry : fs::directory_iterator(pods_dir)) {
      const std::string uid = entry.path().filename(), text = read_text(entry.path());
      std::uint32_t slot = 0;
      const bool readable =
          std::from_chars(text.data(), text.data() + text.size(), slot).ec == std::errc();
      if (readable && known.contains(uid) && kernel.is_whole(slot)) {
        adopted[uid] = slot;
        slots.erase(slot);
      } else {
        stale.push_back(entry.path());
      }
    }
    for (const std::uint32_t slot : slots) AT_OK(kernel.drop_slot(slot));
    for (const fs::path& path : stale) fs::remove(path);
    return adopted;
  }

  PodNetwork describe(std::uint32_t slot) const {
    return {.ip = pool_.address(slot),
            .netns_path = kernel_->netns_path(slot),
            .host_interface = kernel_->device(slot),
            .nameservers = options_.nameservers};
  }

  std::string pod_file(const std::string& uid) const { return options_.state_dir + "/pods/" + uid; }
  std::string prefix() const { return "at" + table_.substr(table_.size() - 5) + "-"; }

  // Sends the difference between what the kernel has and what the rules say. One call at a time
  // talks to nftables; a call that comes meanwhile waits and sends what is then left to send.
  async::Task<base::Status> bring_rules_up_to_date() {
    while (applying_) co_await applied_.wait_shielded();
    PodAddresses addresses;
    for (const auto& [uid, slot] : slots_)
      addresses[uid] = {pool_.address(slot), kernel_->device(slot)};
    auto wanted = compile_policies(rules_, addresses, subnet_.cidr(), options_.nameservers);
    const std::string script = difference_script(table_, chains_, wanted);
    if (script.empty()) co_return base::Status();
    applying_ = true;
    Kernel* const kernel = kernel_.get();
    auto done = co_await blocking_.run([kernel, script] { return kernel->run_nft(script); });
    applying_ = false;
    if (done) chains_ = std::move(wanted);
    applied_.notify_all();
    co_return done;
  }

  async::BlockingPool& blocking_;
  const RoutedNetworkOptions options_;
  const Subnet subnet_;
  AddressPool pool_;
  const std::string table_;
  std::unique_ptr<Kernel> kernel_;
  NetworkRules rules_;
  std::map<std::string, std::uint32_t> slots_;  // by pod UID
  CompiledRules chains_;                        // what the kernel has
  bool applying_ = false;
  async::Event applied_;
  std::deque<std::uint32_t> spares_;  // slots that are made and belong to no pod
  async::Event spare_taken_;
};

}  // namespace

std::string network_table(const std::string& state_dir) {
  return "agenttier_" + instance_of(state_dir);
}

base::Result<std::unique_ptr<Network>> open_routed_network(async::Executor executor,
                                                           async::BlockingPool& blocking,
                                                           RoutedNetworkOptions options) {
  const std::string instance = instance_of(options.state_dir);
  const std::string netns_dir = options.state_dir + "/netns";
  std::error_code failed;
  for (const std::string& path : {options.state_dir, netns_dir, options.state_dir + "/pods"}) {
    fs::create_directories(path, failed);
    if (failed) return base::from_errno("create " + path, failed.value());
  }
  AT_TRY(Netlink host, Netlink::open());
  AT_TRY(Nftables nftables, Nftables::open());
  AT_TRY(const Subnet subnet, choose_subnet(host, options));
  AT_OK(write_text(options.state_dir + "/subnet", subnet.cidr()));
  AT_OK(write_text("/proc/sys/net/ipv4/ip_forward", "1"));
  auto kernel = std::make_unique<Kernel>(netns_dir, "at" + instance + "-", "agenttier_" + instance,
                                         std::move(host), std::move(nftables));
  return std::unique_ptr<Network>(std::make_unique<RoutedNetwork>(
      std::move(executor), blocking, std::move(options), subnet, instance, std::move(kernel)));
}

}  // namespace agenttier::node
