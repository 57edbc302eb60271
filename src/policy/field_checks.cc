#include "policy/field_checks.h"

#include <array>
#include <set>
#include <utility>

#include "api/quantity.h"
#include "api/validate.h"
#include "base/time_format.h"
#include "policy/cidr.h"

namespace agenttier::policy {
namespace {

constexpr std::size_t kImageMax = 512;

// Whether `path` is `root` or lies below it.
bool is_below(std::string_view path, std::string_view root) {
  return path == root || (path.starts_with(root) && path[root.size()] == '/');
}

// Directories that a mount would break or that the system owns.
bool is_system_path(std::string_view path) {
  static constexpr std::array<std::string_view, 4> kClosed = {"/proc", "/sys", "/dev",
                                                              "/.agenttier"};
  static constexpr std::array<std::string_view, 8> kWhole = {"/",      "/bin", "/sbin", "/lib",
                                                             "/lib64", "/usr", "/etc",  "/tmp"};
  for (const std::string_view root : kClosed) {
    if (is_below(path, root)) return true;
  }
  for (const std::string_view root : kWhole) {
    if (path == root) return true;
  }
  return false;
}

void check_mount_path(const std::string& path, const std::string& field, Findings& findings) {
  if (auto status = api::check_absolute_path(path); !status) return findings.add(field, status);
  if (is_system_path(path)) {
    findings.add(field, "\"" + path + "\" belongs to the system; choose a directory of its own");
  }
}

void check_quantity_map(const std::map<std::string, std::string>& amounts, const std::string& path,
                        Findings& findings) {
  for (const auto& [name, amount] : amounts) {
    findings.add(path + "." + name, api::check_label_key(name));
    findings.add(path + "." + name, api::check_quantity(amount));
  }
}

std::size_t size_of(const std::optional<std::string>& text) {
  return text ? text->size() : 0;
}

void check_ports(const std::vector<api::NetworkPort>& ports, const std::string& path,
                 Findings& findings) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    findings.add(at + ".port", api::check_port(ports[i].port));
    const std::string protocol = ports[i].protocol.value_or("TCP");
    if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
      findings.add(at + ".protocol", "\"" + protocol + "\" is none of TCP, UDP, SCTP");
    }
  }
}

void check_rule_cidr(const std::string& text, const std::string& field, const SandboxRules& rules,
                     Findings& findings) {
  const auto cidr = parse_cidr(text);
  if (!cidr) return findings.add(field, base::Status(cidr.error()));
  const std::string closed = container_of(*cidr, rules.closed_cidrs);
  if (!closed.empty()) findings.add(field, text + " lies in " + closed + ", which stays closed");
}

void check_service(const api::ServiceReference& service, const std::string& path,
                   const SandboxRules& rules, Findings& findings) {
  findings.add(path + ".name", api::check_dns_label(service.name));
  const std::string ns = service.ns.value_or("");
  if (!ns.empty()) findings.add(path + ".namespace", api::check_dns_label(ns));
  for (const std::string& closed : rules.closed_namespaces) {
    if (ns == closed) findings.add(path + ".namespace", "services of " + ns + " stay closed");
  }
  if (service.port) findings.add(path + ".port", api::check_port(*service.port));
}

enum class Direction { kEgress, kIngress };

void check_rule(const api::NetworkRule& rule, Direction direction, const std::string& at,
                const SandboxRules& rules, Findings& findings) {
  if (!rule.cidr && !rule.service_ref) {
    findings.add(at, "names neither cidr nor serviceRef and would open everything; name one");
  }
  if (rule.cidr && direction == Direction::kEgress) {
    check_rule_cidr(*rule.cidr, at + ".cidr", rules, findings);
  } else if (rule.cidr) {
    findings.add(at + ".cidr", api::check_cidr(*rule.cidr));
  }
  if (rule.service_ref && direction == Direction::kIngress) {
    findings.add(at + ".serviceRef", "a service is no source of connections; use cidr");
  } else if (rule.service_ref) {
    check_service(*rule.service_ref, at + ".serviceRef", rules, findings);
  }
  check_ports(rule.ports, at + ".ports", findings);
}

void check_rule_list(const std::vector<api::NetworkRule>& list, Direction direction,
                     const std::string& path, const SandboxRules& rules, Findings& findings) {
  if (list.size() > rules.network_rules_max) {
    return findings.add(path, "has " + std::to_string(list.size()) + " rules, the most is " +
                                  std::to_string(rules.network_rules_max));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    check_rule(list[i], direction, path + "[" + std::to_string(i) + "]", rules, findings);
  }
}

}  // namespace

