#include "node/node_agent.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "api/names.h"
#include "node/leftovers.h"
#include "node/node_object.h"
#include "node/pod_teardown.h"
#include "observe/log.h"
#include "os/file.h"

namespace agenttier::node {

using base::Result;
using base::Status;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kPodsMax = 10'000;
constexpr std::size_t kBulkThreads = 2;
constexpr auto kHouseInterval = 30s;
constexpr auto kImageInterval = 5min;
constexpr std::uint64_t kDiskPercentWantedFree = 15;

std::string machine_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::isalnum(c) != 0 || c == '.' ? std::tolower(c) : '-');
  });
  return text;
}

NodeIdentity identity_of(const NodeOptions& options) {
  return {options.name.empty() ? machine_name() : options.name, options.ip, options.runtime_binary};
}

// The states that pods of this node left in their folders, by uid.
std::map<std::string, PodState> read_states(const NodePaths& paths) {
  std::map<std::string, PodState> states;
  for (const std::string& uid : os::list_directory(paths.sandboxes())) {
    const auto text = os::read_file(paths.sandbox_state(uid), 1UL << 20U);
    const auto state = text ? parse_pod_state(*text) : Result<PodState>(text.error());
    if (state && state->uid == uid) states.emplace(uid, *state);
  }
  return states;
}

// A pod of which every main container was started (and reported) lives on; less is started anew.
bool is_adoptable(const PodState& state, const api::Pod& pod) {
  if (state.released) return true;
  return std::all_of(pod.spec.containers.begin(), pod.spec.containers.end(),
                     [&state](const api::Container& container) {
                       return std::any_of(state.containers.begin(), state.containers.end(),
                                          [&container](const ContainerState& known) {
                                            return known.name == container.name &&
                                                   (known.pid != 0 || known.end);
                                          });
                     });
}

}  // namespace

NodeAgent::NodeAgent(async::Executor executor, async::Timers& timers, base::Random& random,
                     async::BlockingPool& blocking, kube::Client& client, Network& network,
                     NodePaths paths, os::Cgroups cgroups, NodeOptions options)
    : paths_(std::move(paths)),
      cgroups_(std::move(cgroups)),
      options_(std::move(options)),
      identity_(identity_of(options_)),
      executor_(executor),
      timers_(timers),
      blocking_(blocking),
      client_(client),
      network_(network),
      bulk_(kBulkThreads),
      runner_(os::make_command_runner(blocking)),
      images_(paths_, *runner_, blocking, timers, executor, options_.images),
      volumes_(paths_, timers.clock()),
      claims_(executor, timers, random, client, bulk_, volumes_),
      runtimes_(paths_, *runner_, cgroups_, options_.native_runtime),
      parts_{identity_, paths_,  executor, timers,  random,    blocking,
             client,    network, images_,  claims_, runtimes_, cgroups_},
      pods_(client, timers, random, executor),
      policies_(client, timers, random, executor),
      namespaces_(client, timers, random, executor),
      rules_event_(executor),
      watches_(executor, {.name = "node watches", .tasks_max = 16}),
      tasks_(executor, {.name = "pods", .tasks_max = kPodsMax}) {
  pods_.add_handler([this](const PodPointer& old, const PodPointer& now) { on_pod(old, now); });
  policies_.add_handler([this](const auto&, const auto&) { rules_changed(); });
  namespaces_.add_handler([this](const auto&, const auto&) { rules_changed(); });
}

NodeAgent::~NodeAgent() = default;

