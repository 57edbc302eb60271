// The node agent with real runc, mounts and control groups.

#include "node/node_agent.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "api/names.h"
#include "api/secret.h"
#include "node/testing.h"
#include "os/file.h"

namespace agenttier::node {
namespace {

using namespace std::chrono_literals;

class NodeAgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TestNode::why_not(); !why.empty()) GTEST_SKIP() << why;
    node.emplace();
    node->start();
  }
  std::optional<TestNode> node;
};

api::SecurityContext hardened() {
  api::SecurityContext context;
  context.run_as_user = 1000;
  context.run_as_group = 1000;
  context.run_as_non_root = true;
  context.read_only_root_filesystem = true;
  context.allow_privilege_escalation = false;
  context.capabilities = api::Capabilities{};
  context.capabilities->drop = {"ALL"};
  return context;
}

TEST_F(NodeAgentTest, ReportsTheExitCodeAndKeepsTheLog) {
  node->create(make_pod("demo", {"sh", "-c", "echo out; echo err >&2; printf rest; exit 3"}));
  const auto end = node->wait_end("demo");
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.reason, "Error");
  EXPECT_EQ(node->get("demo")->status->phase, "Failed");
  const std::string log = node->read_log("demo");
  EXPECT_NE(log.find("out\n"), std::string::npos) << log;
  EXPECT_NE(log.find("err\n"), std::string::npos) << log;
  EXPECT_NE(log.find("rest\n"), std::string::npos) << log;
}

TEST_F(NodeAgentTest, ACompletedPodHasSucceededAndHoldsNothingButItsLog) {
  const MachineCounts before = node->counts();
  node->create(make_pod("demo", {"true"}));
  EXPECT_EQ(node->wait_end("demo").reason, "Completed");
  EXPECT_TRUE(node->wait_until([&] { return node->counts() == before; }));
}

TEST_F(NodeAgentTest, ARunningPodHasAnAddressAndIsReadyInOneStatus) {
  node->create(make_pod("demo", {"sleep", "1000"}));
  const api::Pod pod = node->wait_phase("demo", "Running");
  EXPECT_EQ(pod.status->pod_ip, "127.0.0.1");
  EXPECT_EQ(pod.status->host_ip, "192.0.2.1");
  ASSERT_EQ(pod.status->container_statuses.size(), 1U);
  EXPECT_TRUE(pod.status->container_statuses[0].ready);
  EXPECT_TRUE(pod.status->container_statuses[0].state->running);
  EXPECT_NE(pod.status->container_statuses[0].image_id.find("@sha256:"), std::string::npos);
  EXPECT_EQ(
      node->wait_pod("demo", [](const api::Pod& now) { return now.spec.node_name.has_value(); })
          .spec.node_name,
      "test-node");
}

TEST_F(NodeAgentTest, ADeletedPodLeavesNothing) {
  const MachineCounts before = node->counts();
  const api::Pod pod = node->create(make_pod("demo", {"sleep", "1000"}));
  node->wait_pod("demo", [](const api::Pod& now) { return now.spec.node_name.has_value(); });
  EXPECT_GT(node->counts().processes, 0U);
  node->remove("demo", 1);
  node->wait_gone("demo");
  EXPECT_TRUE(node->wait_until([&] { return node->agent().pods() == 0; }));
  EXPECT_EQ(node->counts(), before);
  EXPECT_FALSE(os::exists(node->paths().sandbox(pod.metadata.uid)));
  EXPECT_TRUE(os::list_directory(node->paths().crun()).empty());
  EXPECT_TRUE(os::list_directory(node->paths().runc()).empty());
  EXPECT_TRUE(os::list_directory(node->paths().network() + "/netns").empty());
}