void Findings::add(std::string field, std::string message) {
  if (causes_.size() >= kCausesMax) {
    ++dropped_;
    return;
  }
  causes_.push_back({.field = std::move(field), .message = std::move(message)});
}

void Findings::add(std::string field, const base::Status& status) {
  if (!status) add(std::move(field), status.error().message);
}

base::Status Findings::status() const {
  if (causes_.empty()) return {};
  base::Error error = base::invalid(causes_.front().field + ": " + causes_.front().message);
  const std::size_t others = causes_.size() - 1 + dropped_;
  if (others > 0) error.message += " (and " + std::to_string(others) + " more)";
  error.causes = causes_;
  return error;
}

void check_duration(const std::optional<std::string>& text, std::string field, ZeroDuration zero,
                    const SandboxRules& rules, Findings& findings) {
  if (!text) return;
  const auto parsed = base::parse_duration(*text);
  if (!parsed) return findings.add(std::move(field), parsed.error().message);
  if (parsed->count() == 0 && zero == ZeroDuration::kMeansNone) return;
  if (parsed->count() <= 0) {
    return findings.add(std::move(field),
                        "\"" + *text + "\" is not more than zero; leave it out for no limit");
  }
  if (*parsed > rules.duration_max) {
    findings.add(std::move(field), "\"" + *text + "\" is more than the longest, " +
                                       base::format_duration(rules.duration_max));
  }
}

void check_image(const api::ImageSpec& image, const std::string& path, Findings& findings) {
  const std::string& name = image.repository;
  const bool odd = name.find_first_of(" \t\r\n\"'\\`$;|&<>()") != std::string::npos ||
                   name.find('\0') != std::string::npos || name.starts_with('-');
  if (name.empty()) {
    findings.add(path + ".repository", "is empty; give an image such as debian:12");
  } else if (odd || name.size() > kImageMax) {
    findings.add(path + ".repository", "is no image reference such as registry/name:tag");
  }
  if (!image.pull_secret || image.pull_secret->empty()) return;
  findings.add(path + ".pullSecret", api::check_dns_subdomain(*image.pull_secret));
  if (is_reserved_secret(*image.pull_secret)) {
    findings.add(path + ".pullSecret", "belongs to the control plane");
  }
}

void check_storage(const api::StorageSpec& storage, const std::string& path,
                   const SandboxRules& rules, Findings& findings) {
  if (storage.size) {
    const auto bytes = api::parse_bytes(*storage.size);
    if (!bytes) {
      findings.add(path + ".size", base::Status(bytes.error()));
    } else if (*bytes <= 0 || *bytes > rules.storage_bytes_max) {
      findings.add(path + ".size", "\"" + *storage.size + "\" is not between 1 byte and " +
                                       api::format_bytes(rules.storage_bytes_max));
    }
  }
  if (storage.storage_class && !storage.storage_class->empty()) {
    findings.add(path + ".storageClass", api::check_dns_subdomain(*storage.storage_class));
  }
  if (storage.mount_path && !storage.mount_path->empty()) {
    check_mount_path(*storage.mount_path, path + ".mountPath", findings);
  }
}

void check_resources(const api::ResourceRequirements& resources, const std::string& path,
                     Findings& findings) {
  check_quantity_map(resources.limits, path + ".limits", findings);
  check_quantity_map(resources.requests, path + ".requests", findings);
  for (const auto& [name, amount] : resources.requests) {
    const auto limit = resources.limits.find(name);
    if (limit == resources.limits.end()) continue;
    const auto requested = api::parse_millis(amount);
    const auto allowed = api::parse_millis(limit->second);
    if (requested && allowed && *requested > *allowed) {
      findings.add(path + ".requests." + name,
                   "\"" + amount + "\" is more than the limit \"" + limit->second + "\"");
    }
  }
}

