#include "controller/pod_builder.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <set>

#include "api/meta.h"
#include "api/names.h"
#include "controller/sandbox_objects.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;

api::Sandbox sandbox() {
  api::Sandbox made;
  made.metadata.name = "demo";
  made.metadata.ns = "team-a";
  made.metadata.uid = "uid-demo";
  return made;
}

policy::EffectiveSpec spec() {
  policy::SpecDefaults defaults;
  defaults.image = "debian:12";
  return policy::make_effective_spec({}, {}, defaults).value();
}

api::Pod build(const policy::EffectiveSpec& effective, const api::Sandbox& of = sandbox()) {
  return build_pod({.sandbox = of,
                    .spec = effective,
                    .volume_name = "demo-workspace",
                    .token_sha256 = "abc",
                    .template_name = "minimal"},
                   {});
}

const api::Container& main_of(const api::Pod& pod) {
  return pod.spec.containers.at(0);
}

std::string env_of(const api::Pod& pod, std::string_view name) {
  for (const api::EnvVar& variable : main_of(pod).env) {
    if (variable.name == name) return variable.value.value_or("");
  }
  return "absent";
}

void expect_hardened(const api::Container& container) {
  ASSERT_TRUE(container.security_context) << container.name;
  const api::SecurityContext& context = *container.security_context;
  EXPECT_GT(context.run_as_user.value_or(0), 0);
  EXPECT_EQ(context.run_as_non_root, true);
  EXPECT_EQ(context.allow_privilege_escalation, false);
  EXPECT_FALSE(context.privileged);
  EXPECT_EQ(context.capabilities->drop, std::vector<std::string>{"ALL"});
  EXPECT_TRUE(context.capabilities->add.empty());
  EXPECT_EQ(context.seccomp_profile->type, "RuntimeDefault");
}

TEST(PodBuilder, BelongsToItsSandboxByUid) {
  const api::Pod pod = build(spec());
  EXPECT_EQ(pod.metadata.name, "demo-pod");
  EXPECT_EQ(pod.metadata.ns, "team-a");
  EXPECT_TRUE(api::is_owned_by(pod.metadata, "uid-demo"));
  EXPECT_EQ(api::label_of(pod.metadata, names::kSandboxLabel), "demo");
  EXPECT_EQ(api::label_of(pod.metadata, names::kTemplateLabel), "minimal");
  EXPECT_EQ(api::annotation_of(pod.metadata, names::kRuntimeAnnotation), "true");
}

TEST(PodBuilder, IsHardened) {
  const api::Pod pod = build(spec());
  expect_hardened(main_of(pod));
  EXPECT_EQ(main_of(pod).security_context->read_only_root_filesystem, true);
  EXPECT_EQ(main_of(pod).security_context->run_as_user, 1000);
  EXPECT_EQ(pod.spec.security_context->fs_group, 1000);
  EXPECT_EQ(pod.spec.automount_service_account_token, false);
  EXPECT_EQ(pod.spec.enable_service_links, false);
  EXPECT_EQ(pod.spec.restart_policy, "Never");
  EXPECT_EQ(pod.spec.termination_grace_period_seconds, 5);
  EXPECT_FALSE(pod.spec.host_network);
  EXPECT_FALSE(pod.spec.host_pid);
}

TEST(PodBuilder, HasTheWorkspaceAndATmpInMemory) {
  const api::Pod pod = build(spec());
  ASSERT_EQ(pod.spec.volumes.size(), 2U);
  EXPECT_EQ(pod.spec.volumes[0].persistent_volume_claim->claim_name, "demo-workspace");
  EXPECT_EQ(pod.spec.volumes[1].empty_dir->medium, "Memory");
  EXPECT_EQ(pod.spec.volumes[1].empty_dir->size_limit, "256Mi");
  ASSERT_EQ(main_of(pod).volume_mounts.size(), 2U);
  EXPECT_EQ(main_of(pod).volume_mounts[0].mount_path, "/workspace");
  EXPECT_EQ(main_of(pod).volume_mounts[1].mount_path, "/tmp");
}

TEST(PodBuilder, RunsTheRuntimeAlone) {
  const api::Pod pod = build(spec());
  EXPECT_EQ(main_of(pod).command, std::vector<std::string>{"/.agenttier/runtime"});
  EXPECT_TRUE(main_of(pod).args.empty());
  EXPECT_FALSE(has_main_command(pod));
}

TEST(PodBuilder, RunsTheTemplatesCommandUnderTheRuntime) {
  policy::EffectiveSpec effective = spec();
  effective.harness.command = {"python", "serve.py"};
  effective.harness.args = {"--port", "80 80"};
  const api::Pod pod = build(effective);
  EXPECT_EQ(main_of(pod).args,
            (std::vector<std::string>{"--", "python", "serve.py", "--port", "80 80"}));
  EXPECT_TRUE(has_main_command(pod));
}

