#include "controller/pod_builder.h"

#include <algorithm>
#include <utility>

#include "api/meta.h"
#include "api/names.h"
#include "controller/init_containers.h"
#include "controller/pod_security.h"
#include "controller/sandbox_objects.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;

api::Volume workspace_volume(const std::string& claim) {
  api::Volume volume;
  volume.name = names::kWorkspaceVolume;
  volume.persistent_volume_claim.emplace().claim_name = claim;
  return volume;
}

api::Volume tmp_volume(const PodOptions& options) {
  api::Volume volume;
  volume.name = names::kTmpVolume;
  volume.empty_dir.emplace().medium = "Memory";
  volume.empty_dir->size_limit = options.tmp_size;
  return volume;
}

bool is_file_credential(const api::CredentialRef& credential) {
  return credential.mount_as.value_or("env") == "file";
}

// One volume per file credential, numbered: a Secret's name may be too long, dotted or repeated.
std::string credential_volume(std::size_t index) {
  return "credential-" + std::to_string(index);
}

void add_credentials(const policy::EffectiveSpec& spec, api::Pod& pod, api::Container& main) {
  for (std::size_t i = 0; i < spec.credentials.size(); ++i) {
    const api::CredentialRef& credential = spec.credentials[i];
    if (!is_file_credential(credential)) {
      api::EnvFromSource source;
      source.prefix = credential.env_prefix;
      source.secret_ref.emplace().name = credential.secret_name;
      main.env_from.push_back(std::move(source));
      continue;
    }
    api::Volume volume;
    volume.name = credential_volume(i);
    volume.secret.emplace().secret_name = credential.secret_name;
    volume.secret->default_mode = 0440;  // readable by the pod's group
    pod.spec.volumes.push_back(std::move(volume));
    main.volume_mounts.push_back(volume_mount(
        credential_volume(i), credential.mount_path.value_or(""), MountAccess::kReadOnly));
  }
}

void set_env(std::vector<api::EnvVar>& env, std::string_view name, std::string value) {
  std::erase_if(env, [&](const api::EnvVar& variable) { return variable.name == name; });
  api::EnvVar& variable = env.emplace_back();
  variable.name = name;
  variable.value = std::move(value);
}

bool has_env(const std::vector<api::EnvVar>& env, std::string_view name) {
  return std::any_of(env.begin(), env.end(),
                     [&](const api::EnvVar& variable) { return variable.name == name; });
}

std::vector<api::EnvVar> environment(const PodInput& input) {
  std::vector<api::EnvVar> env = input.spec.env;
  const std::string& workspace = input.spec.storage.mount_path;
  // The image's home is on the read-only root; tools want to write there.
  if (!has_env(env, "HOME")) set_env(env, "HOME", workspace);
  set_env(env, names::kWorkspaceEnv, workspace);
  set_env(env, names::kSandboxNameEnv, input.sandbox.metadata.name);
  set_env(env, names::kSandboxNamespaceEnv, input.sandbox.metadata.ns);
  return env;
}

// The runtime, and after "--" the template's own command, which it supervises.
void set_command(const api::HarnessSpec& harness, api::Container& main) {
  main.command = {std::string(names::kRuntimePath)};
  std::vector<std::string> own = harness.command;
  own.insert(own.end(), harness.args.begin(), harness.args.end());
  if (own.empty()) return;
  main.args = {"--"};
  main.args.insert(main.args.end(), own.begin(), own.end());
}

api::Container main_container(const PodInput& input) {
  const policy::EffectiveSpec& spec = input.spec;
  api::Container main;
  main.name = names::kSandboxContainer;
  main.image = spec.image.repository;
  main.image_pull_policy = spec.image.pull_policy;
  set_command(spec.harness, main);
  const std::string directory = spec.harness.working_dir.value_or("");
  main.working_dir = directory.empty() ? spec.storage.mount_path : directory;
  main.env = environment(input);
  set_env(main.env, names::kRuntimeTokenHashEnv, input.token_sha256);
  main.resources = spec.resources;
  main.volume_mounts = shared_mounts(spec.storage.mount_path);
  main.security_context = hardened_context();
  if (spec.privileged) relax(*main.security_context);
  return main;
}

