// Goal: pods reach what a policy opens and nothing else, and nothing of a pod outlives it.
// Method: real namespaces, veths and nftables; needs root. Traffic stays between namespaces made
// here.
#include "node/routed_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "api/network_policy.h"
#include "async/blocking_pool.h"
#include "async/task_group.h"
#include "node/nftables.h"

namespace agenttier::node {
namespace {

constexpr int kPort = 5000;

std::string fresh_dir() {
  std::string pattern = std::filesystem::temp_directory_path() / "agenttier-net-XXXXXX";
  return mkdtemp(pattern.data());
}

// Runs a function in a network namespace, on a thread of its own.
template <class F>
auto inside(const std::string& netns_path, F function) {
  decltype(function()) result{};
  std::thread([&] {
    const int fd = open(netns_path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) std::abort();
    close(fd);
    result = function();
  }).join();
  return result;
}

int listen_on(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(fd, 8) != 0)
    return -1;
  return fd;
}

// Whether a TCP connection is made within a short time.
bool connects(const std::string& ip, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  (void)connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  pollfd waiting{fd, POLLOUT, 0};
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (poll(&waiting, 1, 400) == 1) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  close(fd);
  return error == 0;
}

class RoutedNetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: makes network namespaces";
    dir_ = fresh_dir();
    reopen();
    ASSERT_TRUE(run(network_->recover({})));
  }

  void TearDown() override {
    if (!network_) return;
    EXPECT_TRUE(run(network_->recover({})));
    network_.reset();
    EXPECT_TRUE(Nftables::open().value().run("delete table inet " + network_table(dir_)));
    for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/netns")) {
      ADD_FAILURE() << "left behind: " << entry.path();
    }
    std::filesystem::remove_all(dir_);
  }

  void reopen() {
    auto opened = open_routed_network(loop_.get_executor(), blocking_,
                                      {.state_dir = dir_, .subnet = "", .nameservers = {}});
    ASSERT_TRUE(opened) << opened.error().message;
    network_ = std::move(*opened);
  }

  template <class T>
  static async::Task<void> keep(async::Task<T> task, std::optional<T>* result) {
    result->emplace(co_await std::move(task));
  }

  template <class T>
  T run(async::Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(loop_, keep(std::move(task), &result), boost::asio::detached);
    loop_.restart();
    loop_.run();
    return std::move(*result);
  }

  PodNetwork add(const std::string& uid, Labels labels) {
    pods_.push_back({.uid = uid, .ns = "default", .name = uid, .labels = std::move(labels)});
    auto made = run(network_->set_up(pods_.back()));
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }

  base::Status apply(std::vector<api::NetworkPolicy> policies) {
    return run(network_->apply_policies(
        {.pods = pods_, .policies = std::move(policies), .namespace_labels = {}}));
  }

  // Opens pods labelled app=a to pods labelled app=b at kPort, both sides agreeing.
  static std::vector<api::NetworkPolicy> a_may_reach_b() {
    api::NetworkPolicyPeer a, b;
    a.pod_selector.emplace().match_labels["app"] = "a";
    b.pod_selector.emplace().match_labels["app"] = "b";
    api::NetworkPolicy out, in;
    out.metadata.ns = in.metadata.ns = "default";
    out.spec.pod_selector.match_labels["app"] = "a";
    out.spec.egress.emplace_back().to = {b};
    in.spec.pod_selector.match_labels["app"] = "b";
    in.spec.ingress.emplace_back().from = {a};
    return {out, in};
  }

  std::string dir_;
  boost::asio::io_context loop_;
  async::BlockingPool blocking_{2};
  std::unique_ptr<Network> network_;
  std::vector<NetworkedPod> pods_;
};

TEST_F(RoutedNetworkTest, TheHostReachesAPodAndThePodDoesNotReachTheHost) {
  const PodNetwork pod = add("pod-1", {});
  const int in_pod = inside(pod.netns_path, [] { return listen_on(kPort); });
  const int on_host = listen_on(kPort + 1);
  ASSERT_GE(in_pod, 0);
  ASSERT_GE(on_host, 0);
  const std::string gateway = pod.ip.substr(0, pod.ip.rfind('.')) + ".1";

  EXPECT_TRUE(connects(pod.ip, kPort));
  EXPECT_FALSE(inside(pod.netns_path, [&] { return connects(gateway, kPort + 1); }));

  close(in_pod);
  close(on_host);
}

