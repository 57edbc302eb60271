#include "router/sandbox_routes.h"

#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "api/names.h"
#include "api/sandbox_lifecycle.h"
#include "api/validate.h"
#include "base/bytes.h"
#include "router/reply.h"
#include "router/sandbox_service.h"

namespace agenttier::router {
namespace {

using Answer = base::Result<http::Response>;

constexpr std::int64_t kWaitSeconds = 60;
constexpr std::int64_t kWaitSecondsMax = 300;
constexpr std::int64_t kLogLinesMax = 1'000'000;
constexpr std::size_t kAnnotationBytesMax = 16 * 1024;

// Keys whose domain is ours or that of Kubernetes are written by the system alone.
bool is_protected(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string domain = "." + std::string(key.substr(0, slash));
  for (const std::string_view own :
       {api::names::kGroup, std::string_view("kubernetes.io"), std::string_view("k8s.io")}) {
    if (domain.ends_with("." + std::string(own))) return true;
  }
  return false;
}

base::Status check_key(std::string_view field, const std::string& key) {
  const std::string path = std::string(field) + "[" + key.substr(0, 64) + "]";
  if (is_protected(key)) {
    return base::invalid_field(path, "is written by the system alone; use a key of your own");
  }
  if (auto valid = api::check_label_key(key); !valid) {
    return base::invalid_field(path, std::move(valid).error().message);
  }
  return {};
}

using TextPatch = std::map<std::string, std::optional<std::string>>;

std::map<std::string, std::string> values_of(const TextPatch& patch) {
  std::map<std::string, std::string> values;
  for (const auto& [key, value] : patch) values.emplace(key, value.value_or(""));
  return values;
}

base::Status check_patch(const api::PatchSandboxRequest& request, const boost::json::object& body) {
  AT_OK(check_labels(values_of(request.labels)));
  AT_OK(check_annotations(values_of(request.annotations)));
  if (!request.timeout && !request.idle_timeout && !request.resources && !request.auto_resume &&
      !body.contains("labels") && !body.contains("annotations")) {
    return base::invalid(
        "nothing to change: give at least one of timeout, idleTimeout, resources, "
        "autoResume, labels, annotations");
  }
  return {};
}

struct WaitFor {
  api::Phase phase;
  std::chrono::seconds limit;
};

base::Result<std::optional<WaitFor>> parse_wait(const Call& call, bool stopped_too) {
  AT_TRY(const auto seconds, call.query_integer("waitSeconds", 1, kWaitSecondsMax));
  const auto wanted = call.query("wait");
  if (!wanted) return std::optional<WaitFor>();
  const std::chrono::seconds limit(seconds.value_or(kWaitSeconds));
  if (*wanted == "running") return std::optional(WaitFor{api::Phase::kRunning, limit});
  if (stopped_too && *wanted == "stopped") {
    return std::optional(WaitFor{api::Phase::kStopped, limit});
  }
  return base::invalid_field("wait",
                             stopped_too ? "must be running or stopped" : "must be running");
}

async::Task<Answer> create_sandbox(SandboxService& sandboxes, Call call) {
  AT_CO_TRY(const auto wait, parse_wait(call, false));
  AT_CO_TRY(auto request, co_await read_json<api::CreateSandboxRequest>(call));
  AT_CO_OK(check_labels(request.labels));
  AT_CO_OK(check_annotations(request.annotations));
  AT_CO_TRY(SandboxPointer made,
            co_await sandboxes.create(std::move(call.caller), std::move(request)));
  if (wait) {
    AT_CO_TRY(made, co_await sandboxes.wait_for(made, wait->phase, wait->limit));
  }
  co_return reply_json(201, view_of(*made).to_json());
}

async::Task<Answer> list_sandboxes(SandboxService& sandboxes, Call call) {
  AT_CO_TRY(const SandboxQuery query, parse_sandbox_query(call));
  const auto ns = call.query("namespace");
  api::SandboxPage reply;
  if (!ns || sandboxes.serves(*ns)) {
    AT_CO_TRY(const SandboxPage page, sandboxes.list(call.caller, query));
    for (const SandboxPointer& sandbox : page.sandboxes) {
      reply.sandboxes.push_back(view_of(*sandbox));
    }
    if (!page.after.empty()) reply.continue_ = base::to_base64url(page.after);
  }
  co_return reply_json(200, reply.to_json());
}

async::Task<Answer> get_sandbox(SandboxService& sandboxes, Call call) {
  AT_CO_TRY(const auto wait, parse_wait(call, true));
  AT_CO_TRY(SandboxPointer found,
            co_await sandboxes.get(std::move(call.caller), call.parameter("id")));
  if (wait) {
    AT_CO_TRY(found, co_await sandboxes.wait_for(found, wait->phase, wait->limit));
  }
  co_return reply_json(200, view_of(*found).to_json());
}

async::Task<Answer> patch_sandbox(SandboxService& sandboxes, Call call) {
  AT_CO_TRY(const std::string text, co_await read_body(call));
  AT_CO_TRY(boost::json::object body, parse_object(text));
  // An empty limit has always meant "not given" here.
  for (const std::string_view limit : {"timeout", "idleTimeout"}) {
    const auto* value = body.if_contains(limit);
    if (value != nullptr && value->is_string() && value->get_string().empty()) body.erase(limit);
  }
  AT_CO_TRY(auto request, api::PatchSandboxRequest::from_json(body, "", api::Decode::kStrict));
  AT_CO_OK(check_patch(request, body));
  AT_CO_TRY(SandboxPointer patched,
            co_await sandboxes.patch(std::move(call.caller), call.parameter("id"), request));
  co_return reply_json(200, patch_reply(patched->metadata.name, request).to_json());
}

async::Task<Answer> delete_sandbox(SandboxService& sandboxes, Call call) {
  AT_CO_OK(co_await sandboxes.remove(std::move(call.caller), call.parameter("id")));
  co_return reply_empty(204);
}

async::Task<Answer> stop_sandbox(SandboxService& sandboxes, Call call) {
  AT_CO_OK(co_await sandboxes.stop(std::move(call.caller), call.parameter("id")));
  api::StateChangeReply reply;
  reply.status = "stopping";
  co_return reply_json(200, reply.to_json());
}

async::Task<Answer> resume_sandbox(SandboxService& sandboxes, Call call) {
  AT_CO_OK(co_await sandboxes.resume(std::move(call.caller), call.parameter("id")));
  api::StateChangeReply reply;
  reply.status = "resuming";
  co_return reply_json(200, reply.to_json());
}

async::Task<Answer> clone_sandbox(SandboxService& sandboxes, Call call) {
  AT_CO_TRY(auto request, co_await read_json<api::CloneSandboxRequest>(call));
  AT_CO_TRY(
      SandboxPointer copy,
      co_await sandboxes.clone(std::move(call.caller), call.parameter("id"), std::move(request)));
  api::CloneSandboxReply reply;
  reply.name = copy->metadata.name;
  reply.ns = copy->metadata.ns;
  reply.cloned_from = call.parameter("id");
  reply.phase = "Pending";
  reply.message = "the disk of " + reply.cloned_from + " is being copied; wait until " +
                  reply.name + " is Running";
  co_return reply_json(202, reply.to_json());
}

async::Task<Answer> sandbox_logs(SandboxService& sandboxes, Call call) {
  kube::LogOptions options;
  AT_CO_TRY(options.tail_lines, call.query_integer("tail", 0, kLogLinesMax));
  AT_CO_TRY(const bool follow, call.query_flag("follow"));
  if (follow) options.end = kube::LogEnd::kFollow;
  AT_CO_TRY(http::Body log, co_await sandboxes.logs(std::move(call.caller), call.parameter("id"),
                                                    std::move(options)));
  http::Response response = reply_text(200, "");
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("X-Accel-Buffering", "no");
  response.body = std::move(log);
  co_return std::move(response);
}

api::PortForward port_view(const api::Sandbox& sandbox, const api::PortRequest& port) {
  api::PortForward view;
  view.port = port.port;
  view.protocol = port.protocol.value_or("http");
  const std::string address = sandbox.status ? sandbox.status->pod_ip : std::string();
  if (!address.empty()) {
    const bool is_v6 = address.find(':') != std::string::npos;
    view.internal_url =
        "http://" + (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port.port);
  }
  return view;
}

async::Task<Answer> list_ports(SandboxService& sandboxes, Call call) {
  AT_CO_TRY(const SandboxPointer found,
            co_await sandboxes.get(std::move(call.caller), call.parameter("id")));
  api::PortForwardList reply;
  for (const api::PortRequest& port : found->spec.forwarded_ports) {
    reply.ports.push_back(port_view(*found, port));
  }
  co_return reply_json(200, reply.to_json());
}

async::Task<Answer> forward_port(SandboxService& sandboxes, Call call) {
  AT_CO_TRY(auto request, co_await read_json<api::ForwardPortRequest>(call));
  if (request.port == api::names::kRuntimePort) {
    co_return base::invalid_field("port", "is the port of the sandbox's runtime; choose another");
  }
  api::PortRequest port;
  port.port = request.port;
  port.protocol = request.protocol.value_or("http");
  AT_CO_TRY(const SandboxPointer changed,
            co_await sandboxes.forward_port(std::move(call.caller), call.parameter("id"), port));
  co_return reply_json(201, port_view(*changed, port).to_json());
}

async::Task<Answer> remove_port(SandboxService& sandboxes, Call call) {
  const std::string& text = call.parameter("port");
  std::int64_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || !api::check_port(port)) {
    co_return base::invalid_field("port", "must be a whole number from 1 to 65535");
  }
  AT_CO_TRY(const SandboxPointer changed,
            co_await sandboxes.remove_port(std::move(call.caller), call.parameter("id"), port));
  co_return reply_empty(204);
}

void fill_status(api::SandboxView& view, const api::SandboxStatus& status) {
  view.reason = status.reason;
  view.message = status.message;
  view.pod_name = status.pod_name;
  view.pod_ip = status.pod_ip;
  view.pvc_name = status.pvc_name;
  view.started_at = status.started_at;
  view.stopped_at = status.stopped_at;
  view.last_activity_at = status.last_activity_timestamp;
  view.restart_count = status.restart_count;
  view.retry_at = status.retry_at;
  view.cloned_from = status.cloned_from;
  view.conditions = status.conditions;
  if (!status.resolved_template.empty()) view.template_ref = status.resolved_template;
}

}  // namespace