TEST_F(NodeAgentTest, AContainerStaysWithTheRuntimeThatStartedIt) {
  const MachineCounts before = node->counts();
  for (const RuntimeKind first : {RuntimeKind::kRunc, RuntimeKind::kCrun}) {
    const bool runc_first = first == RuntimeKind::kRunc;
    node->stop();
    node->use_runtime(first);
    node->start();
    node->create(make_pod("demo", {"sleep", "1000"}));
    node->wait_phase("demo", "Running");
    const pid_t pid = node->pid_of("demo");
    node->stop();
    node->use_runtime(runc_first ? RuntimeKind::kCrun : RuntimeKind::kRunc);
    node->start();
    EXPECT_EQ(node->pid_of("demo"), pid);
    const std::string records = runc_first ? node->paths().runc() : node->paths().crun();
    EXPECT_EQ(os::list_directory(records).size(), 1U);
    node->remove("demo", 1);
    node->wait_gone("demo");
    EXPECT_TRUE(node->wait_until([&] { return node->agent().pods() == 0; }));
    EXPECT_EQ(node->counts(), before);
    EXPECT_TRUE(os::list_directory(records).empty());
  }
}

TEST_F(NodeAgentTest, BothRuntimesReportExitCodesOutputAndWhatCannotStart) {
  for (const RuntimeKind kind : {RuntimeKind::kRunc, RuntimeKind::kCrun}) {
    node->stop();
    node->use_runtime(kind);
    node->start();
    const std::string name = kind == RuntimeKind::kRunc ? "by-runc" : "by-crun";
    node->create(make_pod(name, {"sh", "-c", "echo said; exit 7"}));
    EXPECT_EQ(node->wait_end(name).exit_code, 7);
    EXPECT_NE(node->read_log(name).find("said\n"), std::string::npos);
    node->create(make_pod(name + "-bad", {"/no/such/program"}));
    const api::Pod bad = node->wait_pod(name + "-bad", [](const api::Pod& now) {
      return now.status && !now.status->container_statuses.empty() &&
             now.status->container_statuses[0].state &&
             now.status->container_statuses[0].state->waiting &&
             now.status->container_statuses[0].state->waiting->reason == "RunContainerError";
    });
    const std::string why = bad.status->container_statuses[0].state->waiting->message;
    EXPECT_NE(why.find("/no/such/program"), std::string::npos) << why;
    node->remove(name + "-bad", 0);
  }
}

TEST_F(NodeAgentTest, APodDeletedWhileItStartsLeavesNothing) {
  const MachineCounts before = node->counts();
  for (int i = 0; i < 5; ++i) {
    node->create(make_pod("demo", {"sleep", "1000"}));
    // Each round a little further into the start.
    (void)node->wait_until([&, n = 0]() mutable { return n++ >= i * 4; });
    node->remove("demo", 0);
    node->wait_gone("demo");
  }
  EXPECT_TRUE(node->wait_until([&] { return node->agent().pods() == 0; }));
  EXPECT_EQ(node->counts(), before);
  EXPECT_TRUE(os::list_directory(node->paths().sandboxes()).empty());
}

TEST_F(NodeAgentTest, TellsThatTheKernelKilledItForMemory) {
  api::Pod pod = make_pod("demo", {"sh", "-c", "tail -c 200000000 /dev/zero"});
  pod.spec.containers[0].resources = api::ResourceRequirements{};
  pod.spec.containers[0].resources->limits["memory"] = "32Mi";
  node->create(pod);
  const auto end = node->wait_end("demo");
  EXPECT_EQ(end.reason, "OOMKilled");
  EXPECT_EQ(end.exit_code, 137);
}

TEST_F(NodeAgentTest, ARestartedAgentAdoptsRunningContainers) {
  node->create(make_pod("demo", {"sh", "-c", "sleep 1000"}));
  node->wait_phase("demo", "Running");
  const pid_t pid = node->pid_of("demo");
  ASSERT_GT(pid, 0);
  node->stop();
  EXPECT_EQ(::kill(pid, 0), 0) << "it runs on while no agent is there";
  node->start();
  EXPECT_EQ(node->pid_of("demo"), pid);
  EXPECT_EQ(node->get("demo")->status->phase, "Running");
  ::kill(pid, SIGKILL);
  EXPECT_EQ(node->wait_end("demo").exit_code, 137) << "and its end is noticed";
}

