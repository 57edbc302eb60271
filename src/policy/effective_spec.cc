#include "policy/effective_spec.h"

#include <boost/json/value_from.hpp>
#include <utility>

#include "api/spec_hash.h"
#include "base/time_format.h"
#include "policy/template_merge.h"

namespace agenttier::policy {
namespace {

namespace json = boost::json;

template <class T>
T first_of(const std::optional<T>& first, const std::optional<T>& second, T fallback) {
  if (first.has_value()) return *first;
  return second.value_or(std::move(fallback));
}

// An empty string means the same as none.
std::string first_text(const std::optional<std::string>& first,
                       const std::optional<std::string>& second, const std::string& fallback) {
  if (first.has_value() && !first->empty()) return *first;
  if (second.has_value() && !second->empty()) return *second;
  return fallback;
}

template <class T>
std::vector<T> joined(const std::vector<T>& first, const std::vector<T>& second) {
  std::vector<T> all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

base::Result<std::optional<std::chrono::nanoseconds>> time_limit(
    const std::optional<std::string>& of_sandbox, const std::optional<std::string>& of_template,
    std::string_view field) {
  const std::string text = first_text(of_sandbox, of_template, "");
  if (text.empty()) return std::optional<std::chrono::nanoseconds>();
  auto parsed = base::parse_duration(text);
  if (!parsed) return base::invalid_field(std::string(field), parsed.error().message);
  // Zero is how clients of old spell "no limit".
  if (parsed->count() == 0) return std::optional<std::chrono::nanoseconds>();
  return std::optional<std::chrono::nanoseconds>(*parsed);
}

EffectiveStorage effective_storage(const api::SandboxSpec& sandbox,
                                   const api::SandboxTemplateSpec& merged,
                                   const SpecDefaults& defaults) {
  const auto storage = merge_storage(merged.storage, sandbox.storage).value_or(api::StorageSpec{});
  return {.size = first_text(storage.size, std::nullopt, defaults.storage_size),
          .storage_class = first_text(storage.storage_class, std::nullopt, defaults.storage_class),
          .mount_path = first_text(storage.mount_path, std::nullopt, defaults.mount_path),
          .snapshot_on_stop = storage.snapshot_on_stop.value_or(false),
          .shared = storage.shared.value_or(false)};
}

base::Result<api::ImageSpec> effective_image(const api::SandboxSpec& sandbox,
                                             const api::SandboxTemplateSpec& merged,
                                             const SpecDefaults& defaults) {
  api::ImageSpec image = first_of(sandbox.image, merged.image, api::ImageSpec{});
  if (image.repository.empty()) image.repository = defaults.image;
  if (!image.repository.empty()) return image;
  return base::invalid_field("spec.image.repository",
                             "neither the sandbox nor its template names an image");
}

api::HarnessSpec effective_harness(const api::SandboxTemplateSpec& merged,
                                   const SpecDefaults& defaults) {
  api::HarnessSpec harness = merged.harness.value_or(api::HarnessSpec{});
  if (!harness.shell || harness.shell->empty()) harness.shell = defaults.shell;
  return harness;
}

bool is_privileged(const api::SandboxSpec& sandbox, const api::SandboxTemplateSpec& merged) {
  const auto security = sandbox.security ? sandbox.security : merged.security;
  return security && security->privileged.value_or(false);
}

template <class T>
json::array json_list(const std::vector<T>& items) {
  json::array list;
  for (const T& item : items) list.push_back(item.to_json());
  return list;
}

}  // namespace

api::ResourceRequirements SpecDefaults::standard_resources() {
  api::ResourceRequirements resources;
  resources.requests = {{"cpu", "100m"}, {"memory", "128Mi"}};
  resources.limits = {{"cpu", "2"}, {"memory", "2Gi"}};
  return resources;
}

base::Result<EffectiveSpec> make_effective_spec(const api::SandboxSpec& sandbox,
                                                const api::SandboxTemplateSpec& merged,
                                                const SpecDefaults& defaults) {
  EffectiveSpec spec;
  AT_TRY(spec.image, effective_image(sandbox, merged, defaults));
  AT_TRY(spec.timeout, time_limit(sandbox.timeout, merged.timeout, "spec.timeout"));
  AT_TRY(spec.idle_timeout,
         time_limit(sandbox.idle_timeout, merged.idle_timeout, "spec.idleTimeout"));
  spec.mode = first_text(sandbox.mode, merged.mode, defaults.mode);
  spec.resources = first_of(sandbox.resources, merged.resources, defaults.resources);
  spec.storage = effective_storage(sandbox, merged, defaults);
  spec.network = first_of(sandbox.network, merged.network, api::NetworkSpec{});
  spec.env = merge_env(merged.env, sandbox.env);
  spec.runtime_class = first_text(sandbox.runtime_class, merged.runtime_class, "");
  spec.service_account = first_text(sandbox.service_account, merged.service_account, "");
  spec.privileged = is_privileged(sandbox, merged);
  spec.credentials = joined(merged.credentials, sandbox.credentials);
  spec.sidecars = joined(merged.sidecars, sandbox.sidecars);
  spec.init_containers = joined(merged.init_containers, sandbox.init_containers);
  spec.harness = effective_harness(merged, defaults);
  spec.init_scripts = merged.init_scripts;
  spec.files = merged.files;
  spec.clone_from_snapshot = sandbox.clone_from_snapshot.value_or("");
  return spec;
}

std::string spec_hash(const EffectiveSpec& spec) {
  json::object text;
  text["mode"] = spec.mode;
  text["image"] = spec.image.to_json();
  text["resources"] = spec.resources.to_json();
  text["storage"] = {{"size", spec.storage.size},
                     {"class", spec.storage.storage_class},
                     {"mountPath", spec.storage.mount_path},
                     {"shared", spec.storage.shared}};
  text["env"] = json_list(spec.env);
  text["runtimeClass"] = spec.runtime_class;
  text["serviceAccount"] = spec.service_account;
  text["privileged"] = spec.privileged;
  text["credentials"] = json_list(spec.credentials);
  text["sidecars"] = json_list(spec.sidecars);
  text["initContainers"] = json_list(spec.init_containers);
  text["harness"] = spec.harness.to_json();
  text["initScripts"] = json::value_from(spec.init_scripts);
  text["files"] = json_list(spec.files);
  text["cloneFromSnapshot"] = spec.clone_from_snapshot;
  return api::spec_hash(json::value(std::move(text)));
}

}  // namespace agenttier::policy
