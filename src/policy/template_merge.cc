#include "policy/template_merge.h"

#include <algorithm>
#include <utility>

namespace agenttier::policy {
namespace {

template <class T>
void replace_if_set(std::optional<T>& base, const std::optional<T>& overlay) {
  if (overlay.has_value()) base = overlay;
}

template <class T>
void replace_if_any(std::vector<T>& base, const std::vector<T>& overlay) {
  if (!overlay.empty()) base = overlay;
}

template <class T>
void append(std::vector<T>& base, const std::vector<T>& overlay) {
  base.insert(base.end(), overlay.begin(), overlay.end());
}

// Overlays by a key field: the base's order is kept, new keys are appended.
template <class T>
void merge_by(std::vector<T>& base, const std::vector<T>& overlay, std::string T::*key) {
  for (const T& item : overlay) {
    const auto same = std::find_if(base.begin(), base.end(),
                                   [&](const T& other) { return other.*key == item.*key; });
    if (same != base.end()) {
      *same = item;
    } else {
      base.push_back(item);
    }
  }
}

void merge_agent(std::optional<api::AgentSpec>& base, const std::optional<api::AgentSpec>& child) {
  if (!child) return;
  if (!base) base.emplace();
  replace_if_any(base->entrypoint, child->entrypoint);
  replace_if_any(base->install_command, child->install_command);
  replace_if_set(base->working_dir, child->working_dir);
  replace_if_set(base->max_concurrent_invokes, child->max_concurrent_invokes);
  replace_if_set(base->default_invoke_timeout, child->default_invoke_timeout);
  merge_by(base->env, child->env, &api::EnvVar::name);
}

void merge_harness(std::optional<api::HarnessSpec>& base,
                   const std::optional<api::HarnessSpec>& child) {
  if (!child) return;
  if (!base) base.emplace();
  replace_if_any(base->command, child->command);
  replace_if_any(base->args, child->args);
  replace_if_set(base->working_dir, child->working_dir);
  replace_if_set(base->shell, child->shell);
  replace_if_set(base->system_prompt, child->system_prompt);
  replace_if_set(base->hooks, child->hooks);
  replace_if_set(base->constraints, child->constraints);
  replace_if_set(base->use_http_exec, child->use_http_exec);
  append(base->tools, child->tools);
  append(base->skills, child->skills);
  merge_agent(base->agent, child->agent);
}

std::string chain_text(const std::vector<TemplateKey>& chain) {
  std::string text;
  for (const TemplateKey& key : chain) {
    if (!text.empty()) text += " -> ";
    text += key.text();
  }
  return text;
}

base::Error with_reason(base::Error error, std::string_view reason) {
  error.reason = reason;
  return error;
}

// Says which template is missing, and whether the other kind has one of that name.
base::Error missing_template(const std::vector<TemplateKey>& chain, const TemplateLookup& lookup) {
  const TemplateKey& key = chain.back();
  std::string message = "template " + chain_text(chain) + ": " + key.text() + " does not exist";
  TemplateKey other{.scope = TemplateScope::kCluster, .ns = "", .name = key.name};
  if (key.scope == TemplateScope::kNamespace && lookup(other)) {
    message += "; a ClusterSandboxTemplate of that name does: set kind: ClusterSandboxTemplate";
  }
  return with_reason(base::not_found(std::move(message)), "template_not_found");
}

base::Error chain_error(base::ErrorCode code, const std::vector<TemplateKey>& chain,
                        std::string_view reason, std::string_view problem) {
  base::Error error;
  error.code = code;
  error.message = "template " + chain_text(chain) + ": ";
  error.message += problem;
  return with_reason(std::move(error), reason);
}

base::Status check_link(const std::vector<TemplateKey>& chain, const TemplateReach& reach) {
  if (chain.size() > kTemplateDepthMax) {
    return chain_error(base::ErrorCode::kInvalid, chain, "template_too_deep",
                       "more than " + std::to_string(kTemplateDepthMax) + " templates in a row");
  }
  const TemplateKey& key = chain.back();
  const auto& shared = reach.shared_namespaces;
  const bool open = key.scope == TemplateScope::kCluster || key.ns == reach.sandbox_namespace ||
                    std::find(shared.begin(), shared.end(), key.ns) != shared.end();
  if (open) return {};
  return chain_error(base::ErrorCode::kDenied, chain, "template_not_shared",
                     "templates of namespace " + key.ns + " are not shared with namespace " +
                         reach.sandbox_namespace);
}

struct Link {
  TemplateKey key;
  TemplateRecord record;
};

// The links from the named template to its root.
base::Result<std::vector<Link>> walk_chain(const api::TemplateReference& reference,
                                           const TemplateReach& reach,
                                           const TemplateLookup& lookup) {
  std::vector<Link> links;
  std::vector<TemplateKey> chain;
  const api::TemplateReference* next = &reference;
  std::string holder_namespace = reach.sandbox_namespace;
  while (next != nullptr) {
    AT_TRY(TemplateKey key, template_key(*next, holder_namespace));
    const bool seen = std::find(chain.begin(), chain.end(), key) != chain.end();
    chain.push_back(key);
    if (seen)
      return chain_error(base::ErrorCode::kInvalid, chain, "template_cycle",
                         "it inherits from itself");
    AT_OK(check_link(chain, reach));
    std::optional<TemplateRecord> record = lookup(key);
    if (!record) return missing_template(chain, lookup);
    // A cluster template's parents without namespace stay with the sandbox's namespace.
    if (key.scope == TemplateScope::kNamespace) holder_namespace = key.ns;
    links.push_back({.key = std::move(key), .record = std::move(*record)});
    const auto& parent = links.back().record.spec.inherits_from;
    next = parent ? &*parent : nullptr;
  }
  return links;
}

}  // namespace

std::string TemplateKey::text() const {
  if (scope == TemplateScope::kCluster) return "ClusterSandboxTemplate " + name;
  return "SandboxTemplate " + ns + "/" + name;
}

base::Result<TemplateKey> template_key(const api::TemplateReference& reference,
                                       std::string_view holder_namespace) {
  const std::string kind = reference.kind.value_or("");
  if (kind == api::ClusterSandboxTemplate::kType.kind) {
    return TemplateKey{.scope = TemplateScope::kCluster, .ns = "", .name = reference.name};
  }
  if (kind.empty() || kind == api::SandboxTemplate::kType.kind) {
    std::string ns = reference.ns.value_or("");
    if (ns.empty()) ns = holder_namespace;
    return TemplateKey{.scope = TemplateScope::kNamespace, .ns = ns, .name = reference.name};
  }
  return with_reason(base::invalid("template " + reference.name + ": kind \"" + kind +
                                   "\" is neither SandboxTemplate nor ClusterSandboxTemplate"),
                     "template_invalid");
}

std::vector<api::EnvVar> merge_env(std::vector<api::EnvVar> base,
                                   const std::vector<api::EnvVar>& overlay) {
  merge_by(base, overlay, &api::EnvVar::name);
  return base;
}

std::optional<api::StorageSpec> merge_storage(std::optional<api::StorageSpec> base,
                                              const std::optional<api::StorageSpec>& overlay) {
  if (!overlay) return base;
  if (!base) return overlay;
  replace_if_set(base->size, overlay->size);
  replace_if_set(base->storage_class, overlay->storage_class);
  replace_if_set(base->mount_path, overlay->mount_path);
  replace_if_set(base->snapshot_on_stop, overlay->snapshot_on_stop);
  replace_if_set(base->shared, overlay->shared);
  return base;
}

api::SandboxTemplateSpec merge_template(api::SandboxTemplateSpec parent,
                                        const api::SandboxTemplateSpec& child) {
  api::SandboxTemplateSpec merged = std::move(parent);
  merged.inherits_from.reset();
  replace_if_set(merged.mode, child.mode);
  replace_if_set(merged.description, child.description);
  replace_if_set(merged.image, child.image);
  replace_if_set(merged.resources, child.resources);
  replace_if_set(merged.network, child.network);
  replace_if_set(merged.security, child.security);
  replace_if_set(merged.timeout, child.timeout);
  replace_if_set(merged.idle_timeout, child.idle_timeout);
  replace_if_set(merged.runtime_class, child.runtime_class);
  replace_if_set(merged.service_account, child.service_account);
  merged.storage = merge_storage(std::move(merged.storage), child.storage);
  merge_harness(merged.harness, child.harness);
  merge_by(merged.env, child.env, &api::EnvVar::name);
  merge_by(merged.files, child.files, &api::FileSpec::path);
  append(merged.sidecars, child.sidecars);
  append(merged.init_containers, child.init_containers);
  append(merged.credentials, child.credentials);
  append(merged.init_scripts, child.init_scripts);
  return merged;
}

base::Result<ResolvedTemplate> resolve_template(const api::TemplateReference& reference,
                                                const TemplateReach& reach,
                                                const TemplateLookup& lookup) {
  AT_TRY(std::vector<Link> links, walk_chain(reference, reach, lookup));
  ResolvedTemplate resolved;
  resolved.key = links.front().key;
  resolved.resource_version = links.front().record.resource_version;
  for (const Link& link : links) resolved.chain.push_back(link.key);
  for (auto link = links.rbegin(); link != links.rend(); ++link) {
    resolved.spec = merge_template(std::move(resolved.spec), link->record.spec);
  }
  return resolved;
}

}  // namespace agenttier::policy