TEST(PodBuilder, TellsTheSandboxWhatItIs) {
  const api::Pod pod = build(spec());
  EXPECT_EQ(env_of(pod, "AGENTTIER_RUNTIME_TOKEN_SHA256"), "abc");
  EXPECT_EQ(env_of(pod, "AGENTTIER_WORKSPACE"), "/workspace");
  EXPECT_EQ(env_of(pod, "AGENTTIER_SANDBOX_NAME"), "demo");
  EXPECT_EQ(env_of(pod, "AGENTTIER_SANDBOX_NAMESPACE"), "team-a");
  EXPECT_EQ(env_of(pod, "HOME"), "/workspace");
}

TEST(PodBuilder, GivenVariablesPassUnchangedAndCannotReplaceItsOwn) {
  policy::EffectiveSpec effective = spec();
  api::EnvVar variable;
  variable.name = "HOME";
  variable.value = "/home/me";
  effective.env.push_back(variable);
  variable.name = "K";
  variable.value = "a\nb'\"$(id)";
  effective.env.push_back(variable);
  variable.name = "AGENTTIER_RUNTIME_TOKEN_SHA256";
  variable.value = "mine";
  effective.env.push_back(variable);
  const api::Pod pod = build(effective);
  EXPECT_EQ(env_of(pod, "HOME"), "/home/me");
  EXPECT_EQ(env_of(pod, "K"), "a\nb'\"$(id)");
  EXPECT_EQ(env_of(pod, "AGENTTIER_RUNTIME_TOKEN_SHA256"), "abc");
}

TEST(PodBuilder, HasResourcesEvenIfNobodyNamesAny) {
  const api::Pod pod = build(spec());
  EXPECT_TRUE(main_of(pod).resources->limits.contains("memory"));
  EXPECT_TRUE(main_of(pod).resources->requests.contains("cpu"));
}

TEST(PodBuilder, MountPathAndDirectoryFollowTheSpecification) {
  policy::EffectiveSpec effective = spec();
  effective.storage.mount_path = "/home/user";
  EXPECT_EQ(main_of(build(effective)).working_dir, "/home/user");
  EXPECT_EQ(env_of(build(effective), "HOME"), "/home/user");
  effective.harness.working_dir = "/home/user/project";
  EXPECT_EQ(main_of(build(effective)).working_dir, "/home/user/project");
}

TEST(PodBuilder, CredentialsAsVariablesAndAsFiles) {
  policy::EffectiveSpec effective = spec();
  api::CredentialRef credential;
  credential.secret_name = "keys.with.dots";
  credential.env_prefix = "K_";
  effective.credentials.push_back(credential);
  credential.mount_as = "file";
  credential.mount_path = "/keys";
  effective.credentials.push_back(credential);
  credential.mount_path = "/more-keys";
  effective.credentials.push_back(credential);
  const api::Pod pod = build(effective);
  ASSERT_EQ(main_of(pod).env_from.size(), 1U);
  EXPECT_EQ(main_of(pod).env_from[0].prefix, "K_");
  EXPECT_EQ(main_of(pod).env_from[0].secret_ref->name, "keys.with.dots");
  std::set<std::string> volume_names;
  for (const api::Volume& volume : pod.spec.volumes) {
    EXPECT_TRUE(volume_names.insert(volume.name).second) << volume.name;
    EXPECT_LE(volume.name.size(), 63U);
    EXPECT_EQ(volume.name.find('.'), std::string::npos);
  }
  EXPECT_EQ(pod.spec.volumes.size(), 4U);
  EXPECT_EQ(main_of(pod).volume_mounts.back().mount_path, "/more-keys");
  EXPECT_EQ(main_of(pod).volume_mounts.back().read_only, true);
}

TEST(PodBuilder, FilesAndScriptsNeverMeetAShell) {
  policy::EffectiveSpec effective = spec();
  api::FileSpec file;
  file.path = "/workspace/it's $(id) \"x\"";
  file.content = std::string("bytes\0and 'quotes'", 18);
  file.mode = 0600;
  effective.files.push_back(file);
  effective.init_scripts = {"echo 'one'", "echo two"};
  const api::Pod pod = build(effective);
  ASSERT_EQ(pod.spec.init_containers.size(), 2U);
  const api::Container& deployer = pod.spec.init_containers[0];
  EXPECT_EQ(deployer.name, "file-deployer");
  EXPECT_EQ(deployer.command[2].find("quotes"), std::string::npos);
  EXPECT_EQ(deployer.command[2].find("id"), std::string::npos);
  ASSERT_EQ(deployer.command.size(), 8U);
  EXPECT_EQ(deployer.command[4], "/workspace");
  EXPECT_EQ(deployer.command[6], file.path);
  EXPECT_EQ(deployer.command[7], "0600");
  const api::Container& scripts = pod.spec.init_containers[1];
  EXPECT_EQ(scripts.command,
            (std::vector<std::string>{"/bin/sh", "-e", "/.agenttier-files/init-scripts"}));
  for (const api::Container& container : pod.spec.init_containers) expect_hardened(container);

  const api::Secret secret = build_files_secret(sandbox(), effective);
  EXPECT_EQ(secret.metadata.name, "demo-sandbox-files");
  EXPECT_EQ(secret.data.at("file-0"), "Ynl0ZXMAYW5kICdxdW90ZXMn");
  EXPECT_EQ(secret.data.at("init-scripts"), "ZWNobyAnb25lJwplY2hvIHR3bwo=");
}

