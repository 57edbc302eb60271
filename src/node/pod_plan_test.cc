#include "node/pod_plan.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "api/names.h"

namespace agenttier::node {
namespace {

api::Pod one_container() {
  api::Pod pod;
  pod.metadata.name = "demo-pod";
  pod.metadata.ns = "default";
  pod.metadata.uid = "uid-1";
  api::Container container;
  container.name = "main";
  container.image = "alpine";
  pod.spec.containers.push_back(container);
  return pod;
}

struct Planned {
  api::Pod pod = one_container();
  ImageConfig image;
  PodSources sources;
  ContainerPlaces places{.rootfs = "/merged", .files = "/files", .netns_path = "/netns"};
  UserIds user;

  base::Result<ContainerConfig> plan() {
    AT_TRY(const Environment env,
           plan_environment(pod, pod.spec.containers[0], image, sources, PodFacts{"10.0.0.2"}));
    return plan_container({pod, pod.spec.containers[0], image, env, user, places});
  }
};

TEST(ExpandVariables, ReplacesKnownNamesOnly) {
  const Environment env = {{"A", "1"}, {"B", "two"}};
  EXPECT_EQ(expand_variables("$(A)-$(B)", env), "1-two");
  EXPECT_EQ(expand_variables("$(C) $A $", env), "$(C) $A $");
  EXPECT_EQ(expand_variables("$$(A) $(A", env), "$(A) $(A");
}

TEST(CommandLine, FollowsImageAndPodAsTheKubeletDoes) {
  Planned planned;
  planned.image.entrypoint = {"/entry"};
  planned.image.cmd = {"a", "b"};
  EXPECT_EQ(planned.plan()->argv, (std::vector<std::string>{"/entry", "a", "b"}));
  planned.pod.spec.containers[0].args = {"c"};
  EXPECT_EQ(planned.plan()->argv, (std::vector<std::string>{"/entry", "c"}));
  planned.pod.spec.containers[0].command = {"/own"};
  EXPECT_EQ(planned.plan()->argv, (std::vector<std::string>{"/own", "c"}));
  planned.pod.spec.containers[0].args.clear();
  EXPECT_EQ(planned.plan()->argv, (std::vector<std::string>{"/own"}));
}

TEST(CommandLine, MissingIsAnErrorThatSaysWhatToSet) {
  Planned planned;
  const auto config = planned.plan();
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message,
            "container \"main\": neither it nor its image has a command; set command");
}

TEST(PodEnvironment, LaterEntriesWinAndMayUseEarlierOnes) {
  Planned planned;
  planned.image.env = {"PATH=/img", "LEVEL=image"};
  planned.image.cmd = {"x"};
  planned.sources.secrets["keys"] = {{"TOKEN", "abc"}};
  api::Container& container = planned.pod.spec.containers[0];
  api::EnvFromSource from;
  from.prefix = "K_";
  from.secret_ref = api::EnvFromReference{.name = "keys"};
  container.env_from.push_back(from);
  container.env.push_back({.name = "LEVEL", .value = "pod"});
  container.env.push_back({.name = "BOTH", .value = "$(LEVEL)-$(K_TOKEN)"});
  api::EnvVar ip{.name = "IP"};
  ip.value_from = api::EnvVarSource{};
  ip.value_from->field_ref = api::ObjectFieldSelector{.field_path = "status.podIP"};
  container.env.push_back(ip);
  const auto config = planned.plan();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->env, (std::vector<std::string>{"PATH=/img", "LEVEL=pod", "HOSTNAME=demo-pod",
                                                   "K_TOKEN=abc", "BOTH=pod-abc", "IP=10.0.0.2"}));
}

TEST(PodEnvironment, AMissingKeyIsNamed) {
  Planned planned;
  planned.image.cmd = {"x"};
  planned.sources.secrets["keys"] = {};
  api::EnvVar variable{.name = "TOKEN"};
  variable.value_from = api::EnvVarSource{};
  variable.value_from->secret_key_ref = api::KeySelector{.name = "keys", .key = "token"};
  planned.pod.spec.containers[0].env.push_back(variable);
  EXPECT_EQ(planned.plan().error().message, "couldn't find key token in secret \"keys\"");
}