Status NodeAgent::take_lock() {
  AT_TRY(lock_, os::open_file(paths_.lock(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return base::from_errno("lock " + paths_.lock(), errno);
  return base::exists("the state folder " + paths_.state() +
                      " is in use by another agenttier up; stop that one or choose another folder");
}

async::Task<Status> NodeAgent::start() {
  AT_CO_OK(paths_.make_folders());
  AT_CO_OK(take_lock());
  AT_CO_OK(os::become_subreaper());
  AT_CO_OK(co_await end_leftover_tools(parts_));
  AT_CO_OK(co_await empty_tmp(parts_));
  AT_CO_OK(co_await images_.recover());
  AT_CO_OK(watches_.spawn(pods_.run()));
  AT_CO_OK(watches_.spawn(policies_.run()));
  AT_CO_OK(watches_.spawn(namespaces_.run()));
  AT_CO_OK(watches_.spawn(claims_.watch()));
  AT_CO_OK(co_await pods_.wait_until_synced());
  AT_CO_OK(co_await policies_.wait_until_synced());
  AT_CO_OK(co_await namespaces_.wait_until_synced());
  AT_CO_OK(co_await claims_.wait_until_synced());
  co_return co_await recover_pods();
}

async::Task<Status> NodeAgent::recover_pods() {
  const NodePaths* paths = &paths_;
  std::map<std::string, PodState> states =
      co_await blocking_.run([paths] { return read_states(*paths); });
  std::set<std::string> adopted;
  for (const PodPointer& pod : pods_.list()) {
    const auto state = states.find(pod->metadata.uid);
    if (state == states.end() || !is_ours(*pod) || !is_adoptable(state->second, *pod)) continue;
    adopted.insert(pod->metadata.uid);
  }
  AT_CO_OK(co_await remove_unowned(adopted));
  // Rules first: what is adopted was never without them, what starts now stands under them.
  std::vector<std::string> known(adopted.begin(), adopted.end());
  AT_CO_OK(co_await network_.recover(std::move(known)));
  NetworkRules rules = current_rules();
  AT_CO_OK(co_await network_.apply_policies(std::move(rules)));
  const VolumeStore* volumes = &volumes_;
  const std::set<std::string> claims = claims_.known_uids();
  AT_CO_OK(co_await bulk_.run([volumes, claims] { return volumes->recover(claims); }));
  recovered_ = true;
  for (const PodPointer& pod : pods_.list()) {
    if (!is_ours(*pod) || workers_.contains(pod->metadata.uid)) continue;
    const bool known_pod = adopted.contains(pod->metadata.uid);
    start_worker(pod,
                 known_pod ? std::optional<PodState>(states[pod->metadata.uid]) : std::nullopt);
  }
  observe::log_info(
      "node agent is ready",
      {{"node", identity_.name}, {"adopted", adopted.size()}, {"pods", workers_.size()}});
  co_return Status();
}

// Everything named by a uid that is not among the adopted: pods that are gone, and pods that a
// crash left half made, which are made anew.
async::Task<Status> NodeAgent::remove_unowned(const std::set<std::string>& known) {
  AT_CO_TRY(const std::set<std::string> found, co_await find_pod_uids(parts_));
  for (const std::string& uid : found) {
    if (known.contains(uid)) continue;
    AT_CO_OK(co_await tear_down_pod(parts_, uid, Keep::kNothing));
  }
  co_return Status();
}

bool NodeAgent::is_ours(const api::Pod& pod) const {
  const std::string node = pod.spec.node_name.value_or("");
  return node.empty() || node == identity_.name;
}

void NodeAgent::on_pod(const PodPointer& old, const PodPointer& now) {
  if (!recovered_) return;
  const api::Pod& pod = now ? *now : *old;
  if (!old || !now || old->metadata.labels != now->metadata.labels) rules_changed();
  const auto worker = workers_.find(pod.metadata.uid);
  if (worker != workers_.end()) {
    worker->second->update(now);
  } else if (now && is_ours(*now)) {
    start_worker(now, std::nullopt);
  }
}

void NodeAgent::start_worker(const PodPointer& pod, std::optional<PodState> adopted) {
  if (const Status good = check_uid(pod->metadata.uid); !good) {
    observe::log_error("pod refused", {{"pod", pod->metadata.name}, {"why", good.error().message}});
    return;
  }
  auto worker = std::make_shared<PodWorker>(parts_, pod, std::move(adopted));
  if (const Status spawned = tasks_.spawn(run_worker(worker)); !spawned) {
    observe::log_error("pod not started",
                       {{"pod", pod->metadata.name}, {"why", spawned.error().message}});
    return;
  }
  workers_[pod->metadata.uid] = std::move(worker);
}

async::Task<void> NodeAgent::run_worker(std::shared_ptr<PodWorker> worker) {
  co_await worker->run();
  if (co_await async::is_cancelled()) co_return;
  workers_.erase(worker->uid());
  rules_changed();
}

async::Task<void> NodeAgent::run() {
  AT_ASSERT(recovered_);
  if (!watches_.spawn(claims_.run())) co_return;
  if (!watches_.spawn(keep_rules())) co_return;
  if (!watches_.spawn(keep_house())) co_return;
  if (!watches_.spawn(keep_node())) co_return;
  if (!watches_.spawn(network_.keep_spares())) co_return;
  while (!co_await async::is_cancelled()) {
    if (co_await timers_.sleep_for(24h) == async::Wake::kCancelled) break;
  }
}

async::Task<void> NodeAgent::close() {
  co_await watches_.close();
  co_await tasks_.close();
  co_await images_.close();
}

void NodeAgent::rules_changed() {
  ++rules_wanted_;
  rules_event_.notify_all();
}

NetworkRules NodeAgent::current_rules() const {
  NetworkRules rules;
  for (const PodPointer& pod : pods_.list()) {
    const auto worker = workers_.find(pod->metadata.uid);
    if (!is_ours(*pod) || (worker != workers_.end() && worker->second->ended())) continue;
    rules.pods.push_back(
        {pod->metadata.uid, pod->metadata.ns, pod->metadata.name, pod->metadata.labels});
  }
  for (const auto& policy : policies_.list()) rules.policies.push_back(*policy);
  for (const auto& space : namespaces_.list()) {
    rules.namespace_labels[space->metadata.name] = space->metadata.labels;
  }
  return rules;
}

async::Task<void> NodeAgent::keep_rules() {
  std::uint64_t applied = 0;
  while (!co_await async::is_cancelled()) {
    if (applied == rules_wanted_) {
      // Nothing is awaited between the look and the wait, so no change is missed.
      if (co_await rules_event_.wait() == async::Wake::kCancelled) co_return;
      continue;
    }
    const std::uint64_t wanted = rules_wanted_;
    NetworkRules rules = current_rules();
    const Status done = co_await network_.apply_policies(std::move(rules));
    if (done) {
      applied = wanted;
      continue;
    }
    observe::log_error("network rules not applied", {{"why", done.error().message}});
    if (co_await timers_.sleep_for(1s) == async::Wake::kCancelled) co_return;
  }
}

std::set<std::string> NodeAgent::digests_in_use() const {
  std::set<std::string> digests;
  for (const auto& [uid, worker] : workers_) digests.merge(worker->image_digests());
  return digests;
}

async::Task<void> NodeAgent::keep_house() {
  auto images_due = timers_.clock().monotonic() + kImageInterval;
  while (co_await timers_.sleep_for(kHouseInterval) != async::Wake::kCancelled) {
    (void)reaper_.sweep();
    if (timers_.clock().monotonic() < images_due) continue;
    images_due = timers_.clock().monotonic() + kImageInterval;
    const std::string folder = paths_.state();
    const auto usage = co_await blocking_.run([folder] { return os::file_system_usage(folder); });
    const std::uint64_t wanted = usage ? usage->bytes_total / 100 * kDiskPercentWantedFree : 0;
    const Status done =
        co_await images_.collect_garbage([this] { return digests_in_use(); }, wanted);
    if (!done) observe::log_warning("images not tidied", {{"why", done.error().message}});
    if (co_await async::is_cancelled()) co_return;
  }
}

async::Task<void> NodeAgent::keep_node() {
  co_await keep_node_object(parts_);
}

Result<std::unique_ptr<http::BodyReader>> NodeAgent::read_log(const kube::ObjectKey& key,
                                                              std::string container,
                                                              LogQuery query) {
  for (const auto& [uid, worker] : workers_) {
    const api::Pod& pod = worker->pod();
    if (pod.metadata.ns != key.ns || pod.metadata.name != key.name) continue;
    if (container.empty() && !pod.spec.containers.empty()) container = pod.spec.containers[0].name;
    const auto names = [&container](const api::Container& one) { return one.name == container; };
    if (std::none_of(pod.spec.containers.begin(), pod.spec.containers.end(), names) &&
        std::none_of(pod.spec.init_containers.begin(), pod.spec.init_containers.end(), names)) {
      return base::not_found("pod " + key.name + " has no container \"" + container + "\"");
    }
    return open_log(blocking_, paths_.logs(uid) + "/" + container, worker->log(container), query);
  }
  return base::not_found("pod " + key.text() + " does not run on this node");
}

}  // namespace agenttier::node