api::SandboxView view_of(const api::Sandbox& sandbox) {
  api::SandboxView view;
  view.sandbox_id = sandbox.metadata.name;
  view.name = sandbox.metadata.name;
  view.ns = sandbox.metadata.ns;
  const api::Phase phase = phase_of(sandbox);
  view.status = api::phase_name(phase == api::Phase::kNew ? api::Phase::kCreating : phase);
  view.template_ref = sandbox.spec.template_ref ? sandbox.spec.template_ref->name : std::string();
  view.mode = sandbox.spec.mode.value_or("code");
  view.desired_state = sandbox.spec.desired_state.value_or("Running");
  view.created_at = sandbox.metadata.creation_timestamp;
  if (const auto& creator = sandbox.spec.created_by) {
    api::SandboxOwner owner;
    owner.email = creator->email.value_or("");
    owner.display_name = creator->display_name.value_or("");
    view.created_by = std::move(owner);
  }
  view.timeout = sandbox.spec.timeout.value_or("");
  view.idle_timeout = sandbox.spec.idle_timeout.value_or("");
  view.auto_resume = sandbox.spec.auto_resume.value_or(false);
  view.labels = sandbox.metadata.labels;
  view.annotations = sandbox.metadata.annotations;
  if (sandbox.status) fill_status(view, *sandbox.status);
  return view;
}

