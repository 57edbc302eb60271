#include "policy/decision.h"

#include <algorithm>
#include <array>
#include <set>

#include "api/names.h"
#include "api/validate.h"
#include "policy/field_checks.h"

namespace agenttier::policy {
namespace {

// What sandboxes and templates have in common.
template <class Spec>
void check_common(const Spec& spec, const std::string& path, const SandboxRules& rules,
                  Findings& findings) {
  if (spec.image) check_image(*spec.image, path + ".image", findings);
  if (spec.storage) check_storage(*spec.storage, path + ".storage", rules, findings);
  if (spec.resources) check_resources(*spec.resources, path + ".resources", findings);
  if (spec.network) check_network(*spec.network, path + ".network", rules, findings);
  if (spec.runtime_class && !spec.runtime_class->empty()) {
    findings.add(path + ".runtimeClass", api::check_dns_subdomain(*spec.runtime_class));
  }
  if (spec.service_account && !spec.service_account->empty()) {
    findings.add(path + ".serviceAccount", api::check_dns_subdomain(*spec.service_account));
  }
  if (spec.mode && *spec.mode != "code" && *spec.mode != "agent") {
    findings.add(path + ".mode", "\"" + *spec.mode + "\" is neither code nor agent");
  }
  if (spec.security && spec.security->privileged.value_or(false) &&
      rules.privileged == SandboxRules::Relaxed::kForbidden) {
    findings.add(path + ".security.privileged", "is not allowed here");
  }
  check_env(spec.env, path + ".env", rules, findings);
  check_credentials(spec.credentials, path + ".credentials", rules, findings);
  check_containers(spec.sidecars, path + ".sidecars", rules, findings);
  check_containers(spec.init_containers, path + ".initContainers", rules, findings);
}

void check_desired_state(const api::SandboxSpec& spec, Findings& findings) {
  const std::string state = spec.desired_state.value_or("Running");
  if (state == "Running" || state == "Stopped") return;
  findings.add("spec.desiredState", "\"" + state + "\" is neither Running nor Stopped");
}

void check_own_service_account(const api::SandboxSpec& spec, const SandboxRules& rules,
                               Findings& findings) {
  const std::string account = spec.service_account.value_or("");
  if (account.empty()) return;
  const auto& allowed = rules.service_accounts;
  if (std::find(allowed.begin(), allowed.end(), account) != allowed.end()) return;
  findings.add("spec.serviceAccount", "sandboxes may not choose the service account \"" + account +
                                          "\"; use a template that names it");
}

void check_template_ref(const api::TemplateReference& reference, const std::string& path,
                        Findings& findings) {
  findings.add(path + ".name", api::check_dns_subdomain(reference.name));
  const std::string kind = reference.kind.value_or("");
  if (!kind.empty() && kind != api::SandboxTemplate::kType.kind &&
      kind != api::ClusterSandboxTemplate::kType.kind) {
    findings.add(path + ".kind", "\"" + kind +
                                     "\" is neither SandboxTemplate nor "
                                     "ClusterSandboxTemplate");
  }
  const std::string ns = reference.ns.value_or("");
  if (!ns.empty()) findings.add(path + ".namespace", api::check_dns_label(ns));
}

// Whether `path` lies below `root`.
bool is_below(std::string_view path, std::string_view root) {
  return path.size() > root.size() + 1 && path.starts_with(root) && path[root.size()] == '/';
}

void check_file_places(const EffectiveSpec& spec, Findings& findings) {
  for (std::size_t i = 0; i < spec.files.size(); ++i) {
    const std::string& path = spec.files[i].path;
    if (is_below(path, spec.storage.mount_path) || is_below(path, "/tmp")) continue;
    findings.add("spec.files[" + std::to_string(i) + "].path",
                 "\"" + path + "\" is neither below " + spec.storage.mount_path +
                     " nor below /tmp, so it would be lost");
  }
}

// Mounts of credentials over each other or over the workspace hide one of the two.
void check_credential_places(const EffectiveSpec& spec, Findings& findings) {
  std::set<std::string> mounts = {spec.storage.mount_path, "/tmp"};
  for (std::size_t i = 0; i < spec.credentials.size(); ++i) {
    const api::CredentialRef& credential = spec.credentials[i];
    if (credential.mount_as.value_or("env") != "file") continue;
    const std::string mount = credential.mount_path.value_or("");
    if (mounts.insert(mount).second) continue;
    findings.add("spec.credentials[" + std::to_string(i) + "].mountPath",
                 "\"" + mount + "\" is mounted already");
  }
}

void check_container_names(const EffectiveSpec& spec, Findings& findings) {
  std::set<std::string> names;
  const auto note = [&](const std::vector<api::Container>& containers, const std::string& path) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      if (names.insert(containers[i].name).second) continue;
      findings.add(path + "[" + std::to_string(i) + "].name",
                   "\"" + containers[i].name + "\" is used twice");
    }
  };
  note(spec.sidecars, "spec.sidecars");
  note(spec.init_containers, "spec.initContainers");
}

}  // namespace