TEST(PodBuilder, InitScriptsSeeTheEnvironmentButNoTokenHash) {
  policy::EffectiveSpec effective = spec();
  effective.init_scripts = {"true"};
  const api::Pod pod = build(effective);
  std::set<std::string> seen;
  for (const api::EnvVar& variable : pod.spec.init_containers[0].env) seen.insert(variable.name);
  EXPECT_TRUE(seen.contains("HOME"));
  EXPECT_FALSE(seen.contains("AGENTTIER_RUNTIME_TOKEN_SHA256"));
}

TEST(PodBuilder, FilesFromSecretsAndConfigMapsAreCopiedFromOneKey) {
  policy::EffectiveSpec effective = spec();
  api::FileSpec file;
  file.path = "/workspace/a/b.conf";
  file.config_map_ref.emplace().name = "conf";
  file.config_map_ref->key = "b";
  effective.files.push_back(file);
  EXPECT_FALSE(needs_files_secret(effective));
  const api::Pod pod = build(effective);
  ASSERT_EQ(pod.spec.init_containers.size(), 1U);
  EXPECT_EQ(pod.spec.init_containers[0].command[4], "/workspace/a");
  EXPECT_EQ(pod.spec.init_containers[0].command[5], "/.agenttier-ref-0/content");
  EXPECT_EQ(pod.spec.volumes.back().config_map->items[0].key, "b");
}

TEST(PodBuilder, HelpersLiveUnderTheSameWalls) {
  policy::EffectiveSpec effective = spec();
  api::Container helper;
  helper.name = "helper";
  helper.image = "busybox";
  helper.security_context.emplace().run_as_user = 4000;
  helper.security_context->privileged = true;
  helper.security_context->allow_privilege_escalation = true;
  helper.security_context->capabilities.emplace().add = {"SYS_ADMIN"};
  effective.init_containers = {helper};
  helper.security_context->run_as_user = 0;
  effective.sidecars = {helper};
  const api::Pod pod = build(effective);
  ASSERT_EQ(pod.spec.containers.size(), 2U);
  expect_hardened(pod.spec.containers[1]);
  expect_hardened(pod.spec.init_containers[0]);
  EXPECT_EQ(pod.spec.init_containers[0].security_context->run_as_user, 4000);
  EXPECT_EQ(pod.spec.containers[1].security_context->run_as_user, 1000);
  EXPECT_TRUE(pod.spec.containers[1].resources->limits.contains("memory"));
}

TEST(PodBuilder, PrivilegedLiftsTheReadOnlyRootAndNoOtherWall) {
  policy::EffectiveSpec effective = spec();
  effective.privileged = true;
  const api::Pod pod = build(effective);
  const api::SecurityContext& context = *main_of(pod).security_context;
  EXPECT_EQ(context.read_only_root_filesystem, false);
  EXPECT_FALSE(context.privileged);
  EXPECT_EQ(context.run_as_user, 1000);
  EXPECT_EQ(context.allow_privilege_escalation, false);
}

TEST(PodBuilder, TakesClassAccountAndPullSecretFromTheSpecification) {
  policy::EffectiveSpec effective = spec();
  effective.runtime_class = "gvisor";
  effective.service_account = "team";
  effective.image.pull_secret = "registry";
  effective.image.pull_policy = "Always";
  const api::Pod pod = build(effective);
  EXPECT_EQ(pod.spec.runtime_class_name, "gvisor");
  EXPECT_EQ(pod.spec.service_account_name, "team");
  EXPECT_EQ(pod.spec.image_pull_secrets.at(0).name, "registry");
  EXPECT_EQ(main_of(pod).image_pull_policy, "Always");
}

TEST(PodBuilder, IsTheSameForTheSameInput) {
  EXPECT_EQ(build(spec()), build(spec()));
  EXPECT_EQ(spec_hash_of(build(spec())), policy::spec_hash(spec()));
}

TEST(VolumeBuilder, FollowsTheSpecification) {
  policy::EffectiveSpec effective = spec();
  api::PersistentVolumeClaim claim = build_volume(sandbox(), effective);
  EXPECT_EQ(claim.metadata.name, "demo-workspace");
  EXPECT_EQ(claim.spec.resources->requests.at("storage"), "10Gi");
  EXPECT_EQ(claim.spec.access_modes, std::vector<std::string>{"ReadWriteOnce"});
  EXPECT_FALSE(claim.spec.storage_class_name);
  effective.storage.shared = true;
  effective.storage.storage_class = "fast";
  effective.clone_from_snapshot = "snap";
  claim = build_volume(sandbox(), effective);
  EXPECT_EQ(claim.spec.access_modes, std::vector<std::string>{"ReadWriteMany"});
  EXPECT_EQ(claim.spec.storage_class_name, "fast");
  EXPECT_EQ(claim.spec.data_source->name, "snap");
}

}  // namespace
}  // namespace agenttier::controller
