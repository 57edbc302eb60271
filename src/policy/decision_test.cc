#include "policy/decision.h"

#include <gtest/gtest.h>

namespace agenttier::policy {
namespace {

api::Sandbox named(const std::string& name) {
  api::Sandbox sandbox;
  sandbox.metadata.name = name;
  sandbox.metadata.ns = "default";
  return sandbox;
}

// The field that the one cause names, or what came instead.
std::string wrong_field(const base::Status& status) {
  if (status) return "nothing is wrong";
  if (status.error().causes.size() != 1) return "more than one: " + status.error().message;
  return status.error().causes[0].field;
}

std::string wrong_field(const api::Sandbox& sandbox) {
  return wrong_field(check_sandbox(sandbox, {}));
}

api::Container container(const std::string& name) {
  api::Container made;
  made.name = name;
  made.image = "nginx:1";
  return made;
}

TEST(CheckSandbox, PlainSandboxIsFine) {
  EXPECT_TRUE(check_sandbox(named("demo"), {}));
}

TEST(CheckSandbox, NameIsADnsLabelOfAtMost63) {
  EXPECT_TRUE(check_sandbox(named(std::string(63, 'a')), {}));
  EXPECT_EQ(wrong_field(named(std::string(64, 'a'))), "metadata.name");
  for (const char* name : {"", "Demo", "a.b", "-a", "a_b", "a/b"}) {
    EXPECT_EQ(wrong_field(named(name)), "metadata.name") << name;
  }
}

TEST(CheckSandbox, TimeLimitsAreMoreThanZero) {
  for (const char* bad : {"30 minutes", "-1h", "0", "0s", "", "9999999h", "8761h"}) {
    api::Sandbox sandbox = named("demo");
    sandbox.spec.timeout = bad;
    EXPECT_EQ(wrong_field(sandbox), "spec.timeout") << bad;
    sandbox = named("demo");
    sandbox.spec.idle_timeout = bad;
    EXPECT_EQ(wrong_field(sandbox), "spec.idleTimeout") << bad;
  }
  api::Sandbox sandbox = named("demo");
  sandbox.spec.timeout = "1h30m";
  EXPECT_TRUE(check_sandbox(sandbox, {}));
}

TEST(CheckSandbox, TellsAllThatIsWrong) {
  api::Sandbox sandbox = named("Demo");
  sandbox.spec.timeout = "-1h";
  sandbox.spec.mode = "party";
  const auto status = check_sandbox(sandbox, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().causes.size(), 3U);
  EXPECT_EQ(status.error().code, base::ErrorCode::kInvalid);
}

TEST(CheckSandbox, QuantitiesAreChecked) {
  for (const char* bad : {"ten", "-1Gi", "0", "1000Pi"}) {
    api::Sandbox sandbox = named("demo");
    sandbox.spec.storage.emplace().size = bad;
    EXPECT_EQ(wrong_field(sandbox), "spec.storage.size") << bad;
  }
  api::Sandbox sandbox = named("demo");
  sandbox.spec.resources.emplace().limits = {{"memory", "lots"}};
  EXPECT_EQ(wrong_field(sandbox), "spec.resources.limits.memory");
}

TEST(CheckSandbox, RequestAboveItsLimitIsRefused) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.resources.emplace().limits = {{"cpu", "1"}};
  sandbox.spec.resources->requests = {{"cpu", "1500m"}};
  EXPECT_EQ(wrong_field(sandbox), "spec.resources.requests.cpu");
}

TEST(CheckSandbox, MountPathMayNotHideTheSystem) {
  for (const char* bad : {"/", "/proc", "/proc/x", "/etc", "/tmp", "work", "/a/../b", "/dev/shm"}) {
    api::Sandbox sandbox = named("demo");
    sandbox.spec.storage.emplace().mount_path = bad;
    EXPECT_EQ(wrong_field(sandbox), "spec.storage.mountPath") << bad;
  }
  api::Sandbox sandbox = named("demo");
  sandbox.spec.storage.emplace().mount_path = "/home/user";
  EXPECT_TRUE(check_sandbox(sandbox, {}));
}

TEST(CheckSandbox, EnvironmentNameCannotCarryShellCode) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.env.emplace_back().name = "A;touch /tmp/p;B";
  EXPECT_EQ(wrong_field(sandbox), "spec.env[0].name");
}

