#include "programs/all_in_one.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "async/blocking_pool.h"
#include "async/task_group.h"
#include "async/timers.h"
#include "base/random.h"
#include "cli/config.h"
#include "controller/default_templates.h"
#include "controller/runtime_probe.h"
#include "controller/sandbox_reconciler.h"
#include "http/client.h"
#include "http/in_process.h"
#include "http/server.h"
#include "identity/api_keys.h"
#include "identity/authenticator.h"
#include "identity/bootstrap.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "node/kernel_limits.h"
#include "node/node_agent.h"
#include "node/preflight.h"
#include "node/routed_network.h"
#include "observe/log.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "programs/image_service.h"
#include "programs/local_images.h"
#include "programs/pod_log_transport.h"
#include "programs/resolver.h"
#include "router/router.h"
#include "store/store.h"

namespace agenttier::programs {
namespace {

constexpr std::size_t kBlockingThreads = 6;
constexpr std::size_t kTasksMax = 16;
constexpr std::chrono::seconds kGrace{5};

// Reports what the machine lacks, a fault stops the start; then makes room for sandboxes.
base::Status check_needs(const node::NodePaths& paths, const std::string& runtime_binary) {
  std::string faults;
  for (const node::PreflightFinding& finding : node::check_machine(paths, runtime_binary)) {
    if (finding.weight == node::Weight::kAdvice) {
      observe::log_warning("advice", {{"what", finding.text}});
    } else {
      faults += (faults.empty() ? "" : "; ") + finding.text;
    }
  }
  if (!faults.empty()) return base::unavailable(faults);
  for (const std::string& text : node::raise_kernel_limits("/proc/sys")) {
    observe::log_warning("advice", {{"what", text}});
  }
  return {};
}

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

kube::ClientOptions client_options(std::string who) {
  return {.authority = "", .bearer_token = "", .field_manager = std::move(who)};
}

std::string url_of(const UpOptions& options, std::uint16_t port) {
  const bool everywhere = options.listen_address == "0.0.0.0";
  return "http://" + (everywhere ? std::string("127.0.0.1") : options.listen_address) + ":" +
         std::to_string(port);
}

}  // namespace

// Members are in the order in which they need each other.
struct AllInOne::Parts {
  Parts(async::Executor executor_in, UpOptions options_in)
      : executor(executor_in),
        options(std::move(options_in)),
        blocking(kBlockingThreads),
        tasks(executor_in, {.name = "agenttier up", .tasks_max = kTasksMax}) {}

  async::Executor executor;
  UpOptions options;
  async::RealTimers timers;
  base::SystemRandom random;
  async::BlockingPool blocking;
  std::unique_ptr<http::NetworkClient> runtimes;
  std::unique_ptr<store::Store> store;
  std::optional<http::InProcessClient> transport;
  std::optional<kube::Client> node_client, controller_client, router_client;
  std::unique_ptr<node::Network> network;
  std::unique_ptr<node::NodeAgent> agent;
  std::optional<PodLogTransport> logs;
  std::optional<controller::HttpRuntimeProbe> probe;
  std::optional<kube::EventRecorder> events;
  std::unique_ptr<controller::SandboxReconciler> reconciler;
  std::optional<identity::ApiKeys> keys;
  std::optional<identity::Authenticator> authenticator;
  std::unique_ptr<router::Router> router;
  std::optional<ImageService> front;
  std::unique_ptr<http::Server> server;
  const std::string node_name = host_name();
  async::TaskGroup tasks;  // reconciler, events, agent, server