api::ObjectMeta pod_meta(const PodInput& input) {
  api::ObjectMeta meta = owned_meta(input.sandbox, names::pod_of(input.sandbox.metadata.name));
  if (!input.template_name.empty()) {
    meta.labels[std::string(names::kTemplateLabel)] = names::label_value_of(input.template_name);
  }
  meta.annotations[std::string(names::kRuntimeAnnotation)] = names::kTrue;
  meta.annotations[std::string(names::kSpecHashAnnotation)] = policy::spec_hash(input.spec);
  const auto& creator = input.sandbox.spec.created_by;
  if (creator && creator->email) {
    meta.annotations[std::string(names::kCreatedByAnnotation)] = *creator->email;
  }
  return meta;
}

void add_helpers(const PodInput& input, const PodOptions& options, api::Pod& pod) {
  const auto harden_all = [&](std::vector<api::Container> containers) {
    for (api::Container& container : containers) {
      harden(container);
      if (!container.resources) container.resources = options.helper_resources;
    }
    return containers;
  };
  pod.spec.init_containers = setup_containers(input, environment(input), options);
  for (api::Container& container : harden_all(input.spec.init_containers)) {
    pod.spec.init_containers.push_back(std::move(container));
  }
  for (api::Container& container : harden_all(input.spec.sidecars)) {
    pod.spec.containers.push_back(std::move(container));
  }
}

void set_pod_rules(const PodInput& input, const PodOptions& options, api::PodSpec& spec) {
  spec.security_context = hardened_pod_context();
  spec.restart_policy = "Never";
  spec.automount_service_account_token = false;
  spec.enable_service_links = false;
  spec.termination_grace_period_seconds = options.grace_seconds;
  if (!options.node_name.empty()) spec.node_name = options.node_name;
  if (!input.spec.runtime_class.empty()) spec.runtime_class_name = input.spec.runtime_class;
  if (!input.spec.service_account.empty()) spec.service_account_name = input.spec.service_account;
  const std::string pull_secret = input.spec.image.pull_secret.value_or("");
  if (!pull_secret.empty()) spec.image_pull_secrets.emplace_back().name = pull_secret;
}

const api::Container* find_main(const api::Pod& pod) {
  for (const api::Container& container : pod.spec.containers) {
    if (container.name == names::kSandboxContainer) return &container;
  }
  return nullptr;
}

}  // namespace

api::ResourceRequirements PodOptions::standard_helper_resources() {
  api::ResourceRequirements resources;
  resources.requests = {{"cpu", "10m"}, {"memory", "32Mi"}};
  resources.limits = {{"cpu", "1"}, {"memory", "512Mi"}};
  return resources;
}

api::Pod build_pod(const PodInput& input, const PodOptions& options) {
  api::Pod pod;
  pod.metadata = pod_meta(input);
  pod.spec.volumes = {workspace_volume(input.volume_name), tmp_volume(options)};
  api::Container main = main_container(input);
  add_credentials(input.spec, pod, main);
  pod.spec.containers.push_back(std::move(main));
  add_setup_volumes(input, pod);
  add_helpers(input, options, pod);
  set_pod_rules(input, options, pod.spec);
  return pod;
}

std::string token_sha256_of(const api::Pod& pod) {
  const api::Container* main = find_main(pod);
  if (main == nullptr) return "";
  for (const api::EnvVar& variable : main->env) {
    if (variable.name == names::kRuntimeTokenHashEnv) return variable.value.value_or("");
  }
  return "";
}

std::string spec_hash_of(const api::Pod& pod) {
  return std::string(api::annotation_of(pod.metadata, names::kSpecHashAnnotation));
}

bool has_main_command(const api::Pod& pod) {
  const api::Container* main = find_main(pod);
  return main != nullptr && !main->args.empty();
}

}  // namespace agenttier::controller