TEST_F(NodeAgentTest, OutputWrittenWhileNoAgentRunsIsNotLost) {
  node->create(make_pod("demo", {"sh", "-c",
                                 "while [ ! -e /go ]; do sleep 0.02; done; echo late; "
                                 "sleep 1000"}));
  node->wait_phase("demo", "Running");
  const pid_t pid = node->pid_of("demo");
  node->stop();
  ASSERT_TRUE(os::write_file_unsynced("/proc/" + std::to_string(pid) + "/root/go", "", 0644));
  node->start();
  EXPECT_TRUE(
      node->wait_until([&] { return node->read_log("demo").find("late\n") != std::string::npos; }));
}

TEST_F(NodeAgentTest, WhatNoPodOwnsIsRemovedAtTheNextStart) {
  const MachineCounts before = node->counts();
  node->create(make_pod("demo", {"sleep", "1000"}));
  node->wait_pod("demo", [](const api::Pod& now) { return now.spec.node_name.has_value(); });
  node->stop();
  // As if the object had gone while no agent ran.
  ASSERT_TRUE(os::remove_tree(node->state() + "/../store"));
  node->start();
  EXPECT_EQ(node->agent().pods(), 0U);
  EXPECT_EQ(node->counts(), before);
  EXPECT_TRUE(os::list_directory(node->paths().sandboxes()).empty());
  EXPECT_TRUE(os::list_directory(node->paths().network() + "/netns").empty());
}

TEST_F(NodeAgentTest, AHardenedContainerHasNoWayToMoreRights) {
  api::Pod pod =
      make_pod("demo", {"sh", "-c",
                        "id -u; id -g; touch /x || echo readonly; grep -E "
                        "'^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; "
                        "unshare -r true || echo confined; mount -t tmpfs x /tmp || echo "
                        "nomount; cat /proc/kcore | wc -c; hostname"});
  pod.spec.containers[0].security_context = hardened();
  node->create(pod);
  EXPECT_EQ(node->wait_end("demo").exit_code, 0);
  const std::string log = node->read_log("demo");
  for (const char* line :
       {"1000\n1000\n", "readonly\n", "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n",
        "NoNewPrivs:\t1\n", "Seccomp:\t2\n", "confined\n", "nomount\n", "demo\n"}) {
    EXPECT_NE(log.find(line), std::string::npos) << line << "is missing in:\n" << log;
  }
}

TEST_F(NodeAgentTest, SecretsReachEnvironmentAndFilesAndNeverTheDisk) {
  api::Secret secret;
  secret.metadata.ns = "default";
  secret.metadata.name = "keys";
  secret.string_data["token"] = "s3cr3t-value";
  node->create(secret);
  api::Pod pod = make_pod("demo", {"sh", "-c",
                                   "echo $TOKEN $FROM_IMAGE; cat /keys/token; "
                                   "grep ' /keys ' /proc/mounts"});
  api::EnvVar variable;
  variable.name = "TOKEN";
  variable.value_from = api::EnvVarSource{};
  variable.value_from->secret_key_ref = api::KeySelector{.name = "keys", .key = "token"};
  pod.spec.containers[0].env.push_back(variable);
  api::Volume volume;
  volume.name = "keys";
  volume.secret = api::SecretVolumeSource{.secret_name = "keys"};
  pod.spec.volumes.push_back(volume);
  api::VolumeMount mount;
  mount.name = "keys";
  mount.mount_path = "/keys";
  mount.read_only = true;
  pod.spec.containers[0].volume_mounts.push_back(mount);
  node->create(pod);
  node->wait_end("demo");
  const std::string log = node->read_log("demo");
  EXPECT_NE(log.find("s3cr3t-value yes\ns3cr3t-value"), std::string::npos) << log;
  EXPECT_NE(log.find("tmpfs /keys tmpfs ro"), std::string::npos) << log;
}

