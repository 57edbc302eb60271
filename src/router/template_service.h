#pragma once
// TemplateService lists, makes, replaces and deletes cluster-wide templates.
//
// A template is only written if it resolves: its parents exist and make no circle. One that a
// sandbox or another template uses is not deleted, since a stopped sandbox needs it to start again.
//
// Example:
//   AT_CO_TRY(api::ClusterSandboxTemplate made, co_await templates.create("python", spec));

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/sandbox.h"
#include "api/template.h"
#include "async/task.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace agenttier::router {

class TemplateService {
 public:
  using Template = api::ClusterSandboxTemplate;
  using Pointer = std::shared_ptr<const Template>;

  struct Parts {
    kube::Client& client;
    kube::Informer<Template>& templates;
    kube::Informer<api::SandboxTemplate>& namespaced;
    kube::Informer<api::Sandbox>& sandboxes;
  };
  // The parts must outlive this.
  explicit TemplateService(Parts parts) : parts_(parts) {}

  std::vector<Pointer> list() const;  // by name
  async::Task<base::Result<Pointer>> get(std::string name);
  async::Task<base::Result<Pointer>> create(std::string name, api::SandboxTemplateSpec spec);
  // kConflict if `resource_version` is given and not the newest.
  async::Task<base::Result<Pointer>> replace(std::string name, api::SandboxTemplateSpec spec,
                                             std::optional<std::string> resource_version);
  // kConflict that names a user of the template, if there is one.
  async::Task<base::Status> remove(std::string name);

 private:
  base::Status check_resolves(const std::string& name, const api::SandboxTemplateSpec& spec) const;
  std::optional<std::string> user_of(const std::string& name) const;
  async::Task<base::Result<Pointer>> settle(Template written);

  Parts parts_;
};

}  // namespace agenttier::router
