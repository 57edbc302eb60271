// What sidecars and init containers may not ask for: anything beyond the pod.

#include <array>
#include <set>

#include "api/validate.h"
#include "policy/field_checks.h"

namespace agenttier::policy {
namespace {

namespace json = boost::json;

// The sandbox's own containers.
constexpr std::array<std::string_view, 3> kOwnNames = {"sandbox", "file-deployer", "init-scripts"};
// The volumes that containers share.
constexpr std::array<std::string_view, 2> kSharedVolumes = {"workspace", "tmp"};

// Whether a probe or hook names a host of its own: the node would call it with the node's reach.
bool names_host(const json::value& value) {
  if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) {
      if (names_host(item)) return true;
    }
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return false;
  for (const auto& [key, inner] : *object) {
    if (key == "host" || names_host(inner)) return true;
  }
  return false;
}

void check_security(const api::SecurityContext& security, const std::string& at,
                    Findings& findings) {
  if (security.privileged.value_or(false)) findings.add(at + ".privileged", "is not allowed");
  if (security.allow_privilege_escalation.value_or(false)) {
    findings.add(at + ".allowPrivilegeEscalation", "is not allowed");
  }
  if (security.run_as_user.value_or(1) == 0 || security.run_as_group.value_or(1) == 0) {
    findings.add(at, "may not run as root");
  }
  if (security.capabilities && !security.capabilities->add.empty()) {
    findings.add(at + ".capabilities.add", "is not allowed");
  }
  if (security.proc_mount.value_or("Default") != "Default") {
    findings.add(at + ".procMount", "must be Default");
  }
  if (security.seccomp_profile && security.seccomp_profile->type != "RuntimeDefault") {
    findings.add(at + ".seccompProfile.type", "must be RuntimeDefault");
  }
  if (!security.app_armor_profile.is_null() || !security.se_linux_options.is_null() ||
      !security.windows_options.is_null()) {
    findings.add(at, "may not set appArmorProfile, seLinuxOptions or windowsOptions");
  }
}

void check_mounts(const api::Container& container, const std::string& at, Findings& findings) {
  for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
    const api::VolumeMount& mount = container.volume_mounts[i];
    const std::string path = at + ".volumeMounts[" + std::to_string(i) + "]";
    bool known = false;
    for (const std::string_view name : kSharedVolumes) known = known || mount.name == name;
    if (!known) findings.add(path + ".name", "is neither workspace nor tmp");
    findings.add(path + ".mountPath", api::check_absolute_path(mount.mount_path));
    if (mount.mount_propagation.value_or("None") != "None") {
      findings.add(path + ".mountPropagation", "must be None");
    }
  }
  if (!container.volume_devices.is_null()) findings.add(at + ".volumeDevices", "is not allowed");
}

void check_reach(const api::Container& container, const std::string& at, Findings& findings) {
  for (std::size_t i = 0; i < container.ports.size(); ++i) {
    const api::ContainerPort& port = container.ports[i];
    if (port.host_port.value_or(0) == 0 && !port.host_ip) continue;
    findings.add(at + ".ports[" + std::to_string(i) + "].hostPort", "is not allowed");
  }
  const bool calls_out = names_host(container.lifecycle) || names_host(container.liveness_probe) ||
                         names_host(container.readiness_probe) ||
                         names_host(container.startup_probe);
  if (calls_out) findings.add(at, "has a probe or hook with a host of its own; leave host out");
  for (std::size_t i = 0; i < container.env_from.size(); ++i) {
    const auto& secret = container.env_from[i].secret_ref;
    if (!secret || !is_reserved_secret(secret->name)) continue;
    findings.add(at + ".envFrom[" + std::to_string(i) + "].secretRef.name",
                 "belongs to the control plane");
  }
}

void check_container(const api::Container& container, const std::string& at,
                     const SandboxRules& rules, Findings& findings) {
  findings.add(at + ".name", api::check_dns_label(container.name));
  for (const std::string_view name : kOwnNames) {
    if (container.name == name) findings.add(at + ".name", "is taken by the sandbox itself");
  }
  api::ImageSpec image;
  image.repository = container.image.value_or("");
  Findings image_findings;
  check_image(image, at, image_findings);
  if (const auto status = image_findings.status(); !status) {
    findings.add(at + ".image", "is no image reference such as registry/name:tag");
  }
  if (container.security_context) {
    check_security(*container.security_context, at + ".securityContext", findings);
  }
  if (container.resources) check_resources(*container.resources, at + ".resources", findings);
  check_env(container.env, at + ".env", rules, findings);
  check_mounts(container, at, findings);
  check_reach(container, at, findings);
}

}  // namespace

void check_containers(const std::vector<api::Container>& containers, const std::string& path,
                      const SandboxRules& rules, Findings& findings) {
  if (containers.size() > rules.containers_max) {
    return findings.add(path, "has " + std::to_string(containers.size()) +
                                  " containers, the most is " +
                                  std::to_string(rules.containers_max));
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    check_container(containers[i], at, rules, findings);
    if (!names.insert(containers[i].name).second) findings.add(at + ".name", "is used twice");
  }
}

}  // namespace agenttier::policy
