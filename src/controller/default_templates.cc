#include "controller/default_templates.h"

#include <utility>

#include "api/names.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;

api::ClusterSandboxTemplate template_with(std::string name, std::string description,
                                          std::string image) {
  api::ClusterSandboxTemplate made;
  made.metadata.name = std::move(name);
  made.metadata.labels[std::string(names::kManagedLabel)] = names::kTrue;
  made.spec.mode = "code";
  made.spec.description = std::move(description);
  api::ImageSpec& source = made.spec.image.emplace();
  source.repository = std::move(image);
  source.pull_policy = "IfNotPresent";
  made.spec.network.emplace().allow_internet = true;
  made.spec.storage.emplace().mount_path = names::kWorkspacePath;
  made.spec.timeout = "24h";
  made.spec.idle_timeout = "4h";
  return made;
}

void set_amounts(api::SandboxTemplateSpec& spec, std::string cpu, std::string memory,
                 std::string cpu_max, std::string memory_max) {
  api::ResourceRequirements& resources = spec.resources.emplace();
  resources.requests = {{"cpu", std::move(cpu)}, {"memory", std::move(memory)}};
  resources.limits = {{"cpu", std::move(cpu_max)}, {"memory", std::move(memory_max)}};
}

}  // namespace

std::vector<api::ClusterSandboxTemplate> default_templates(const DefaultTemplateOptions& options) {
  std::vector<api::ClusterSandboxTemplate> templates;
  if (!options.minimal_image.empty()) {
    auto minimal = template_with("minimal", "A shell and git, little else; starts fastest",
                                 options.minimal_image);
    set_amounts(minimal.spec, "50m", "64Mi", "1", "1Gi");
    minimal.spec.storage->size = "5Gi";
    templates.push_back(std::move(minimal));
  }
  if (!options.general_coding_image.empty()) {
    auto coding = template_with("general-coding", "Compilers, Python, Node and the usual tools",
                                options.general_coding_image);
    set_amounts(coding.spec, "500m", "1Gi", "2", "4Gi");
    coding.spec.storage->size = "10Gi";
    templates.push_back(std::move(coding));
  }
  return templates;
}

async::Task<base::Status> ensure_default_templates(kube::Client& client,
                                                   DefaultTemplateOptions options) {
  const std::vector<api::ClusterSandboxTemplate> wanted = default_templates(options);
  for (const api::ClusterSandboxTemplate& item : wanted) {
    auto created = co_await client.create(api::ClusterSandboxTemplate::kType, item.to_json());
    if (created || created.error().code == base::ErrorCode::kExists) continue;
    co_return std::move(created).error().context("make template " + item.metadata.name);
  }
  co_return base::Status();
}

}  // namespace agenttier::controller