TEST_F(NodeAgentTest, AVolumeKeepsItsFilesFromPodToPod) {
  node->create(make_claim("work"));
  api::Pod first = make_pod("first", {"sh", "-c", "echo kept > /data/file"});
  use_claim(first, "work");
  node->create(first);
  EXPECT_EQ(node->wait_end("first").exit_code, 0);
  api::Pod second = make_pod("second", {"cat", "/data/file"});
  use_claim(second, "work");
  node->create(second);
  node->wait_end("second");
  EXPECT_EQ(node->read_log("second"), "kept\n");
}

TEST_F(NodeAgentTest, ADeletedClaimKeepsItsFilesWhileAPodUsesThem) {
  const auto claim = node->create(make_claim("work"));
  api::Pod pod = make_pod("demo", {"sleep", "1000"});
  use_claim(pod, "work");
  node->create(pod);
  node->wait_phase("demo", "Running");
  const std::string folder = node->paths().volume(claim.metadata.uid);
  EXPECT_TRUE(node->wait_until([&] {
    const auto now =
        node->run(kube::get<api::PersistentVolumeClaim>(node->client(), {"default", "work"}));
    return now && now->status && now->status->phase == "Bound" && !now->metadata.finalizers.empty();
  }));
  ASSERT_TRUE(
      node->run(node->client().remove(api::PersistentVolumeClaim::kType, {"default", "work"}, {})));
  EXPECT_TRUE(os::exists(folder));
  node->remove("demo", 0);
  node->wait_gone("demo");
  EXPECT_TRUE(node->wait_until([&] { return !os::exists(folder); }));
  EXPECT_TRUE(node->wait_until([&] {
    return !node->run(kube::get<api::PersistentVolumeClaim>(node->client(), {"default", "work"}));
  }));
}

TEST_F(NodeAgentTest, AClonedClaimStartsWithACopy) {
  node->create(make_claim("source"));
  api::Pod writer = make_pod("writer", {"sh", "-c", "echo original > /data/file"});
  use_claim(writer, "source");
  node->create(writer);
  node->wait_end("writer");
  auto clone = make_claim("clone");
  clone.spec.data_source = api::TypedObjectReference{};
  clone.spec.data_source->kind = "PersistentVolumeClaim";
  clone.spec.data_source->name = "source";
  node->create(clone);
  api::Pod reader = make_pod("reader", {"sh", "-c", "cat /data/file; echo changed > /data/file"});
  use_claim(reader, "clone");
  node->create(reader);
  node->wait_end("reader");
  EXPECT_EQ(node->read_log("reader"), "original\n");
  api::Pod again = make_pod("again", {"cat", "/data/file"});
  use_claim(again, "source");
  node->create(again);
  node->wait_end("again");
  EXPECT_EQ(node->read_log("again"), "original\n");
}

TEST_F(NodeAgentTest, InitContainersRunInOrderBeforeTheRest) {
  api::Pod pod = make_pod("demo", {"cat", "/shared/log"});
  api::Volume volume;
  volume.name = "shared";
  volume.empty_dir = api::EmptyDirVolumeSource{.medium = "Memory", .size_limit = "1Mi"};
  pod.spec.volumes.push_back(volume);
  api::VolumeMount mount;
  mount.name = "shared";
  mount.mount_path = "/shared";
  pod.spec.containers[0].volume_mounts.push_back(mount);
  for (const char* name : {"one", "two"}) {
    api::Container init = pod.spec.containers[0];
    init.name = name;
    init.command = {"sh", "-c", std::string("echo ") + name + " >> /shared/log"};
    pod.spec.init_containers.push_back(init);
  }
  node->create(pod);
  node->wait_end("demo");
  EXPECT_EQ(node->read_log("demo"), "one\ntwo\n");
}

TEST_F(NodeAgentTest, AFailedInitContainerFailsThePod) {
  api::Pod pod = make_pod("demo", {"true"});
  api::Container init = pod.spec.containers[0];
  init.name = "setup";
  init.command = {"sh", "-c", "exit 4"};
  pod.spec.init_containers.push_back(init);
  node->create(pod);
  const api::Pod failed = node->wait_phase("demo", "Failed");
  EXPECT_EQ(failed.status->init_container_statuses[0].state->terminated->exit_code, 4);
}

