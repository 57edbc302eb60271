#include "runtime/supervisor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <utility>
#include <vector>

#include "observe/log.h"
#include "runtime/file_upload.h"
#include "runtime/limits.h"
#include "runtime/process_tree.h"
#include "runtime/spawn.h"

namespace agenttier::runtime {

using async::Task;
using base::Status;

namespace {

constexpr std::size_t kTasksMax = 16;

// Descriptors that the runtime inherited.
std::vector<int> inner_groups(const Config& config) {
  std::vector<int> groups;
  for (int i = 0; i < config.inner_groups; ++i) groups.push_back(kInnerGroupFirst + i);
  return groups;
}

ProcessTable::Options table_options(const Config& config, const Supervisor::Options& options) {
  ProcessTable::Options made;
  made.workspace = config.workspace;
  made.environment = config.environment;
  made.open_files_max = options.open_files_max;
  made.groups = inner_groups(config);
  made.running_max = kRunningProcessesMax;
  return made;
}

http::ServerOptions server_options() {
  http::ServerOptions options;
  options.connections_max = kConnectionsMax;
  // Programs in the sandbox reach the port too; they must not take it from the control plane.
  options.connections_from_self_max = kConnectionsFromInsideMax;
  options.head_bytes_max = kHeadBytesMax;
  return options;
}

bool is_stop(int number) {
  return number == SIGTERM || number == SIGINT || number == SIGQUIT;
}

}  // namespace

Supervisor::Supervisor(async::Executor executor, Config config, Options options)
    : executor_(executor),
      config_(std::move(config)),
      options_(options),
      reaper_(executor),
      table_(executor, reaper_, clock_, random_, table_options(config_, options_)),
      blocking_(kBlockingThreads),
      service_({.token = config_.token,
                .roots = FileRoots({config_.workspace, "/tmp"}),
                .processes = table_,
                .blocking = blocking_,
                .random = random_,
                .clock = clock_}),
      stopping_(executor),
      server_closed_(executor),
      tasks_(executor, {.name = "runtime", .tasks_max = kTasksMax}) {}

Supervisor::~Supervisor() = default;

std::optional<std::uint16_t> Supervisor::port() const {
  if (!server_) return std::nullopt;
  return server_->port();
}

Task<int> Supervisor::run() {
  Status ready = tasks_.spawn(watch_signals());
  if (ready) ready = tasks_.spawn(reaper_.run());
  if (ready) ready = listen();
  if (ready) ready = start_main();
  if (ready) ready = tasks_.spawn(clean_up());
  if (!ready) {
    observe::log_error("runtime cannot start", {{"error", ready.error().message}});
    stop(1);
  }
  while (!exit_code_) {
    if (co_await stopping_.wait() == async::Wake::kCancelled) stop(0);
  }
  table_.refuse_new();
  cleaning_->store(false);
  co_await end_processes();
  // Those who wait for a process that was ended here still get its status.
  if (server_ && tasks_.spawn(close_server()))
    co_await server_closed_.wait_shielded_for(kStopServerGrace);
  co_return *exit_code_;
}

Task<void> Supervisor::close() {
  co_await table_.close();
  if (server_) co_await server_->close(kStopServerGrace);
  co_await tasks_.close();
}

Task<void> Supervisor::close_server() {
  co_await server_->close(kStopServerGrace);
  server_closed_.notify_all();
}

Status Supervisor::listen() {
  http::ServerOptions options = server_options();
  options.port = config_.port;
  for (const std::string& address : config_.listen_addresses) {
    options.address = address;
    auto server = http::Server::listen(executor_, service_, options);
    if (!server && address != config_.listen_addresses.back()) continue;
    AT_TRY(server_, std::move(server));
    break;
  }
  return tasks_.spawn(server_->run());
}

Status Supervisor::start_main() {
  if (config_.main_argv.empty()) return {};
  SpawnPlan plan;
  plan.argv = config_.main_argv;
  for (const auto& [name, value] : config_.environment) plan.env.push_back(name + "=" + value);
  plan.cwd = config_.workspace;
  plan.cwd_fallback = "/";
  plan.stdin_fd = STDIN_FILENO;
  plan.stdout_fd = STDOUT_FILENO;
  plan.stderr_fd = STDERR_FILENO;
  plan.open_files_max = options_.open_files_max;
  plan.groups = inner_groups(config_);
  AT_TRY(main_pid_, spawn(plan));
  reaper_.watch(main_pid_, [this](int status) {
    main_pid_ = 0;
    // Its code is the runtime's, as it would be without a runtime around it.
    exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    stopping_.notify_all();
  });
  return {};
}

// What uploads left behind when the sandbox was cut off.
Task<void> Supervisor::clean_up() {
  auto job = [root = config_.workspace, go_on = cleaning_] {
    return remove_leftover_uploads(root, *go_on);
  };
  const std::size_t removed = co_await blocking_.run(std::move(job));
  if (removed > 0) observe::log_info("removed unfinished uploads", {{"files", removed}});
}

Task<void> Supervisor::watch_signals() {
  boost::asio::signal_set signals(executor_);
  for (int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH}) {
    boost::system::error_code ignored;
    signals.add(number, ignored);
  }
  while (true) {
    const auto [failure, number] =
        co_await signals.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (failure) co_return;
    on_signal(number);
    const bool cancelled = co_await async::is_cancelled();
    if (cancelled) co_return;
  }
}

void Supervisor::on_signal(int number) {
  if (is_stop(number)) {
    stop(0);
  } else if (main_pid_ > 0) {
    ::kill(-main_pid_, number);
  }
}

void Supervisor::stop(int exit_code) {
  if (!exit_code_) exit_code_ = exit_code;
  stopping_.notify_all();
}

Task<void> Supervisor::end_processes() {
  send_to_all(SIGTERM);
  for (const auto& process : table_.list()) process->hang_up();
  const auto deadline = clock_.monotonic() + kStopGrace;
  reaper_.collect();
  while (reaper_.has_children() && clock_.monotonic() < deadline) {
    co_await reaper_.collected().wait_shielded_for(kKinPause);
    reaper_.collect();
  }
  for (int round = 0; round < kKillRoundsMax && reaper_.has_children(); ++round) {
    send_to_all(SIGKILL);
    co_await reaper_.collected().wait_shielded_for(kKinPause);
    reaper_.collect();
  }
}

void Supervisor::send_to_all(int number) {
  // As pid 1 this reaches everything in the sandbox but ourselves, and misses nothing.
  if (getpid() == 1) {
    ::kill(-1, number);
    if (number == SIGTERM) ::kill(-1, SIGCONT);
    return;
  }
  for (const pid_t pid : find_own_descendants()) {
    ::kill(pid, number);
    if (number == SIGTERM) ::kill(pid, SIGCONT);
  }
}

}  // namespace agenttier::runtime
