#include "router/router.h"

#include <chrono>
#include <map>
#include <utility>

#include "api/names.h"
#include "api/openapi.h"
#include "api/routes.h"
#include "api/secret.h"
#include "api/template.h"
#include "async/task_group.h"
#include "async/time_limit.h"
#include "identity/api_keys.h"
#include "identity/authenticator.h"
#include "kube/informer.h"
#include "observe/log.h"
#include "router/account_routes.h"
#include "router/call.h"
#include "router/exec_service.h"
#include "router/file_routes.h"
#include "router/middleware.h"
#include "router/process_routes.h"
#include "router/reply.h"
#include "router/route_lookup.h"
#include "router/router_metrics.h"
#include "router/sandbox_routes.h"
#include "router/sandbox_service.h"
#include "router/system_routes.h"
#include "router/template_routes.h"
#include "router/template_service.h"

namespace agenttier::router {
namespace {

using Answer = base::Result<http::Response>;

constexpr std::string_view kNoRoute = "none";
constexpr std::size_t kUserAgentBytesMax = 200;

kube::InformerOptions in_namespace(const std::string& ns) {
  kube::InformerOptions options;
  options.ns = ns;
  return options;
}

kube::InformerOptions runtime_tokens_in(const std::string& ns) {
  kube::InformerOptions options = in_namespace(ns);
  options.label_selector = std::string(api::names::kSecretPurposeLabel) + "=" +
                           std::string(api::names::kPurposeRuntimeToken);
  return options;
}

base::Error no_such_path(const RouteMatch& match) {
  base::Error error = base::not_found("there is no such path; GET /api/v1/openapi.json lists them");
  if (match.allow.empty()) return error;
  error = base::invalid("this path does not have that method; it has " + match.allow);
  error.reason = "method_not_allowed";
  return error;
}

// What is told of a request when it is answered: no query, no headers that could hold a secret.
struct Record {
  std::string request_id;
  std::string method;
  std::string path;
  std::string peer;
  std::string user_agent;
  std::string caller;
  std::string_view route = kNoRoute;
  base::MonotonicTime begin;
};

Record record_of(const http::Request& request, base::Random& random, const base::Clock& clock) {
  Record record;
  record.request_id = request_id_of(request.headers, random);
  record.method = request.method;
  record.path = request.target.substr(0, request.target.find('?'));
  record.peer = request.peer_address;
  record.user_agent = request.headers.find("User-Agent").value_or("").substr(0, kUserAgentBytesMax);
  record.begin = clock.monotonic();
  return record;
}

}  // namespace

struct Router::State {
  State(Parts parts_in, RouterOptions options_in);

  async::Task<Answer> answer(http::Request request, Record& record);
  async::Task<Answer> dispatch(http::Request request, http::Target target, RouteMatch match,
                               Record& record);
  void note(const Record& record, int status);
  base::Status ready() const;
  std::string metrics_text();
  void add_handlers();

  const Parts parts;
  const RouterOptions options;
  kube::Informer<api::Sandbox> sandboxes;
  kube::Informer<api::Secret> tokens;
  kube::Informer<api::ClusterSandboxTemplate> cluster_templates;
  kube::Informer<api::SandboxTemplate> templates;

  SandboxAccess access;
  SandboxRuntimes runtimes;
  RuntimeClient runtime_client;
  SandboxCalls calls;
  ExecService execs;
  TemplateCatalog catalog;
  SandboxService sandbox_service;
  TemplateService template_service;