TEST_F(NodeAgentTest, AnEndedContainerIsStartedAgainWhereThePolicySaysSo) {
  api::Pod pod = make_pod("demo", {"sh", "-c", "exit 1"});
  pod.spec.restart_policy = "Always";
  node->create(pod);
  const api::Pod restarted = node->wait_pod("demo", [](const api::Pod& now) {
    return now.status && !now.status->container_statuses.empty() &&
           now.status->container_statuses[0].restart_count >= 1;
  });
  EXPECT_EQ(restarted.status->container_statuses[0].last_state->terminated->exit_code, 1);
}

TEST_F(NodeAgentTest, AnImageThatCannotBeHadIsSaidSo) {
  api::Pod pod = make_pod("demo", {"true"});
  pod.spec.containers[0].image = "Not/Valid:tag";
  node->create(pod);
  const auto waiting = [](const api::Pod& now) {
    return now.status && !now.status->container_statuses.empty() &&
           now.status->container_statuses[0].state->waiting &&
           now.status->container_statuses[0].state->waiting->reason != "ContainerCreating";
  };
  const api::Pod invalid = node->wait_pod("demo", waiting);
  EXPECT_EQ(invalid.status->container_statuses[0].state->waiting->reason, "InvalidImageName");
  node->remove("demo", 0);
  node->wait_gone("demo");

  pod.spec.containers[0].image = "localhost:1/nothing:here";
  node->create(pod);
  const api::Pod missing = node->wait_pod("demo", waiting);
  EXPECT_EQ(missing.status->container_statuses[0].state->waiting->reason, "ErrImagePull");
  EXPECT_NE(missing.status->container_statuses[0].state->waiting->message.find("localhost:1"),
            std::string::npos);
}

TEST_F(NodeAgentTest, ACommandThatIsNotThereIsSaidSo) {
  node->create(make_pod("demo", {"/no/such/program"}));
  const api::Pod pod = node->wait_pod("demo", [](const api::Pod& now) {
    return now.status && !now.status->container_statuses.empty() &&
           now.status->container_statuses[0].state->waiting &&
           now.status->container_statuses[0].state->waiting->reason != "ContainerCreating";
  });
  EXPECT_EQ(pod.status->container_statuses[0].state->waiting->reason, "RunContainerError");
  const std::string why = pod.status->container_statuses[0].state->waiting->message;
  EXPECT_NE(why.find("/no/such/program"), std::string::npos) << why;
  EXPECT_NE(why.find("o such file or directory"), std::string::npos) << why;
}

TEST_F(NodeAgentTest, PrivilegedPodsAreRefusedByField) {
  api::Pod pod = make_pod("demo", {"true"});
  pod.spec.host_network = true;
  node->create(pod);
  const api::Pod refused = node->wait_pod("demo", [](const api::Pod& now) {
    return now.status && !now.status->container_statuses.empty() &&
           now.status->container_statuses[0].state->waiting &&
           now.status->container_statuses[0].state->waiting->reason != "ContainerCreating";
  });
  EXPECT_NE(refused.status->container_statuses[0].state->waiting->message.find("spec.hostNetwork"),
            std::string::npos);
}

TEST_F(NodeAgentTest, ASecondAgentOnTheSameFolderIsRefused) {
  async::BlockingPool blocking(1);
  async::RealTimers timers;
  base::SystemRandom random;
  boost::asio::io_context loop;
  const auto network = make_null_network(blocking, node->paths().network() + "/netns");
  NodeAgent second(loop.get_executor(), timers, random, blocking, node->client(), *network,
                   node->paths(), *os::Cgroups::detect(), {});
  const auto started = node->run(second.start());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, base::ErrorCode::kExists);
}

}  // namespace
}  // namespace agenttier::node