TEST(CheckSandbox, EnvironmentValueMayBeAnythingButNul) {
  api::Sandbox sandbox = named("demo");
  api::EnvVar& variable = sandbox.spec.env.emplace_back();
  variable.name = "K";
  variable.value = "a\nb'\"$(id)";
  EXPECT_TRUE(check_sandbox(sandbox, {}));
  variable.value = std::string("a\0b", 3);
  sandbox.spec.env[0] = variable;
  EXPECT_EQ(wrong_field(sandbox), "spec.env[0].value");
}

TEST(CheckSandbox, ControlPlanesVariablesAreReserved) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.env.emplace_back().name = "AGENTTIER_RUNTIME_TOKEN_SHA256";
  EXPECT_EQ(wrong_field(sandbox), "spec.env[0].name");
}

TEST(CheckSandbox, NoWayLeadsToAnotherSandboxsToken) {
  const std::string secret = "victim-runtime-token";
  api::Sandbox sandbox = named("demo");
  sandbox.spec.credentials.emplace_back().secret_name = secret;
  EXPECT_EQ(wrong_field(sandbox), "spec.credentials[0].secretName");

  sandbox = named("demo");
  api::EnvVar& variable = sandbox.spec.env.emplace_back();
  variable.name = "T";
  variable.value_from.emplace().secret_key_ref.emplace().name = secret;
  EXPECT_EQ(wrong_field(sandbox), "spec.env[0].valueFrom.secretKeyRef.name");

  sandbox = named("demo");
  sandbox.spec.sidecars = {container("spy")};
  sandbox.spec.sidecars[0].env_from.emplace_back().secret_ref.emplace().name = secret;
  EXPECT_EQ(wrong_field(sandbox), "spec.sidecars[0].envFrom[0].secretRef.name");

  sandbox = named("demo");
  sandbox.spec.image.emplace().repository = "debian:12";
  sandbox.spec.image->pull_secret = "agenttier-apikey-0123";
  EXPECT_EQ(wrong_field(sandbox), "spec.image.pullSecret");
}

TEST(CheckSandbox, TemplateFilesNeitherReadReservedSecrets) {
  api::SandboxTemplateSpec spec;
  api::FileSpec& file = spec.files.emplace_back();
  file.path = "/workspace/t";
  file.secret_ref.emplace().name = "victim-scoped-key";
  EXPECT_EQ(wrong_field(check_template_spec(spec, {})), "spec.files[0].secretRef.name");
}

TEST(CheckSandbox, ServiceAccountIsNotTheUsersChoice) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.service_account = "cluster-admin";
  EXPECT_EQ(wrong_field(sandbox), "spec.serviceAccount");
  SandboxRules rules;
  rules.service_accounts = {"cluster-admin"};
  EXPECT_TRUE(check_sandbox(sandbox, rules));
  api::SandboxTemplateSpec spec;
  spec.service_account = "team";
  EXPECT_TRUE(check_template_spec(spec, {}));
}

TEST(CheckSandbox, PrivilegedIsForbiddenUnlessTheRulesAllowIt) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.security.emplace().privileged = true;
  EXPECT_EQ(wrong_field(sandbox), "spec.security.privileged");
  SandboxRules rules;
  rules.privileged = SandboxRules::Relaxed::kAllowed;
  EXPECT_TRUE(check_sandbox(sandbox, rules));
}