void check_env(const std::vector<api::EnvVar>& env, const std::string& path,
               const SandboxRules& rules, Findings& findings) {
  if (env.size() > rules.env_max) {
    return findings.add(path, "has " + std::to_string(env.size()) + " variables, the most is " +
                                  std::to_string(rules.env_max));
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < env.size(); ++i) {
    const api::EnvVar& variable = env[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    bytes += variable.name.size() + size_of(variable.value);
    findings.add(at + ".name", api::check_env_name(variable.name));
    if (is_reserved_env(variable.name)) {
      findings.add(at + ".name", variable.name + " is set by the control plane");
    }
    if (variable.value && variable.value->find('\0') != std::string::npos) {
      findings.add(at + ".value", "contains a NUL byte");
    }
    if (variable.value_from && size_of(variable.value) > 0) {
      findings.add(at, "has both value and valueFrom; keep one");
    }
    if (variable.value_from && variable.value_from->secret_key_ref &&
        is_reserved_secret(variable.value_from->secret_key_ref->name)) {
      findings.add(at + ".valueFrom.secretKeyRef.name", "belongs to the control plane");
    }
  }
  if (bytes > rules.env_bytes_max) {
    findings.add(path, "holds " + std::to_string(bytes) + " bytes, the most is " +
                           std::to_string(rules.env_bytes_max));
  }
}

void check_credentials(const std::vector<api::CredentialRef>& credentials, const std::string& path,
                       const SandboxRules& rules, Findings& findings) {
  if (credentials.size() > rules.credentials_max) {
    return findings.add(path, "has " + std::to_string(credentials.size()) +
                                  " entries, the most is " + std::to_string(rules.credentials_max));
  }
  std::set<std::string> mounts;
  for (std::size_t i = 0; i < credentials.size(); ++i) {
    const api::CredentialRef& credential = credentials[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    findings.add(at + ".secretName", api::check_dns_subdomain(credential.secret_name));
    if (is_reserved_secret(credential.secret_name)) {
      findings.add(at + ".secretName", "belongs to the control plane");
    }
    const std::string mount_as = credential.mount_as.value_or("env");
    if (mount_as == "env") {
      const std::string prefix = credential.env_prefix.value_or("");
      if (!prefix.empty()) findings.add(at + ".envPrefix", api::check_env_name(prefix));
      continue;
    }
    if (mount_as != "file") {
      findings.add(at + ".mountAs", "\"" + mount_as + "\" is neither env nor file");
      continue;
    }
    const std::string mount = credential.mount_path.value_or("");
    check_mount_path(mount, at + ".mountPath", findings);
    if (!mounts.insert(mount).second) findings.add(at + ".mountPath", "is used twice");
  }
}

void check_network(const api::NetworkSpec& network, const std::string& path,
                   const SandboxRules& rules, Findings& findings) {
  check_rule_list(network.egress_rules, Direction::kEgress, path + ".egressRules", rules, findings);
  check_rule_list(network.ingress_rules, Direction::kIngress, path + ".ingressRules", rules,
                  findings);
  if (!network.allowed_domains.empty() && network.allow_internet.value_or(false)) {
    findings.add(path + ".allowedDomains",
                 "does not narrow allowInternet: true; set that to false and list networks in "
                 "egressRules");
  }
}

void check_files(const std::vector<api::FileSpec>& files,
                 const std::vector<std::string>& init_scripts, const std::string& path,
                 const SandboxRules& rules, Findings& findings) {
  if (files.size() > rules.files_max) {
    return findings.add(path + ".files", "has " + std::to_string(files.size()) +
                                             " files, the most is " +
                                             std::to_string(rules.files_max));
  }
  std::size_t bytes = 0;
  for (const std::string& script : init_scripts) bytes += script.size();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const api::FileSpec& file = files[i];
    const std::string at = path + ".files[" + std::to_string(i) + "]";
    bytes += size_of(file.content);
    findings.add(at + ".path", api::check_absolute_path(file.path));
    const std::int64_t mode = file.mode.value_or(0644);
    if (mode < 0 || mode > 0777) findings.add(at + ".mode", "is not between 0 and 0777 (511)");
    if (file.secret_ref && is_reserved_secret(file.secret_ref->name)) {
      findings.add(at + ".secretRef.name", "belongs to the control plane");
    }
    const int sources = static_cast<int>(file.content.has_value()) +
                        static_cast<int>(file.secret_ref.has_value()) +
                        static_cast<int>(file.config_map_ref.has_value());
    if (sources > 1) findings.add(at, "has more than one of content, configMapRef, secretRef");
  }
  if (bytes > rules.files_bytes_max) {
    findings.add(path + ".files", "and initScripts hold " + std::to_string(bytes) +
                                      " bytes, the most is " +
                                      std::to_string(rules.files_bytes_max));
  }
}

}  // namespace agenttier::policy
