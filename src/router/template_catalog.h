#pragma once
// TemplateCatalog resolves the template that a request names, with all it inherits from.
//
// Templates come from informers; what they do not have is looked for once on the server, so that a
// template can be used right after it was made. A reference without a kind is a
// ClusterSandboxTemplate if there is one of that name, else a SandboxTemplate of the sandboxes'
// namespace.
//
// Example:
//   AT_CO_TRY(policy::ResolvedTemplate resolved, co_await catalog.resolve({.name = "minimal"}));

#include <map>
#include <string>

#include "api/template.h"
#include "async/task.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "policy/template_merge.h"

namespace agenttier::router {

class TemplateCatalog {
 public:
  // The references must outlive this.
  TemplateCatalog(kube::Client& client, kube::Informer<api::ClusterSandboxTemplate>& cluster,
                  kube::Informer<api::SandboxTemplate>& namespaced, std::string ns);

  // kInvalid that names the template, and kDenied for one that is not shared.
  async::Task<base::Result<policy::ResolvedTemplate>> resolve(api::TemplateReference reference);

 private:
  using Records = std::map<policy::TemplateKey, policy::TemplateRecord>;

  std::optional<policy::TemplateRecord> find_cached(const policy::TemplateKey& key) const;
  async::Task<base::Result<Records>> read_all();
  base::Result<policy::ResolvedTemplate> resolve_in(api::TemplateReference reference,
                                                    const policy::TemplateLookup& lookup) const;

  kube::Client& client_;
  kube::Informer<api::ClusterSandboxTemplate>& cluster_;
  kube::Informer<api::SandboxTemplate>& namespaced_;
  const std::string ns_;
};

// The reference that names exactly this template.
api::TemplateReference reference_to(const policy::TemplateKey& key);

}  // namespace agenttier::router