  async::Task<base::Status> open_store();
  async::Task<base::Status> start_node();
  async::Task<base::Status> start_controller();
  async::Task<base::Status> start_router();
  base::Status announce();
};

async::Task<base::Status> AllInOne::Parts::open_store() {
  AT_CO_TRY(store,
            store::Store::open(executor, options.state_dir + "/store", timers.clock(), random, {}));
  transport.emplace(store->api());
  node_client.emplace(*transport, client_options("agenttier-node"));
  controller_client.emplace(*transport, client_options("agenttier-controller"));
  co_return base::Status();
}

async::Task<base::Status> AllInOne::Parts::start_node() {
  AT_CO_TRY(const node::NodePaths paths, node::NodePaths::make(options.state_dir));
  AT_CO_OK(paths.make_folders());
  AT_CO_OK(check_needs(paths, options.runtime_binary));
  AT_CO_TRY(const os::Cgroups cgroups, os::Cgroups::detect());
  if (!options.images_dir.empty()) {
    const std::string from = options.images_dir, to = paths.local_images();
    auto copied = co_await blocking.run([from, to] { return take_local_images(from, to); });
    AT_CO_OK(std::move(copied));
  }
  node::RoutedNetworkOptions network_options;
  network_options.state_dir = options.state_dir + "/network";
  network_options.subnet = options.pod_subnet;
  network_options.nameservers = reachable_nameservers("/etc/resolv.conf");
  AT_CO_TRY(network, node::open_routed_network(executor, blocking, std::move(network_options)));
  node::NodeOptions node_options;
  node_options.state_folder = options.state_dir;
  node_options.runtime_binary = options.runtime_binary;
  node_options.native_runtime = options.native_runtime;
  node_options.images.fetch.insecure_registries = options.insecure_registries;
  node_options.name = node_name;
  agent = std::make_unique<node::NodeAgent>(executor, timers, random, blocking, *node_client,
                                            *network, paths, cgroups, std::move(node_options));
  AT_CO_OK(co_await agent->start());
  co_return tasks.spawn(agent->run());
}

async::Task<base::Status> AllInOne::Parts::start_controller() {
  controller::DefaultTemplateOptions templates;
  templates.minimal_image = "agenttier/minimal";
  templates.general_coding_image = "agenttier/general-coding";
  AT_CO_OK(co_await controller::ensure_default_templates(*controller_client, templates));
  probe.emplace(*runtimes, timers);
  events.emplace(*controller_client, timers, random, executor,
                 kube::EventRecorderOptions{.component = "agenttier-controller"});
  controller::SandboxReconcilerOptions reconciler_options;
  reconciler_options.defaults.image = templates.minimal_image;
  reconciler_options.plan.pod.node_name = node_name;  // bound from the start: one write less
  controller::SandboxReconciler::Parts needs{
      *controller_client, timers, random, *probe, *events, executor};
  reconciler =
      std::make_unique<controller::SandboxReconciler>(needs, std::move(reconciler_options));
  AT_CO_OK(tasks.spawn(events->run()));
  co_return tasks.spawn(reconciler->run());
}

async::Task<base::Status> AllInOne::Parts::start_router() {
  logs.emplace(*transport, *agent);
  router_client.emplace(*logs, client_options("agenttier-router"));
  keys.emplace(*router_client, timers, random, executor, identity::ApiKeys::Options{});
  AT_CO_OK(co_await identity::ensure_admin_key(*keys, blocking, random,
                                               options.state_dir + "/admin.key"));
  authenticator.emplace(*keys, nullptr);
  router::Router::Parts needs{.executor = executor,
                              .client = *router_client,
                              .runtimes = *runtimes,
                              .authenticator = *authenticator,
                              .keys = *keys,
                              .timers = timers,
                              .random = random};
  router = std::make_unique<router::Router>(needs, router::RouterOptions{});
  AT_CO_OK(router->start());
  AT_CO_OK(co_await router->wait_until_ready());
  front.emplace(*router, *authenticator, agent->images());
  http::ServerOptions server_options;
  server_options.address = options.listen_address;
  server_options.port = options.listen_port;
  AT_CO_TRY(server, http::Server::listen(executor, *front, server_options));
  co_return tasks.spawn(server->run());
}

// Says where the API is, in a file that scripts wait for, and to the command line if it has no
// server yet.
base::Status AllInOne::Parts::announce() {
  const std::string url = url_of(options, server->port());
  AT_OK(os::write_file_atomic(options.state_dir + "/api.url", url + "\n", 0644));
  observe::log_info("serving", {{"url", url}, {"state", options.state_dir}});
  if (!options.log_in_cli || cli::config_path().empty()) return {};
  std::ifstream file(options.state_dir + "/admin.key");
  std::string key;
  std::getline(file, key);
  return cli::save_config(cli::config_path(), {.api_url = url, .api_key = key, .token = ""});
}

AllInOne::AllInOne(async::Executor executor, UpOptions options)
    : parts_(std::make_unique<Parts>(std::move(executor), std::move(options))) {}

AllInOne::~AllInOne() = default;

async::Task<base::Status> AllInOne::start() {
  Parts& parts = *parts_;
  std::error_code failed;
  std::filesystem::create_directories(parts.options.state_dir, failed);
  if (failed) co_return base::from_errno("create " + parts.options.state_dir, failed.value());
  std::filesystem::permissions(parts.options.state_dir, std::filesystem::perms::owner_all, failed);
  std::filesystem::remove(parts.options.state_dir + "/api.url", failed);
  parts.runtimes = http::NetworkClient::make(parts.executor, {});
  AT_CO_OK(co_await parts.open_store());
  AT_CO_OK(co_await parts.start_node());
  AT_CO_OK(co_await parts.start_controller());
  AT_CO_OK(co_await parts.start_router());
  co_return parts.announce();
}

async::Task<void> AllInOne::close() {
  Parts& parts = *parts_;
  std::error_code ignored;
  std::filesystem::remove(parts.options.state_dir + "/api.url", ignored);
  if (parts.server) co_await parts.server->close(kGrace);
  if (parts.router) co_await parts.router->close();
  co_await parts.tasks.close();
  if (parts.agent) co_await parts.agent->close();
  if (parts.store) co_await parts.store->close();
}

}  // namespace agenttier::programs