TEST(ImageUser, IsFoundByNumberAndByName) {
  const std::string passwd = "root:x:0:0::/:/bin/sh\nnode:x:1001:1002::/:/bin/sh\n";
  const std::string group = "root:x:0:\nstaff:x:50:node\n";
  EXPECT_EQ(*find_image_user("", passwd, group), (UserIds{0, 0}));
  EXPECT_EQ(*find_image_user("1001", passwd, group), (UserIds{1001, 1002}));
  EXPECT_EQ(*find_image_user("7:8", passwd, group), (UserIds{7, 8}));
  EXPECT_EQ(*find_image_user("node", passwd, group), (UserIds{1001, 1002}));
  EXPECT_EQ(*find_image_user("node:staff", passwd, group), (UserIds{1001, 50}));
  EXPECT_EQ(find_image_user("nobody", passwd, group).error().message,
            "the image's user \"nobody\" is not in its /etc/passwd");
}

TEST(Security, TheContainersWordGoesBeforeThePodsAndThePodsBeforeTheImages) {
  Planned planned;
  planned.image.cmd = {"x"};
  planned.user = {5, 6};
  EXPECT_EQ(planned.plan()->uid, 5U);
  planned.pod.spec.security_context = api::PodSecurityContext{};
  planned.pod.spec.security_context->run_as_user = 1000;
  planned.pod.spec.security_context->fs_group = 2000;
  EXPECT_EQ(planned.plan()->uid, 1000U);
  EXPECT_EQ(planned.plan()->groups, std::vector<std::uint32_t>{2000});
  planned.pod.spec.containers[0].security_context = api::SecurityContext{};
  planned.pod.spec.containers[0].security_context->run_as_user = 0;
  EXPECT_EQ(planned.plan()->uid, 0U);
  planned.pod.spec.security_context->run_as_non_root = true;
  EXPECT_FALSE(planned.plan());
}

TEST(Security, DropAllLeavesNothingAndUnknownCapabilitiesAreRefused) {
  Planned planned;
  planned.image.cmd = {"x"};
  api::SecurityContext context;
  context.allow_privilege_escalation = false;
  context.capabilities = api::Capabilities{};
  context.capabilities->drop = {"ALL"};
  context.capabilities->add = {"NET_RAW"};
  planned.pod.spec.containers[0].security_context = context;
  EXPECT_EQ(planned.plan()->capabilities, std::set<std::string>{"CAP_NET_RAW"});
  EXPECT_EQ(planned.plan()->escalation, Escalation::kForbidden);
  planned.pod.spec.containers[0].security_context->capabilities->add = {"SYS_ADMIN"};
  const auto checked = check_pod(planned.pod);
  ASSERT_FALSE(checked);
  ASSERT_EQ(checked.error().causes.size(), 1U);
  EXPECT_EQ(checked.error().causes[0].field, "spec.containers[0].securityContext.capabilities.add");
}

TEST(CheckPod, RefusesARuntimeClassThatThisNodeLacks) {
  // Another runtime in its place would isolate less than what was asked for.
  for (const char* known : {"", "runc", "crun", "gvisor", "runsc"}) {
    api::Pod pod = one_container();
    pod.spec.runtime_class_name = known;
    EXPECT_TRUE(check_pod(pod)) << known;
  }
  api::Pod pod = one_container();
  pod.spec.runtime_class_name = "kata";
  const auto checked = check_pod(pod);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().causes.at(0).field, "spec.runtimeClassName");
}

TEST(CheckPod, RefusesEveryWayToTheHost) {
  const auto refused = [](const std::function<void(api::Pod&)>& change) {
    api::Pod pod = one_container();
    change(pod);
    const auto checked = check_pod(pod);
    return checked ? std::string("accepted") : checked.error().causes.at(0).field;
  };
  EXPECT_EQ(refused([](api::Pod& pod) { pod.spec.host_network = true; }), "spec.hostNetwork");
  EXPECT_EQ(refused([](api::Pod& pod) { pod.spec.host_pid = true; }), "spec.hostPID");
  EXPECT_EQ(refused([](api::Pod& pod) { pod.spec.host_ipc = true; }), "spec.hostIPC");
  EXPECT_EQ(refused([](api::Pod& pod) {
              pod.spec.containers[0].security_context = api::SecurityContext{};
              pod.spec.containers[0].security_context->privileged = true;
            }),
            "spec.containers[0].securityContext.privileged");
  EXPECT_EQ(refused([](api::Pod& pod) {
              api::Volume volume;
              volume.name = "host";
              volume.host_path = boost::json::object{{"path", "/"}};
              pod.spec.volumes.push_back(volume);
            }),
            "spec.volumes[0].hostPath");
}