TEST(CheckSandbox, SidecarMayNotLeaveThePod) {
  const auto refused = [](auto change) {
    api::Sandbox sandbox = named("demo");
    sandbox.spec.sidecars = {container("side")};
    change(sandbox.spec.sidecars[0]);
    return wrong_field(sandbox);
  };
  const std::string at = "spec.sidecars[0]";
  using C = api::Container;
  EXPECT_EQ(refused([](C&) {}), "nothing is wrong");
  EXPECT_EQ(refused([](C& c) { c.security_context.emplace().privileged = true; }),
            at + ".securityContext.privileged");
  EXPECT_EQ(refused([](C& c) { c.security_context.emplace().run_as_user = 0; }),
            at + ".securityContext");
  EXPECT_EQ(refused([](C& c) {
              c.security_context.emplace().capabilities.emplace().add = {"SYS_ADMIN"};
            }),
            at + ".securityContext.capabilities.add");
  EXPECT_EQ(refused([](C& c) { c.security_context.emplace().proc_mount = "Unmasked"; }),
            at + ".securityContext.procMount");
  EXPECT_EQ(refused([](C& c) {
              c.security_context.emplace().seccomp_profile.emplace().type = "Unconfined";
            }),
            at + ".securityContext.seccompProfile.type");
  EXPECT_EQ(refused([](C& c) { c.ports.emplace_back().host_port = 80; }),
            at + ".ports[0].hostPort");
  EXPECT_EQ(refused([](C& c) {
              c.volume_mounts.emplace_back().name = "host";
              c.volume_mounts[0].mount_path = "/host";
            }),
            at + ".volumeMounts[0].name");
  EXPECT_EQ(refused([](C& c) {
              c.liveness_probe = {{"httpGet", {{"host", "169.254.169.254"}, {"port", 80}}}};
            }),
            at);
}

TEST(CheckSandbox, ContainersCannotTakeTheSandboxsName) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.sidecars = {container("sandbox")};
  EXPECT_EQ(wrong_field(sandbox), "spec.sidecars[0].name");
}

TEST(CheckSandbox, EgressRuleThatNamesNothingIsRefused) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.network.emplace().egress_rules.emplace_back();
  EXPECT_EQ(wrong_field(sandbox), "spec.network.egressRules[0]");
}

TEST(CheckSandbox, NetworksAreCheckedAndClosedOnesStayClosed) {
  for (const char* bad :
       {"10.0.0.0", "10.0.0.1/8", "300.0.0.0/8", "169.254.169.254/32", "127.0.0.0/8"}) {
    api::Sandbox sandbox = named("demo");
    sandbox.spec.network.emplace().egress_rules.emplace_back().cidr = bad;
    EXPECT_EQ(wrong_field(sandbox), "spec.network.egressRules[0].cidr") << bad;
  }
}

TEST(CheckSandbox, PortsAndProtocolsAreChecked) {
  api::Sandbox sandbox = named("demo");
  api::NetworkRule& rule = sandbox.spec.network.emplace().egress_rules.emplace_back();
  rule.cidr = "10.0.0.0/8";
  rule.ports.emplace_back().port = 70000;
  EXPECT_EQ(wrong_field(sandbox), "spec.network.egressRules[0].ports[0].port");
  sandbox.spec.network->egress_rules[0].ports[0].port = 443;
  sandbox.spec.network->egress_rules[0].ports[0].protocol = "HTTP";
  EXPECT_EQ(wrong_field(sandbox), "spec.network.egressRules[0].ports[0].protocol");
}

TEST(CheckSandbox, ServicesOfTheControlPlaneStayClosed) {
  api::Sandbox sandbox = named("demo");
  auto& service = sandbox.spec.network.emplace().egress_rules.emplace_back().service_ref.emplace();
  service.name = "router";
  service.ns = "agenttier";
  EXPECT_EQ(wrong_field(sandbox), "spec.network.egressRules[0].serviceRef.namespace");
}

TEST(CheckSandbox, DomainListThatWouldNotNarrowIsRefused) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.network.emplace().allow_internet = true;
  sandbox.spec.network->allowed_domains = {"example.com"};
  EXPECT_EQ(wrong_field(sandbox), "spec.network.allowedDomains");
}

TEST(CheckSandbox, UnknownDesiredStateIsRefused) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.desired_state = "Paused";
  EXPECT_EQ(wrong_field(sandbox), "spec.desiredState");
}

