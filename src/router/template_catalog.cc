#include "router/template_catalog.h"

#include <utility>

#include "kube/typed.h"

namespace agenttier::router {
namespace {

constexpr std::string_view kClusterKind = api::ClusterSandboxTemplate::kType.kind;
constexpr std::string_view kNamespacedKind = api::SandboxTemplate::kType.kind;

template <class T>
policy::TemplateRecord record_of(const T& object) {
  return {.spec = object.spec, .resource_version = object.metadata.resource_version};
}

// A caller's mistake in a request, whatever it is called when a template itself is asked for.
base::Error in_request(base::Error error) {
  if (error.code == base::ErrorCode::kNotFound) error.code = base::ErrorCode::kInvalid;
  if (error.causes.empty()) error.causes = {{"templateRef.name", error.message}};
  return std::move(error).context("templateRef");
}

}  // namespace

TemplateCatalog::TemplateCatalog(kube::Client& client,
                                 kube::Informer<api::ClusterSandboxTemplate>& cluster,
                                 kube::Informer<api::SandboxTemplate>& namespaced, std::string ns)
    : client_(client), cluster_(cluster), namespaced_(namespaced), ns_(std::move(ns)) {}

std::optional<policy::TemplateRecord> TemplateCatalog::find_cached(
    const policy::TemplateKey& key) const {
  if (key.scope == policy::TemplateScope::kCluster) {
    const auto found = cluster_.find("", key.name);
    return found ? std::optional(record_of(*found)) : std::nullopt;
  }
  const auto found = namespaced_.find(key.ns, key.name);
  return found ? std::optional(record_of(*found)) : std::nullopt;
}

base::Result<policy::ResolvedTemplate> TemplateCatalog::resolve_in(
    api::TemplateReference reference, const policy::TemplateLookup& lookup) const {
  if (!reference.kind) {
    const policy::TemplateKey cluster{policy::TemplateScope::kCluster, "", reference.name};
    const policy::TemplateKey own{policy::TemplateScope::kNamespace, ns_, reference.name};
    reference.kind = lookup(cluster) || !lookup(own) ? kClusterKind : kNamespacedKind;
  }
  return policy::resolve_template(reference, {.sandbox_namespace = ns_, .shared_namespaces = {}},
                                  lookup);
}

async::Task<base::Result<TemplateCatalog::Records>> TemplateCatalog::read_all() {
  Records records;
  AT_CO_TRY(auto cluster, co_await kube::list_all<api::ClusterSandboxTemplate>(client_));
  for (const auto& item : cluster.items) {
    records[{policy::TemplateScope::kCluster, "", item.metadata.name}] = record_of(item);
  }
  kube::ListOptions own;
  own.ns = ns_;
  AT_CO_TRY(auto namespaced, co_await kube::list_all<api::SandboxTemplate>(client_, own));
  for (const auto& item : namespaced.items) {
    records[{policy::TemplateScope::kNamespace, ns_, item.metadata.name}] = record_of(item);
  }
  co_return std::move(records);
}

async::Task<base::Result<policy::ResolvedTemplate>> TemplateCatalog::resolve(
    api::TemplateReference reference) {
  auto cached = resolve_in(reference, [this](const auto& key) { return find_cached(key); });
  if (cached) co_return *std::move(cached);
  if (cached.error().code != base::ErrorCode::kNotFound) {
    co_return in_request(std::move(cached).error());
  }
  AT_CO_TRY(const Records records, co_await read_all());
  auto fresh = resolve_in(std::move(reference), [&records](const policy::TemplateKey& key) {
    const auto found = records.find(key);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  });
  if (!fresh) co_return in_request(std::move(fresh).error());
  co_return *std::move(fresh);
}

api::TemplateReference reference_to(const policy::TemplateKey& key) {
  api::TemplateReference reference;
  reference.name = key.name;
  const bool in_cluster = key.scope == policy::TemplateScope::kCluster;
  reference.kind = std::string(in_cluster ? kClusterKind : kNamespacedKind);
  if (!in_cluster) reference.ns = key.ns;
  return reference;
}

}  // namespace agenttier::router
