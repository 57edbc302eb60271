#include "node/testing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>

#include "os/cgroup.h"
#include "os/file.h"
#include "os/mount.h"
#include "os/process.h"

namespace agenttier::node {

using namespace std::chrono_literals;

namespace {

// Runs a tool while a fixture is made; its failure is the machine's.
bool run_tool(const std::vector<std::string>& argv) {
  boost::asio::io_context loop;
  async::BlockingPool blocking(1);
  const auto runner = os::make_command_runner(blocking);
  bool good = false;
  struct Run {
    static async::Task<void> once(os::CommandRunner* runner, std::vector<std::string> argv,
                                  bool* good) {
      const auto result = co_await runner->run({.argv = std::move(argv), .time_max = 60s});
      *good = result && result->exit_code == 0;
    }
  };
  async::TaskGroup tasks(loop.get_executor(), {.name = "tool", .tasks_max = 1});
  AT_ASSERT(tasks.spawn(Run::once(runner.get(), argv, &good)).has_value());
  loop.run();
  return good;
}

// Folder of layouts with the image "busybox", made once for the test program.
class TestImages {
 public:
  TestImages() {
    const std::string root = folder_ / "root", layout = folder_ / "images/busybox";
    for (const char* name : {"/bin", "/etc", "/tmp", "/proc", "/dev", "/sys"}) {
      AT_ASSERT(os::make_directories(root + name).has_value());
    }
    AT_ASSERT(os::write_file_atomic(root + "/etc/passwd",
                                    "root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n", 0644)
                  .has_value());
    AT_ASSERT(os::make_directories(folder_ / "images").has_value());
    made_ = run_tool({"cp", "/bin/busybox", root + "/bin/busybox"}) &&
            run_tool({root + "/bin/busybox", "--install", "-s", root + "/bin"});
    // Links made with the host's path are pointed at the image's own program.
    for (const std::string& name : os::list_directory(root + "/bin")) {
      if (name == "busybox") continue;
      (void)os::remove_file(root + "/bin/" + name);
      made_ = made_ && ::symlink("busybox", (root + "/bin/" + name).c_str()) == 0;
    }
    made_ = made_ && run_tool({"tar", "-C", root, "-cf", folder_ / "layer.tar", "."}) &&
            run_tool({"umoci", "init", "--layout", layout}) &&
            run_tool({"umoci", "new", "--image", layout + ":latest"}) &&
            run_tool({"umoci", "raw", "add-layer", "--image", layout + ":latest",
                      folder_ / "layer.tar"}) &&
            run_tool({"umoci", "config", "--image", layout + ":latest", "--config.env", "PATH=/bin",
                      "--config.env", "FROM_IMAGE=yes", "--config.cmd", "/bin/sh"});
  }
  bool made() const { return made_; }
  std::string folder() const { return folder_ / "images"; }

 private:
  os::TestFolder folder_;
  bool made_ = false;
};

const TestImages& test_images() {
  static const TestImages images;
  return images;
}

}  // namespace

api::Pod make_pod(const std::string& name, std::vector<std::string> command) {
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = name;
  pod.spec.restart_policy = "Never";
  pod.spec.termination_grace_period_seconds = 2;
  api::Container main;
  main.name = "main";
  main.image = "agenttier/busybox";
  main.command = std::move(command);
  pod.spec.containers.push_back(std::move(main));
  return pod;
}

api::PersistentVolumeClaim make_claim(const std::string& name, const std::string& size) {
  api::PersistentVolumeClaim claim;
  claim.metadata.ns = "default";
  claim.metadata.name = name;
  claim.spec.access_modes = {"ReadWriteOnce"};
  claim.spec.resources = api::VolumeResourceRequirements{};
  claim.spec.resources->requests["storage"] = size;
  return claim;
}

void use_claim(api::Pod& pod, const std::string& claim) {
  api::Volume volume;
  volume.name = "data";
  volume.persistent_volume_claim = api::ClaimVolumeSource{.claim_name = claim};
  pod.spec.volumes.push_back(std::move(volume));
  api::VolumeMount mount;
  mount.name = "data";
  mount.mount_path = "/data";
  pod.spec.containers[0].volume_mounts.push_back(std::move(mount));
}

std::string TestNode::why_not() {
  if (const std::string why = os::why_no_mounts(); !why.empty()) return why;
  for (const char* program : {"runc", "skopeo", "umoci", "tar"}) {
    if (!os::find_program(program)) return std::string("needs ") + program;
  }
  if (::access("/bin/busybox", X_OK) != 0) return "needs busybox-static";
  if (!os::Cgroups::detect()) return "needs control groups";
  if (!test_images().made()) return "needs umoci to make the test image";
  return "";
}

std::string TestNode::busybox_layout() {
  return test_images().folder() + "/busybox";
}

TestNode::TestNode() : paths_(*NodePaths::make(folder_ / "state")) {}

TestNode::~TestNode() {
  if (agent_) stop();
  // What a test left running on purpose, or by failing, must not outlive it.
  const auto cgroups = os::Cgroups::detect();
  if (!cgroups) return;
  (void)cgroups->kill_all(paths_.cgroup_root(), 10s);
  (void)cgroups->remove(paths_.cgroup_root());
}

void TestNode::start() {
  blocking_ = std::make_unique<async::BlockingPool>(4);
  tasks_ = std::make_unique<async::TaskGroup>(
      loop_.get_executor(), async::TaskGroup::Options{.name = "test", .tasks_max = 64});
  auto store =
      store::Store::open(loop_.get_executor(), folder_ / "store", timers_.clock(), random_, {});
  ASSERT_TRUE(store) << store.error().message;
  store_ = *std::move(store);
  transport_ = std::make_unique<http::InProcessClient>(store_->api());
  client_ = std::make_unique<kube::Client>(*transport_, kube::ClientOptions{});
  network_ = make_null_network(*blocking_, paths_.network() + "/netns");
  NodeOptions options;
  options.name = "test-node";
  options.ip = "192.0.2.1";
  options.native_runtime = native_runtime_;
  options.images.images_dir = test_images().folder();
  agent_ = std::make_unique<NodeAgent>(loop_.get_executor(), timers_, random_, *blocking_, *client_,
                                       *network_, paths_, *os::Cgroups::detect(), options);
  const auto started = run(agent_->start());
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_TRUE(tasks_->spawn(agent_->run()));
}

void TestNode::stop() {
  tasks_->cancel_all();
  run(agent_->close());
  run(tasks_->close());
  run(store_->close());
  agent_.reset();
  network_.reset();
  client_.reset();
  transport_.reset();
  store_.reset();
  tasks_.reset();
  blocking_.reset();
}

void TestNode::run(async::Task<void> task) {
  bool done = false;
  async::TaskGroup group(loop_.get_executor(), {.name = "one", .tasks_max = 1});
  AT_ASSERT(group.spawn(note(std::move(task), &done)).has_value());
  AT_ASSERT(wait_until([&] { return done && group.size() == 0; }, 120s));
}

bool TestNode::wait_until(std::function<bool()> holds, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    loop_.restart();
    loop_.run_one_for(20ms);
  }
  return true;
}