base::Result<SandboxQuery> parse_sandbox_query(const Call& call) {
  SandboxQuery query;
  query.phase = call.query("status").value_or("");
  query.template_name = call.query("template").value_or("");
  query.owner = call.query("owner").value_or("");
  query.label_selector = call.query("label").value_or("");
  AT_TRY(const auto limit, call.query_integer("limit", 1, kSandboxPageMax));
  if (limit) query.limit = static_cast<std::size_t>(*limit);
  if (const auto after = call.query("continue"); after && !after->empty()) {
    auto name = base::from_base64(*after);
    if (!name || !api::check_sandbox_name(*name)) {
      return base::invalid_field("continue", "must be what the page before gave");
    }
    query.after = *std::move(name);
  }
  return query;
}

base::Status check_labels(const std::map<std::string, std::string>& labels) {
  for (const auto& [key, value] : labels) {
    AT_OK(check_key("labels", key));
    if (auto valid = api::check_label_value(value); !valid) {
      return base::invalid_field("labels[" + key + "]", std::move(valid).error().message);
    }
  }
  return {};
}

base::Status check_annotations(const std::map<std::string, std::string>& annotations) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations) {
    AT_OK(check_key("annotations", key));
    bytes += key.size() + value.size();
  }
  if (bytes <= kAnnotationBytesMax) return {};
  return base::invalid_field(
      "annotations",
      "must have at most " + std::to_string(kAnnotationBytesMax) + " bytes together");
}

api::PatchSandboxReply patch_reply(std::string_view name, const api::PatchSandboxRequest& request) {
  api::PatchSandboxReply reply;
  reply.sandbox_id = name;
  const auto note = [&](bool is_given, const char* field, const char* when) {
    if (is_given) reply.applied[field] = when;
  };
  note(request.timeout.has_value(), "timeout", "immediately");
  note(request.idle_timeout.has_value(), "idleTimeout", "immediately");
  note(request.auto_resume.has_value(), "autoResume", "immediately");
  note(!request.labels.empty(), "labels", "immediately");
  note(!request.annotations.empty(), "annotations", "immediately");
  note(request.resources.has_value(), "resources", "on-restart");
  reply.restart_required = request.resources.has_value();
  if (reply.restart_required) {
    reply.message = "the new resources count once the sandbox was stopped and resumed";
  }
  return reply;
}

void add_sandbox_routes(Handlers& handlers, SandboxService& sandboxes) {
  using Function = async::Task<Answer> (*)(SandboxService&, Call);
  const auto add = [&](std::string_view operation, Function function) {
    handlers.add(operation, [&sandboxes, function](Call call) {
      return function(sandboxes, std::move(call));
    });
  };
  add("createSandbox", create_sandbox);
  add("listSandboxes", list_sandboxes);
  add("getSandbox", get_sandbox);
  add("patchSandbox", patch_sandbox);
  add("deleteSandbox", delete_sandbox);
  add("stopSandbox", stop_sandbox);
  add("resumeSandbox", resume_sandbox);
  add("cloneSandbox", clone_sandbox);
  add("sandboxLogs", sandbox_logs);
  add("listPorts", list_ports);
  add("forwardPort", forward_port);
  add("removePort", remove_port);
}

}  // namespace agenttier::router