TEST(Mounts, TheRuntimeIsGivenReadOnlyWhereTheAnnotationAsksForIt) {
  Planned planned;
  planned.image.cmd = {"x"};
  planned.places.runtime_binary = "/opt/runtime";
  const auto has_runtime = [&planned] {
    const auto plan = planned.plan();
    for (const MountedPath& path : plan->mounts) {
      if (path.source == "/opt/runtime") {
        return path.target == "/.agenttier/runtime" && path.access == Access::kReadOnly;
      }
    }
    return false;
  };
  EXPECT_FALSE(has_runtime());
  planned.pod.metadata.annotations[std::string(api::names::kRuntimeAnnotation)] = "true";
  EXPECT_TRUE(has_runtime());
}

TEST(Mounts, PathsThatClimbAreRefused) {
  Planned planned;
  planned.image.cmd = {"x"};
  planned.places.volumes["v"] = "/volume";
  api::VolumeMount mount;
  mount.name = "v";
  mount.mount_path = "/work/../etc";
  planned.pod.spec.containers[0].volume_mounts.push_back(mount);
  EXPECT_FALSE(planned.plan());
  planned.pod.spec.containers[0].volume_mounts[0].mount_path = "/work";
  EXPECT_TRUE(planned.plan());
}

TEST(Bundle, HasLimitsWithoutSwapAndTheSeccompProfile) {
  ContainerConfig config;
  config.argv = {"x"};
  config.uid = 1000;
  config.limits.memory_bytes = 1 << 20;
  config.limits.cpu_millis = 500;
  config.capabilities = default_capabilities();
  const boost::json::value bundle = boost::json::parse(format_bundle(config));
  const auto& resources = bundle.at("linux").at("resources");
  EXPECT_EQ(resources.at("memory").at("limit").as_int64(), 1 << 20);
  EXPECT_EQ(resources.at("memory").at("swap").as_int64(), 1 << 20);
  EXPECT_EQ(resources.at("cpu").at("quota").as_int64(), 50'000);
  EXPECT_EQ(bundle.at("linux").at("seccomp").at("defaultAction").as_string(), "SCMP_ACT_ERRNO");
  EXPECT_TRUE(bundle.at("process").at("noNewPrivileges").as_bool());
  EXPECT_TRUE(bundle.at("process").at("capabilities").at("bounding").as_array().empty());
}

TEST(Seccomp, AllowsNoCallThatLeavesTheContainer) {
  const boost::json::value bundle = boost::json::parse(format_bundle({.argv = {"x"}}));
  std::set<std::string> allowed;
  for (const auto& rule : bundle.at("linux").at("seccomp").at("syscalls").as_array()) {
    if (rule.at("action").as_string() != "SCMP_ACT_ALLOW") continue;
    for (const auto& name : rule.at("names").as_array()) {
      allowed.insert(std::string(name.as_string()));
    }
  }
  for (const char* name : {"mount",        "umount2",        "pivot_root",    "move_mount",
                           "fsopen",       "open_tree",      "mount_setattr", "unshare",
                           "setns",        "clone3",         "bpf",           "perf_event_open",
                           "keyctl",       "add_key",        "request_key",   "init_module",
                           "finit_module", "delete_module",  "kexec_load",    "kexec_file_load",
                           "reboot",       "swapon",         "swapoff",       "open_by_handle_at",
                           "userfaultfd",  "io_uring_setup", "iopl",          "ioperm",
                           "quotactl",     "settimeofday",   "clock_settime", "syslog",
                           "acct",         "lookup_dcookie", "vhangup"}) {
    EXPECT_FALSE(allowed.contains(name)) << name;
  }
  for (const char* name : {"read", "execve", "clone", "socket", "futex", "openat", "ptrace"}) {
    EXPECT_TRUE(allowed.contains(name)) << name;
  }
}

TEST(Hostname, IsTheSandboxesNameAndFits) {
  api::Pod pod = one_container();
  EXPECT_EQ(pod_hostname(pod), "demo-pod");
  pod.metadata.labels[std::string(api::names::kSandboxLabel)] = "demo";
  EXPECT_EQ(pod_hostname(pod), "demo");
  pod.metadata.labels[std::string(api::names::kSandboxLabel)] = std::string(62, 'a') + "-b";
  EXPECT_EQ(pod_hostname(pod), std::string(62, 'a'));
}

TEST(PullPolicy, OfAMovingTagIsAlways) {
  api::Container container;
  container.image = "alpine";
  EXPECT_EQ(pull_policy(container), PullPolicy::kAlways);
  container.image = "alpine:3.20";
  EXPECT_EQ(pull_policy(container), PullPolicy::kIfNotPresent);
  container.image_pull_policy = "Never";
  EXPECT_EQ(pull_policy(container), PullPolicy::kNever);
}

}  // namespace
}  // namespace agenttier::node