  RouterMetrics metrics;
  RouteLookup routes;
  Handlers handlers;
  async::TaskGroup tasks;
};

Router::State::State(Parts parts_in, RouterOptions options_in)
    : parts(parts_in),
      options(std::move(options_in)),
      sandboxes(parts.client, parts.timers, parts.random, parts.executor,
                in_namespace(options.sandbox_namespace)),
      tokens(parts.client, parts.timers, parts.random, parts.executor,
             runtime_tokens_in(options.sandbox_namespace)),
      cluster_templates(parts.client, parts.timers, parts.random, parts.executor),
      templates(parts.client, parts.timers, parts.random, parts.executor,
                in_namespace(options.sandbox_namespace)),
      access(parts.client, sandboxes, options.sandbox_namespace),
      runtimes(parts.client, tokens),
      runtime_client(parts.runtimes),
      calls(access, runtimes, runtime_client),
      execs(calls, parts.timers),
      catalog(parts.client, cluster_templates, templates, options.sandbox_namespace),
      sandbox_service({parts.client, sandboxes, access, catalog, parts.timers.clock()}),
      template_service({parts.client, cluster_templates, templates, sandboxes}),
      routes(api::kRoutes),
      tasks(parts.executor, {.name = "router informers", .tasks_max = 8}) {
  add_handlers();
}

void Router::State::add_handlers() {
  add_sandbox_routes(handlers, sandbox_service);
  add_process_routes(handlers, calls, execs);
  add_file_routes(handlers, calls, {.upload_bytes_max = options.upload_bytes_max});
  add_template_routes(handlers, template_service);
  add_account_routes(handlers, parts.keys, access);
  add_system_routes(handlers, {.ready = [this] { return ready(); },
                               .metrics = [this] { return metrics_text(); },
                               .openapi = api::openapi_json()});
}

base::Status Router::State::ready() const {
  if (!sandboxes.synced()) return base::unavailable("sandboxes are not read yet");
  if (!tokens.synced()) return base::unavailable("tokens are not read yet");
  if (!cluster_templates.synced() || !templates.synced()) {
    return base::unavailable("templates are not read yet");
  }
  return {};
}

std::string Router::State::metrics_text() {
  std::map<std::string, std::int64_t> by_phase;
  for (const api::Phase phase : api::kPhases) {
    if (phase != api::Phase::kNew) by_phase[std::string(api::phase_name(phase))] = 0;
  }
  for (const auto& sandbox : sandboxes.list()) ++by_phase[view_of(*sandbox).status];
  metrics.set_sandboxes(by_phase);
  return metrics.text();
}

async::Task<Answer> Router::State::answer(http::Request request, Record& record) {
  AT_CO_TRY(http::Target target, http::parse_target(request.target));
  AT_CO_TRY(RouteMatch match, routes.find(request.method, target.path));
  if (match.route == nullptr) {
    Answer refused = no_such_path(match);
    if (!match.allow.empty()) {
      refused = reply_error(refused.error(), record.request_id);
      refused->headers.set("Allow", match.allow);
    }
    co_return refused;
  }
  record.route = match.route->operation;
  co_return co_await dispatch(std::move(request), std::move(target), std::move(match), record);
}

async::Task<Answer> Router::State::dispatch(http::Request request, http::Target target,
                                            RouteMatch match, Record& record) {
  const api::Route& route = *match.route;
  Call call;
  if (route.who != api::Access::kPublic) {
    AT_CO_TRY(call.caller, co_await parts.authenticator.authenticate(request.headers));
    record.caller = call.caller.sub;
    AT_CO_OK(check_may_call(call.caller, match));
  }
  AT_CO_OK(check_body_length(request.body, route));
  const Handler* handler = handlers.find(route.operation);
  if (handler == nullptr) co_return base::unimplemented("this server does not do that");
  call.request = std::move(request);
  call.target = std::move(target);
  call.parameters = std::move(match.parameters);
  call.body_bytes_max = route.body_bytes_max;
  if (route.deadline.count() == 0) co_return co_await (*handler)(std::move(call));
  co_return co_await async::with_time_limit<http::Response>(parts.timers, route.deadline,
                                                            (*handler)(std::move(call)));
}

void Router::State::note(const Record& record, int status) {
  const auto elapsed = parts.timers.clock().monotonic() - record.begin;
  metrics.count(record.route, status, elapsed);
  if (options.access_log == AccessLog::kOff) return;
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
  observe::log_info("request", {{"method", record.method},
                                {"path", record.path},
                                {"status", status},
                                {"duration_ms", static_cast<double>(micros) / 1000.0},
                                {"remote_addr", record.peer},
                                {"user_agent", record.user_agent},
                                {"caller", record.caller},
                                {"request_id", record.request_id}});
}

async::Task<http::Response> Router::handle(http::Request request) {
  State& state = *state_;
  Record record = record_of(request, state.parts.random, state.parts.timers.clock());
  state.metrics.add_in_flight(1);
  Answer answer = co_await state.answer(std::move(request), record);
  state.metrics.add_in_flight(-1);
  http::Response response =
      answer ? *std::move(answer) : reply_error(answer.error(), record.request_id);
  if (!answer && response.status >= 500) {
    observe::log_warning("request failed", {{"route", record.route},
                                            {"error", answer.error().message},
                                            {"request_id", record.request_id}});
  }
  response.headers.set("X-Request-ID", record.request_id);
  state.note(record, response.status);
  co_return response;
}

Router::Router(Parts parts, RouterOptions options)
    : state_(std::make_unique<State>(parts, std::move(options))) {}
Router::~Router() = default;

base::Status Router::start() {
  AT_OK(state_->tasks.spawn(state_->sandboxes.run()));
  AT_OK(state_->tasks.spawn(state_->tokens.run()));
  AT_OK(state_->tasks.spawn(state_->cluster_templates.run()));
  return state_->tasks.spawn(state_->templates.run());
}

async::Task<base::Status> Router::wait_until_ready() {
  AT_CO_OK(co_await state_->sandboxes.wait_until_synced());
  AT_CO_OK(co_await state_->tokens.wait_until_synced());
  AT_CO_OK(co_await state_->cluster_templates.wait_until_synced());
  co_return co_await state_->templates.wait_until_synced();
}

async::Task<void> Router::close() {
  co_await state_->tasks.close();
}

}  // namespace agenttier::router