TEST(CheckSandbox, CredentialFilesNeedAPlaceOfTheirOwn) {
  api::Sandbox sandbox = named("demo");
  api::CredentialRef& credential = sandbox.spec.credentials.emplace_back();
  credential.secret_name = "keys";
  credential.mount_as = "file";
  EXPECT_EQ(wrong_field(sandbox), "spec.credentials[0].mountPath");
  sandbox.spec.credentials[0].mount_path = "/keys";
  EXPECT_TRUE(check_sandbox(sandbox, {}));
  sandbox.spec.credentials.push_back(sandbox.spec.credentials[0]);
  EXPECT_EQ(wrong_field(sandbox), "spec.credentials[1].mountPath");
}

TEST(CheckSandbox, ImageReferenceCannotBeAnOptionOrCarrySpaces) {
  for (const char* bad : {"", "-v", "debian 12", "debian;rm", "a\nb"}) {
    api::Sandbox sandbox = named("demo");
    sandbox.spec.image.emplace().repository = bad;
    EXPECT_EQ(wrong_field(sandbox), "spec.image.repository") << bad;
  }
  api::Sandbox sandbox = named("demo");
  sandbox.spec.image.emplace().repository = "registry.example:5000/team/image@sha256:0123";
  EXPECT_TRUE(check_sandbox(sandbox, {}));
}

TEST(CheckSandbox, ListsHaveLimits) {
  api::Sandbox sandbox = named("demo");
  sandbox.spec.env.resize(501);
  EXPECT_EQ(wrong_field(sandbox), "spec.env");
  sandbox = named("demo");
  sandbox.spec.sidecars.resize(17);
  EXPECT_EQ(wrong_field(sandbox), "spec.sidecars");
  sandbox = named("demo");
  sandbox.spec.env.emplace_back().name = "BIG";
  sandbox.spec.env[0].value = std::string(300 * 1024, 'x');
  EXPECT_EQ(wrong_field(sandbox), "spec.env");
}

EffectiveSpec plain_effective() {
  SpecDefaults defaults;
  defaults.image = "debian:12";
  return make_effective_spec({}, {}, defaults).value();
}

TEST(CheckEffectiveSpec, DefaultsPass) {
  EXPECT_TRUE(check_effective_spec(plain_effective(), {}));
}

TEST(CheckEffectiveSpec, FilesThatWouldBeLostAreRefused) {
  EffectiveSpec spec = plain_effective();
  spec.files.emplace_back().path = "/opt/config";
  EXPECT_EQ(wrong_field(check_effective_spec(spec, {})), "spec.files[0].path");
  spec.files[0].path = "/workspacer/config";
  EXPECT_EQ(wrong_field(check_effective_spec(spec, {})), "spec.files[0].path");
  spec.files[0].path = "/workspace/it's \"quoted\" $(id)";
  EXPECT_TRUE(check_effective_spec(spec, {}));
}

TEST(CheckEffectiveSpec, CredentialOfTheSandboxCannotHideTheWorkspace) {
  EffectiveSpec spec = plain_effective();
  api::CredentialRef& credential = spec.credentials.emplace_back();
  credential.secret_name = "keys";
  credential.mount_as = "file";
  credential.mount_path = "/workspace";
  EXPECT_EQ(wrong_field(check_effective_spec(spec, {})), "spec.credentials[0].mountPath");
}

TEST(CheckEffectiveSpec, SidecarAndInitContainerOfOneNameAreRefused) {
  EffectiveSpec spec = plain_effective();
  spec.sidecars = {container("twin")};
  spec.init_containers = {container("twin")};
  EXPECT_EQ(wrong_field(check_effective_spec(spec, {})), "spec.initContainers[0].name");
}

TEST(CheckTemplateSpec, ZeroTimeLimitMeansNone) {
  api::SandboxTemplateSpec spec;
  spec.timeout = "0s";
  EXPECT_TRUE(check_template_spec(spec, {}));
  spec.timeout = "-1s";
  EXPECT_EQ(wrong_field(check_template_spec(spec, {})), "spec.timeout");
}

}  // namespace
}  // namespace agenttier::policy
