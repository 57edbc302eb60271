#pragma once
// Template resolution: from a reference to one merged template.
//
// A template may inherit from another, up to kTemplateDepthMax links. The chain is merged from its
// root to the template that was named; the child's fields win. Rules of the merge:
//   replaced as a whole   image, resources, network, security, timeout, idleTimeout, runtimeClass,
//                         serviceAccount, mode, description
//   field by field        storage, harness, harness.agent
//   by name               env, harness.agent.env (the parent's order, new names appended)
//   by path               files
//   appended              sidecars, initContainers, credentials, initScripts, harness.tools,
//   .skills
// No default is applied here: what a child leaves out comes from its parent. Defaults follow the
// merge (effective_spec.h).
//
// A reference without namespace is looked up in the namespace of the object that holds it: the
// sandbox's, or, for an ancestor, its child template's. A template of another namespace may carry
// what the sandbox's owner must not read, so only the sandbox's own and shared namespaces are open.
// Every error names the chain.
//
// Example:
//   AT_TRY(auto resolved, resolve_template(reference, {.sandbox_namespace = "team-a"}, lookup));
//   resolved.spec.image;   // of the template, or of the nearest ancestor that has one

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/sandbox_parts.h"
#include "api/template.h"
#include "base/result.h"

namespace agenttier::policy {

inline constexpr std::size_t kTemplateDepthMax = 10;

enum class TemplateScope : std::uint8_t { kNamespace, kCluster };

struct TemplateKey {
  TemplateScope scope = TemplateScope::kCluster;
  std::string ns;  // empty for kCluster
  std::string name;
  auto operator<=>(const TemplateKey&) const = default;
  std::string text() const;  // "SandboxTemplate team-a/python", "ClusterSandboxTemplate minimal"
};

struct TemplateRecord {
  api::SandboxTemplateSpec spec;
  std::string resource_version;
};

// Gives the template of a key, or nothing.
using TemplateLookup = std::function<std::optional<TemplateRecord>(const TemplateKey&)>;

struct ResolvedTemplate {
  TemplateKey key;                 // the template that was named
  std::string resource_version;    // of that template
  std::vector<TemplateKey> chain;  // from it to its root
  api::SandboxTemplateSpec spec;   // merged; inheritsFrom is absent
};

struct TemplateReach {
  std::string sandbox_namespace;
  std::vector<std::string> shared_namespaces;  // whose templates every sandbox may use
};

// kInvalid for a bad kind; otherwise the key that the reference means.
base::Result<TemplateKey> template_key(const api::TemplateReference& reference,
                                       std::string_view holder_namespace);

// kNotFound (reason "template_not_found") for a missing link, kDenied ("template_not_shared") for
// one of a closed namespace, kInvalid ("template_cycle", "template_too_deep", "template_invalid")
// for the rest.
base::Result<ResolvedTemplate> resolve_template(const api::TemplateReference& reference,
                                                const TemplateReach& reach,
                                                const TemplateLookup& lookup);

api::SandboxTemplateSpec merge_template(api::SandboxTemplateSpec parent,
                                        const api::SandboxTemplateSpec& child);
std::vector<api::EnvVar> merge_env(std::vector<api::EnvVar> base,
                                   const std::vector<api::EnvVar>& overlay);
std::optional<api::StorageSpec> merge_storage(std::optional<api::StorageSpec> base,
                                              const std::optional<api::StorageSpec>& overlay);

}  // namespace agenttier::policy
