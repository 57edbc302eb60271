#include "router/sandbox_service.h"

#include <algorithm>
#include <utility>

#include "api/label_selector.h"
#include "api/meta.h"
#include "api/names.h"
#include "kube/typed.h"
#include "router/merge_patch.h"

namespace agenttier::router {
namespace {

using api::Action;
using api::Phase;

constexpr std::chrono::milliseconds kSettleTimeMax{500};

api::UserIdentity identity_of(const identity::Claims& caller) {
  api::UserIdentity identity;
  identity.sub = caller.sub;
  if (!caller.email.empty()) identity.email = caller.email;
  if (!caller.name.empty()) identity.display_name = caller.name;
  return identity;
}

base::Error only_admins(std::string_view field) {
  base::Error error = base::denied(
      std::string(field) + ": only an administrator may set this; leave it to the template");
  error.causes = {{std::string(field), "only an administrator may set this"}};
  error.reason = "admin_required";
  return error;
}

// What could weaken the isolation that the template gives, or reach what belongs to others.
base::Status check_may_set(const identity::Claims& caller,
                           const api::CreateSandboxRequest& request) {
  if (caller.is_admin) return {};
  if (request.network) return only_admins("network");
  if (request.runtime_class) return only_admins("runtimeClass");
  if (request.image && request.image->pull_secret) return only_admins("image.pullSecret");
  for (const api::EnvVar& variable : request.env) {
    if (variable.value_from) return only_admins("env." + variable.name + ".valueFrom");
  }
  return {};
}

api::Sandbox sandbox_of(api::CreateSandboxRequest request) {
  api::Sandbox sandbox;
  sandbox.metadata.name = std::move(request.name);
  sandbox.metadata.labels = std::move(request.labels);
  sandbox.metadata.annotations = std::move(request.annotations);
  api::SandboxSpec& spec = sandbox.spec;
  spec.mode = std::move(request.mode);
  spec.image = std::move(request.image);
  spec.resources = std::move(request.resources);
  spec.storage = std::move(request.storage);
  spec.network = std::move(request.network);
  spec.env = std::move(request.env);
  spec.timeout = std::move(request.timeout);
  spec.idle_timeout = std::move(request.idle_timeout);
  spec.runtime_class = std::move(request.runtime_class);
  spec.auto_resume = request.auto_resume;
  return sandbox;
}

base::Error name_taken(const std::string& name) {
  base::Error error =
      base::exists("a sandbox named " + name + " exists already; choose another name");
  error.reason = "sandbox_exists";
  return error;
}

base::Error being_deleted(const api::Sandbox& sandbox) {
  return base::conflict("sandbox " + sandbox.metadata.name + " is being deleted");
}

base::Error about(const api::Sandbox& sandbox, base::Error error) {
  return std::move(error).context("sandbox " + sandbox.metadata.name);
}

bool matches(const api::Sandbox& sandbox, const SandboxQuery& query) {
  if (!query.phase.empty() && api::phase_name(phase_of(sandbox)) != query.phase) return false;
  if (!query.template_name.empty()) {
    const auto& reference = sandbox.spec.template_ref;
    if (!reference || reference->name != query.template_name) return false;
  }
  if (query.owner.empty()) return true;
  const auto& creator = sandbox.spec.created_by;
  return creator && (creator->sub == query.owner || creator->email == query.owner);
}

void apply_patch(std::map<std::string, std::string>& texts,
                 const std::map<std::string, std::optional<std::string>>& patch) {
  for (const auto& [key, value] : patch) {
    if (value) {
      texts[key] = *value;
    } else {
      texts.erase(key);
    }
  }
}

base::Result<bool> request_stop(api::Sandbox& sandbox) {
  const Phase phase = phase_of(sandbox);
  if (phase == Phase::kDeleting) return being_deleted(sandbox);
  const bool wants_stop = sandbox.spec.desired_state == "Stopped";
  if (phase == Phase::kStopped && wants_stop) {
    return about(sandbox, api::apply_action(phase, Action::kStop).error());
  }
  // A Stopped sandbox may be on its way to run again; this takes that back.
  if (wants_stop) return false;
  sandbox.spec.desired_state = "Stopped";
  sandbox.metadata.annotations.erase(std::string(api::names::kActionAnnotation));
  return true;
}

base::Result<bool> request_resume(api::Sandbox& sandbox) {
  const Phase phase = phase_of(sandbox);
  if (phase == Phase::kDeleting) return being_deleted(sandbox);
  // A stop that has been asked for and not been done yet is taken back in any phase.
  const bool wants_stop = sandbox.spec.desired_state == "Stopped" ||
                          api::annotation_of(sandbox.metadata, api::names::kActionAnnotation) ==
                              api::names::kActionStop;
  if (!wants_stop) {
    const auto next = api::apply_action(phase, Action::kResume);
    if (!next) return about(sandbox, next.error());
  }
  const std::string action(api::names::kActionAnnotation);
  sandbox.metadata.annotations.erase(action);
  // Where the desired state does not change, or says nothing of a failure, a word is needed; and
  // where a stop may be under way, it marks that what runs now is not what was asked for.
  if (sandbox.spec.desired_state != "Stopped" || phase == Phase::kError ||
      phase == Phase::kRunning) {
    sandbox.metadata.annotations[action] = api::names::kActionResume;
  }
  sandbox.spec.desired_state = "Running";
  return true;
}

}  // namespace

async::Task<void> SandboxService::settle(std::string resource_version) {
  // Late is harmless: reads fall back to the server.
  const base::Status seen =
      co_await parts_.sandboxes.wait_until_observed(std::move(resource_version), kSettleTimeMax);
  static_cast<void>(seen);
}

async::Task<base::Result<SandboxPointer>> SandboxService::write_new(api::Sandbox sandbox) {
  const std::string name = sandbox.metadata.name;
  sandbox.metadata.ns = parts_.access.ns();
  sandbox.metadata.finalizers = {std::string(api::names::kSandboxFinalizer)};
  sandbox.spec.desired_state = "Running";
  auto made = co_await kube::create<api::Sandbox>(parts_.client, std::move(sandbox));
  if (!made && made.error().code == base::ErrorCode::kExists) co_return name_taken(name);
  if (!made) co_return std::move(made).error().context("create sandbox " + name);
  co_await settle(made->metadata.resource_version);
  co_return std::make_shared<const api::Sandbox>(*std::move(made));
}

async::Task<base::Result<SandboxPointer>> SandboxService::create(
    identity::Claims caller, api::CreateSandboxRequest request) {
  AT_CO_OK(check_may_set(caller, request));
  AT_CO_OK(check_namespace(request.ns));
  api::TemplateReference named;
  named.name = request.template_ref.name;
  named.kind = request.template_ref.kind;
  named.ns = request.template_ref.ns;
  AT_CO_TRY(policy::ResolvedTemplate resolved, co_await parts_.templates.resolve(std::move(named)));
  api::Sandbox sandbox = sandbox_of(std::move(request));
  sandbox.spec.template_ref = reference_to(resolved.key);
  if (!sandbox.spec.mode) sandbox.spec.mode = resolved.spec.mode.value_or("code");
  sandbox.spec.created_by = identity_of(caller);
  co_return co_await write_new(std::move(sandbox));
}

bool SandboxService::serves(std::string_view ns) const {
  // Clients name "default" when their user names none.
  return ns.empty() || ns == parts_.access.ns() || ns == api::names::kSandboxNamespace;
}

base::Status SandboxService::check_namespace(const std::optional<std::string>& ns) const {
  if (serves(ns.value_or(""))) return {};
  return base::invalid_field(
      "namespace", "must be " + parts_.access.ns() + ", where the sandboxes of this server are");
}

async::Task<base::Result<SandboxPointer>> SandboxService::wait_for(SandboxPointer sandbox,
                                                                   api::Phase phase,
                                                                   std::chrono::nanoseconds limit) {
  const std::string uid = sandbox->metadata.uid;
  const std::string name = sandbox->metadata.name;
  const std::string seen = sandbox->metadata.resource_version;
  // Another sandbox of the same name is not the one that is waited for.
  auto settled = [uid, phase](const SandboxPointer& now) {
    if (!now || now->metadata.uid != uid) return true;
    const Phase current = phase_of(*now);
    const bool stays_stopped = current == Phase::kStopped && now->spec.desired_state == "Stopped";
    return current == phase || stays_stopped || current == Phase::kError ||
           current == Phase::kDeleting;
  };
  const kube::ObjectKey key = parts_.access.key_of(name);
  co_await settle(seen);
  auto waited = co_await parts_.sandboxes.wait_for(key, std::move(settled), limit);
  if (!waited && waited.error().code == base::ErrorCode::kCancelled) co_return waited.error();
  const SandboxPointer now = waited ? *waited : parts_.sandboxes.find(key);
  if (now && now->metadata.uid == uid) co_return now;
  if (waited) co_return no_such_sandbox(name);
  co_return sandbox;
}

base::Result<SandboxPage> SandboxService::list(const identity::Claims& caller,
                                               const SandboxQuery& query) const {
  AT_TRY(const api::LabelQuery labels, api::parse_label_query(query.label_selector));
  SandboxPage page;
  for (SandboxPointer& sandbox : parts_.sandboxes.list(parts_.access.ns())) {
    if (sandbox->metadata.name <= query.after || !SandboxAccess::owns(caller, *sandbox)) continue;
    if (!matches(*sandbox, query) || !labels.matches(sandbox->metadata.labels)) continue;
    if (page.sandboxes.size() == query.limit) {
      page.after = page.sandboxes.back()->metadata.name;
      break;
    }
    page.sandboxes.push_back(std::move(sandbox));
  }
  return page;
}

async::Task<base::Result<SandboxPointer>> SandboxService::get(identity::Claims caller,
                                                              std::string name) {
  return parts_.access.find(std::move(caller), std::move(name));
}

async::Task<base::Result<SandboxPointer>> SandboxService::change(identity::Claims caller,
                                                                 std::string name, Change change) {
  base::Error last = base::conflict("sandbox " + name + " is being changed by others; try again");
  for (int attempt = 0; attempt < kWriteAttemptsMax; ++attempt) {
    AT_CO_TRY(SandboxPointer before, co_await parts_.access.read(caller, name));
    api::Sandbox after = *before;
    AT_CO_TRY(const bool differs, change(after));
    if (!differs) co_return before;
    boost::json::object patch = merge_patch_between(before->to_json(), after.to_json());
    // The write counts only for the version that it was decided on.
    auto& metadata = patch["metadata"];
    if (!metadata.is_object()) metadata.emplace_object();
    metadata.get_object()["resourceVersion"] = before->metadata.resource_version;
    auto written = co_await kube::patch<api::Sandbox>(parts_.client, parts_.access.key_of(name),
                                                      kube::PatchType::kMerge, std::move(patch));
    if (written) {
      co_await settle(written->metadata.resource_version);
      co_return std::make_shared<const api::Sandbox>(*std::move(written));
    }
    if (written.error().code == base::ErrorCode::kNotFound) co_return no_such_sandbox(name);
    if (written.error().code != base::ErrorCode::kConflict) {
      co_return std::move(written).error().context("change sandbox " + name);
    }
  }
  last.code = base::ErrorCode::kUnavailable;
  co_return last;
}

async::Task<base::Result<SandboxPointer>> SandboxService::patch(identity::Claims caller,
                                                                std::string name,
                                                                api::PatchSandboxRequest request) {
  Change apply = [request = std::move(request)](api::Sandbox& sandbox) -> base::Result<bool> {
    if (phase_of(sandbox) == Phase::kDeleting) return being_deleted(sandbox);
    const api::Sandbox before = sandbox;
    if (request.timeout) sandbox.spec.timeout = request.timeout;
    if (request.idle_timeout) sandbox.spec.idle_timeout = request.idle_timeout;
    if (request.auto_resume) sandbox.spec.auto_resume = request.auto_resume;
    if (request.resources) sandbox.spec.resources = request.resources;
    apply_patch(sandbox.metadata.labels, request.labels);
    apply_patch(sandbox.metadata.annotations, request.annotations);
    return !(sandbox == before);
  };
  co_return co_await change(std::move(caller), std::move(name), std::move(apply));
}

async::Task<base::Status> SandboxService::stop(identity::Claims caller, std::string name) {
  AT_CO_TRY(SandboxPointer written,
            co_await change(std::move(caller), std::move(name), request_stop));
  co_return base::Status();
}

async::Task<base::Status> SandboxService::resume(identity::Claims caller, std::string name) {
  AT_CO_TRY(SandboxPointer written,
            co_await change(std::move(caller), std::move(name), request_resume));
  co_return base::Status();
}

async::Task<base::Status> SandboxService::remove(identity::Claims caller, std::string name) {
  for (int attempt = 0; attempt < kWriteAttemptsMax; ++attempt) {
    AT_CO_TRY(SandboxPointer found, co_await parts_.access.read(caller, name));
    if (api::is_being_deleted(found->metadata)) co_return base::Status();
    kube::DeleteOptions options;
    options.uid = found->metadata.uid;
    base::Status removed = co_await kube::remove<api::Sandbox>(
        parts_.client, parts_.access.key_of(name), std::move(options));
    if (removed || removed.error().code == base::ErrorCode::kNotFound) co_return base::Status();
    if (removed.error().code != base::ErrorCode::kConflict) {
      co_return std::move(removed).error().context("delete sandbox " + name);
    }
  }
  co_return base::unavailable("sandbox " + name + " is being changed by others; try again");
}

async::Task<base::Result<SandboxPointer>> SandboxService::clone(identity::Claims caller,
                                                                std::string name,
                                                                api::CloneSandboxRequest request) {
  AT_CO_TRY(SandboxPointer source, co_await parts_.access.read(caller, name));
  if (phase_of(*source) == Phase::kDeleting) co_return being_deleted(*source);
  if (!source->status || source->status->pvc_name.empty()) {
    co_return base::invalid("sandbox " + name +
                            " has no disk to clone yet; wait until it is Running");
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(parts_.clock.now().time_since_epoch());
  api::Sandbox copy;
  copy.metadata.name = request.name ? *std::move(request.name)
                                    : api::names::bounded_name(
                                          name + "-clone-" + std::to_string(seconds.count()), 63);
  copy.metadata.labels[std::string(api::names::kClonedFromLabel)] =
      api::names::label_value_of(name);
  copy.spec = source->spec;
  // The copy belongs to who made it, and to nobody that the source was shared with.
  copy.spec.sharing.reset();
  copy.spec.forwarded_ports.clear();
  copy.spec.created_by = identity_of(caller);
  copy.spec.clone_from_snapshot =
      std::string(api::names::kCloneFromClaimPrefix) + source->status->pvc_name;
  co_return co_await write_new(std::move(copy));
}

async::Task<base::Result<http::Body>> SandboxService::logs(identity::Claims caller,
                                                           std::string name,
                                                           kube::LogOptions options) {
  AT_CO_TRY(const SandboxPointer found, co_await parts_.access.find(std::move(caller), name));
  if (!found->status || found->status->pod_name.empty()) {
    base::Error error = base::conflict("sandbox " + name + " has no pod whose log could be read");
    error.reason = "sandbox_not_running";
    co_return error;
  }
  options.container = api::names::kSandboxContainer;
  kube::ObjectKey pod{found->metadata.ns, found->status->pod_name};
  co_return co_await parts_.client.logs(std::move(pod), std::move(options));
}

async::Task<base::Result<SandboxPointer>> SandboxService::forward_port(identity::Claims caller,
                                                                       std::string name,
                                                                       api::PortRequest port) {
  Change add = [port = std::move(port)](api::Sandbox& sandbox) -> base::Result<bool> {
    if (phase_of(sandbox) == Phase::kDeleting) return being_deleted(sandbox);
    auto& ports = sandbox.spec.forwarded_ports;
    const auto same = std::ranges::find(ports, port.port, &api::PortRequest::port);
    if (same != ports.end() && *same == port) return false;
    if (same != ports.end()) {
      *same = port;
      return true;
    }
    if (ports.size() >= kForwardedPortsMax) {
      return base::exhausted("sandbox " + sandbox.metadata.name + " has " +
                             std::to_string(kForwardedPortsMax) +
                             " forwarded ports, which is the limit; remove one first");
    }
    ports.push_back(port);
    std::ranges::sort(ports, {}, &api::PortRequest::port);
    return true;
  };
  co_return co_await change(std::move(caller), std::move(name), std::move(add));
}

async::Task<base::Result<SandboxPointer>> SandboxService::remove_port(identity::Claims caller,
                                                                      std::string name,
                                                                      std::int64_t port) {
  Change erase = [port](api::Sandbox& sandbox) -> base::Result<bool> {
    return std::erase_if(sandbox.spec.forwarded_ports,
                         [port](const auto& each) { return each.port == port; }) > 0;
  };
  co_return co_await change(std::move(caller), std::move(name), std::move(erase));
}

}  // namespace agenttier::router