std::optional<api::Pod> TestNode::get(const std::string& name) {
  auto pod = run(kube::get<api::Pod>(*client_, {"default", name}));
  return pod ? std::optional<api::Pod>(*std::move(pod)) : std::nullopt;
}

void TestNode::remove(const std::string& name, std::optional<std::int64_t> grace) {
  kube::DeleteOptions options;
  options.grace_period_seconds = grace;
  const auto removed = run(client_->remove(api::Pod::kType, {"default", name}, options));
  ASSERT_TRUE(removed) << removed.error().message;
}

api::Pod TestNode::wait_pod(const std::string& name, std::function<bool(const api::Pod&)> holds,
                            std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (true) {
    const auto pod = get(name);
    if (pod && holds(*pod)) return *pod;
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "pod " << name << " did not get there: "
                    << (pod ? boost::json::serialize(pod->to_json()) : "it is gone");
      return pod ? *pod : api::Pod();
    }
    loop_.restart();
    loop_.run_for(5ms);
  }
}

api::Pod TestNode::wait_phase(const std::string& name, const std::string& phase) {
  return wait_pod(
      name, [&phase](const api::Pod& pod) { return pod.status && pod.status->phase == phase; });
}

api::ContainerStateTerminated TestNode::wait_end(const std::string& name) {
  const api::Pod pod = wait_pod(name, [](const api::Pod& now) {
    return now.status && (now.status->phase == "Succeeded" || now.status->phase == "Failed");
  });
  if (!pod.status || pod.status->container_statuses.empty()) return {};
  const auto& state = pod.status->container_statuses[0].state;
  return state && state->terminated ? *state->terminated : api::ContainerStateTerminated{};
}

void TestNode::wait_gone(const std::string& name) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (get(name) && std::chrono::steady_clock::now() < end) {
    loop_.restart();
    loop_.run_for(5ms);
  }
  EXPECT_FALSE(get(name)) << "pod " << name << " is still there";
}

std::string TestNode::read_log(const std::string& pod, const std::string& container) {
  auto body = agent_->read_log({"default", pod}, container, {});
  if (!body) return body.error().message;
  std::string text;
  while (true) {
    const auto piece = run((*body)->read());
    if (!piece || piece->empty()) return text;
    text += *piece;
  }
}

MachineCounts TestNode::counts() const {
  MachineCounts counts;
  counts.mounts = os::mounts_below(folder_.path())->size();
  const auto cgroups = os::Cgroups::detect();
  counts.cgroups = cgroups->children(paths_.cgroup_root()).size();
  counts.processes = cgroups->processes(paths_.cgroup_root()).size();
  return counts;
}

pid_t TestNode::pid_of(const std::string& pod, const std::string& container) {
  const auto found = get(pod);
  if (!found) return 0;
  const auto text = os::read_file(paths_.sandbox_state(found->metadata.uid), 1UL << 20U);
  const auto state = text ? parse_pod_state(*text) : base::Result<PodState>(text.error());
  if (!state) return 0;
  for (const ContainerState& known : state->containers) {
    if (known.name == container) return known.pid;
  }
  return 0;
}

}  // namespace agenttier::node
