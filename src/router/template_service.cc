#include "router/template_service.h"

#include <chrono>
#include <utility>

#include "api/names.h"
#include "kube/typed.h"
#include "policy/template_merge.h"

namespace agenttier::router {
namespace {

constexpr std::chrono::milliseconds kSettleTimeMax{500};
constexpr int kWriteAttemptsMax = 5;

base::Error no_such_template(const std::string& name) {
  base::Error error = base::not_found("there is no template named " + name);
  error.reason = "template_not_found";
  return error;
}

bool names_cluster_template(const std::optional<api::TemplateReference>& reference,
                            const std::string& name) {
  return reference && reference->name == name &&
         reference->kind == api::ClusterSandboxTemplate::kType.kind;
}

}  // namespace

std::vector<TemplateService::Pointer> TemplateService::list() const {
  return parts_.templates.list();
}

async::Task<base::Result<TemplateService::Pointer>> TemplateService::get(std::string name) {
  if (Pointer cached = parts_.templates.find("", name)) co_return cached;
  kube::ObjectKey key{"", name};
  auto found = co_await kube::get<Template>(parts_.client, std::move(key));
  if (!found && found.error().code == base::ErrorCode::kNotFound) co_return no_such_template(name);
  if (!found) co_return std::move(found).error().context("read template " + name);
  co_return std::make_shared<const Template>(*std::move(found));
}

base::Status TemplateService::check_resolves(const std::string& name,
                                             const api::SandboxTemplateSpec& spec) const {
  const auto lookup = [&](const policy::TemplateKey& key) -> std::optional<policy::TemplateRecord> {
    const bool in_cluster = key.scope == policy::TemplateScope::kCluster;
    if (in_cluster && key.name == name) return policy::TemplateRecord{spec, ""};
    if (!in_cluster) {
      const auto found = parts_.namespaced.find(key.ns, key.name);
      if (!found) return std::nullopt;
      return policy::TemplateRecord{found->spec, found->metadata.resource_version};
    }
    const Pointer found = parts_.templates.find("", key.name);
    if (!found) return std::nullopt;
    return policy::TemplateRecord{found->spec, found->metadata.resource_version};
  };
  api::TemplateReference self;
  self.name = name;
  self.kind = Template::kType.kind;
  auto resolved = policy::resolve_template(self, {}, lookup);
  if (resolved) return {};
  base::Error error = std::move(resolved).error();
  error.code = base::ErrorCode::kInvalid;
  error.causes = {{"spec.inheritsFrom", error.message}};
  return std::move(error).context("spec.inheritsFrom");
}

async::Task<base::Result<TemplateService::Pointer>> TemplateService::settle(Template written) {
  const base::Status seen = co_await parts_.templates.wait_until_observed(
      written.metadata.resource_version, kSettleTimeMax);
  static_cast<void>(seen);  // late is harmless: reads fall back to the server
  co_return std::make_shared<const Template>(std::move(written));
}

async::Task<base::Result<TemplateService::Pointer>> TemplateService::create(
    std::string name, api::SandboxTemplateSpec spec) {
  AT_CO_OK(check_resolves(name, spec));
  Template wanted;
  wanted.metadata.name = name;
  wanted.metadata.labels[std::string(api::names::kManagedLabel)] = api::names::kTrue;
  wanted.spec = std::move(spec);
  auto made = co_await kube::create<Template>(parts_.client, std::move(wanted));
  if (!made && made.error().code == base::ErrorCode::kExists) {
    co_return base::exists("a template named " + name + " exists already; replace it instead");
  }
  if (!made) co_return std::move(made).error().context("create template " + name);
  co_return co_await settle(*std::move(made));
}

async::Task<base::Result<TemplateService::Pointer>> TemplateService::replace(
    std::string name, api::SandboxTemplateSpec spec, std::optional<std::string> resource_version) {
  AT_CO_OK(check_resolves(name, spec));
  for (int attempt = 0; attempt < kWriteAttemptsMax; ++attempt) {
    kube::ObjectKey key{"", name};
    auto current = co_await kube::get<Template>(parts_.client, std::move(key));
    if (!current && current.error().code == base::ErrorCode::kNotFound) {
      co_return no_such_template(name);
    }
    if (!current) co_return std::move(current).error().context("read template " + name);
    Template wanted = *std::move(current);
    wanted.spec = spec;
    if (resource_version) wanted.metadata.resource_version = *resource_version;
    auto written = co_await kube::update<Template>(parts_.client, std::move(wanted));
    if (written) co_return co_await settle(*std::move(written));
    if (written.error().code != base::ErrorCode::kConflict) {
      co_return std::move(written).error().context("replace template " + name);
    }
    if (resource_version) {
      co_return base::conflict("template " + name + " is no longer at version " +
                               *resource_version + "; read it again");
    }
  }
  co_return base::unavailable("template " + name + " is being changed by others; try again");
}

std::optional<std::string> TemplateService::user_of(const std::string& name) const {
  for (const auto& sandbox : parts_.sandboxes.list()) {
    if (names_cluster_template(sandbox->spec.template_ref, name)) {
      return "sandbox " + sandbox->metadata.name;
    }
  }
  for (const Pointer& each : parts_.templates.list()) {
    if (names_cluster_template(each->spec.inherits_from, name)) {
      return "template " + each->metadata.name;
    }
  }
  for (const auto& each : parts_.namespaced.list()) {
    if (names_cluster_template(each->spec.inherits_from, name)) {
      return "template " + each->metadata.ns + "/" + each->metadata.name;
    }
  }
  return std::nullopt;
}

async::Task<base::Status> TemplateService::remove(std::string name) {
  AT_CO_TRY(const Pointer found, co_await get(name));
  if (const auto user = user_of(name)) {
    base::Error error =
        base::conflict("template " + name + " is used by " + *user + "; delete that first");
    error.reason = "template_in_use";
    co_return error;
  }
  kube::DeleteOptions options;
  options.uid = found->metadata.uid;
  kube::ObjectKey key{"", name};
  base::Status removed =
      co_await kube::remove<Template>(parts_.client, std::move(key), std::move(options));
  if (!removed && removed.error().code == base::ErrorCode::kNotFound)
    co_return no_such_template(name);
  if (!removed) co_return std::move(removed).error().context("delete template " + name);
  co_return base::Status();
}

}  // namespace agenttier::router