std::vector<std::string> SandboxRules::standard_closed_cidrs() {
  return {"127.0.0.0/8", "169.254.0.0/16", "::1/128", "fe80::/10"};
}

bool is_reserved_secret(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kSuffixes = {"-runtime-token", "-scoped-key",
                                                                "-sandbox-files"};
  for (const std::string_view suffix : kSuffixes) {
    if (name.ends_with(suffix)) return true;
  }
  return name.starts_with("agenttier-apikey-") || name.starts_with("agenttier-webhook-");
}

bool is_reserved_env(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {
      api::names::kRuntimeTokenHashEnv, api::names::kRuntimeListenEnv, api::names::kWorkspaceEnv,
      api::names::kSandboxNameEnv, api::names::kSandboxNamespaceEnv};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

base::Status check_sandbox(const api::Sandbox& sandbox, const SandboxRules& rules) {
  Findings findings;
  findings.add("metadata.name", api::check_sandbox_name(sandbox.metadata.name));
  const api::SandboxSpec& spec = sandbox.spec;
  check_desired_state(spec, findings);
  if (spec.template_ref) check_template_ref(*spec.template_ref, "spec.templateRef", findings);
  check_common(spec, "spec", rules, findings);
  check_own_service_account(spec, rules, findings);
  check_duration(spec.timeout, "spec.timeout", ZeroDuration::kRefused, rules, findings);
  check_duration(spec.idle_timeout, "spec.idleTimeout", ZeroDuration::kRefused, rules, findings);
  return findings.status();
}

base::Status check_template_spec(const api::SandboxTemplateSpec& spec, const SandboxRules& rules) {
  Findings findings;
  if (spec.inherits_from) check_template_ref(*spec.inherits_from, "spec.inheritsFrom", findings);
  check_common(spec, "spec", rules, findings);
  check_duration(spec.timeout, "spec.timeout", ZeroDuration::kMeansNone, rules, findings);
  check_duration(spec.idle_timeout, "spec.idleTimeout", ZeroDuration::kMeansNone, rules, findings);
  check_files(spec.files, spec.init_scripts, "spec", rules, findings);
  if (spec.harness && spec.harness->working_dir && !spec.harness->working_dir->empty()) {
    findings.add("spec.harness.workingDir", api::check_absolute_path(*spec.harness->working_dir));
  }
  return findings.status();
}

base::Status check_effective_spec(const EffectiveSpec& spec, const SandboxRules& rules) {
  Findings findings;
  check_image(spec.image, "spec.image", findings);
  check_resources(spec.resources, "spec.resources", findings);
  api::StorageSpec storage;
  storage.size = spec.storage.size;
  storage.storage_class = spec.storage.storage_class;
  storage.mount_path = spec.storage.mount_path;
  check_storage(storage, "spec.storage", rules, findings);
  check_network(spec.network, "spec.network", rules, findings);
  check_env(spec.env, "spec.env", rules, findings);
  check_credentials(spec.credentials, "spec.credentials", rules, findings);
  check_containers(spec.sidecars, "spec.sidecars", rules, findings);
  check_containers(spec.init_containers, "spec.initContainers", rules, findings);
  check_files(spec.files, spec.init_scripts, "spec", rules, findings);
  check_file_places(spec, findings);
  check_credential_places(spec, findings);
  check_container_names(spec, findings);
  if (spec.privileged && rules.privileged == SandboxRules::Relaxed::kForbidden) {
    findings.add("spec.security.privileged", "is not allowed here");
  }
  return findings.status();
}

}  // namespace agenttier::policy