TEST_F(RoutedNetworkTest, PodsReachEachOtherOnlyWhenBothSidesAgree) {
  const PodNetwork a = add("pod-a", {{"app", "a"}}), b = add("pod-b", {{"app", "b"}});
  const int server = inside(b.netns_path, [] { return listen_on(kPort); });
  const auto a_reaches_b = [&] {
    return inside(a.netns_path, [&] { return connects(b.ip, kPort); });
  };

  EXPECT_FALSE(a_reaches_b());

  ASSERT_TRUE(apply({a_may_reach_b()[0]}));
  EXPECT_FALSE(a_reaches_b());

  ASSERT_TRUE(apply(a_may_reach_b()));
  EXPECT_TRUE(a_reaches_b());

  ASSERT_TRUE(apply({}));
  EXPECT_FALSE(a_reaches_b());
  close(server);
}

TEST_F(RoutedNetworkTest, ACidrRuleDoesNotOpenOtherPods) {
  const PodNetwork a = add("pod-a", {{"app", "a"}}), b = add("pod-b", {{"app", "b"}});
  const int server = inside(b.netns_path, [] { return listen_on(kPort); });
  auto policies = a_may_reach_b();
  policies[0].spec.egress[0].to[0].pod_selector.reset();
  policies[0].spec.egress[0].to[0].ip_block.emplace().cidr = "0.0.0.0/0";
  ASSERT_TRUE(apply(policies));

  EXPECT_FALSE(inside(a.netns_path, [&] { return connects(b.ip, kPort); }));
  close(server);
}

TEST_F(RoutedNetworkTest, ARestartAdoptsKnownPodsAndRemovesTheRest) {
  const PodNetwork kept = add("pod-kept", {}), lost = add("pod-lost", {});
  const int server = inside(kept.netns_path, [] { return listen_on(kPort); });

  reopen();
  ASSERT_TRUE(run(network_->recover({"pod-kept"})));

  EXPECT_TRUE(connects(kept.ip, kPort));
  EXPECT_FALSE(std::filesystem::exists(lost.netns_path));
  EXPECT_EQ(run(network_->set_up(pods_[0])).value(), kept);
  const PodNetwork again = *run(network_->set_up(pods_[1]));
  EXPECT_NE(again.ip, kept.ip);
  close(server);
}

TEST_F(RoutedNetworkTest, SettingUpAndTearingDownTwiceIsHarmless) {
  const PodNetwork pod = add("pod-1", {});
  EXPECT_EQ(run(network_->set_up(pods_[0])).value(), pod);
  EXPECT_TRUE(run(network_->tear_down("pod-1")));
  EXPECT_TRUE(run(network_->tear_down("pod-1")));
  EXPECT_FALSE(std::filesystem::exists(pod.netns_path));
}

TEST_F(RoutedNetworkTest, APodTakesANetworkMadeAheadAndTheOthersAreFreedAtTheEnd) {
  const auto made = [this] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/netns")) {
      names.insert(entry.path().string());
    }
    return names;
  };
  async::TaskGroup group(loop_.get_executor(), {.name = "spares", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(network_->keep_spares()));
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  loop_.restart();
  while (made().size() < 2 && std::chrono::steady_clock::now() < limit) {
    loop_.run_one_for(std::chrono::milliseconds(100));
  }
  const std::set<std::string> ahead = made();
  ASSERT_EQ(ahead.size(), 2U);
  pods_.push_back({.uid = "taker", .ns = "default", .name = "taker", .labels = {}});
  std::optional<base::Result<PodNetwork>> taken;
  boost::asio::co_spawn(loop_, keep(network_->set_up(pods_.back()), &taken), boost::asio::detached);
  while (!taken && std::chrono::steady_clock::now() < limit) {
    loop_.run_one_for(std::chrono::milliseconds(100));
  }
  ASSERT_TRUE(taken && *taken);
  EXPECT_TRUE(ahead.contains((*taken)->netns_path));
  EXPECT_TRUE(inside((*taken)->netns_path, [] { return listen_on(kPort) >= 0; }));
  boost::asio::co_spawn(loop_, group.close(), boost::asio::detached);
  loop_.restart();
  loop_.run();
  EXPECT_EQ(made(), std::set<std::string>{(*taken)->netns_path});
}

}  // namespace
}  // namespace agenttier::node
