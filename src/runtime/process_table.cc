#include "runtime/process_table.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "runtime/limits.h"
#include "runtime/process_tree.h"

namespace agenttier::runtime {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t kIdBytes = 8;
// Pumps, stdin, the run itself, kills and lingering pipes of as many processes as there can be.
constexpr std::size_t kTasksMax = 8 * (kRunningProcessesMax + kLingeringPipesMax);

}  // namespace

ProcessTable::ProcessTable(async::Executor executor, Reaper& reaper, const base::Clock& clock,
                           base::Random& random, Options options)
    : executor_(executor),
      reaper_(reaper),
      clock_(clock),
      random_(random),
      options_(std::move(options)),
      tasks_(executor, {.name = "processes", .tasks_max = kTasksMax}),
      lingering_(tasks_, executor) {}

ProcessTable::~ProcessTable() = default;

Result<std::shared_ptr<Process>> ProcessTable::start(ProcessSpec spec) {
  if (running_ >= options_.running_max) return too_many();
  if (spec.terminal) spec.stdin_mode = StdinMode::kOpen;  // somebody will type
  ++running_;
  return start_counted(std::move(spec));
}

async::Task<Result<std::shared_ptr<Process>>> ProcessTable::start_exec(ProcessSpec spec) {
  // Its one reader is waited for, so that nothing is lost and little need be kept.
  spec.output_bytes_max = std::min(spec.output_bytes_max, kExecOutputBytesMax);
  AT_CO_OK(co_await wait_for_turn());
  co_return start_counted(std::move(spec));
}

async::Task<Status> ProcessTable::wait_for_turn() {
  if (running_ < options_.running_max) {
    ++running_;
    co_return Status();
  }
  if (turns_.size() >= kWaitingExecsMax) co_return too_many();
  const auto turn = turns_.emplace_back(std::make_shared<Turn>(executor_));
  const auto deadline = clock_.monotonic() + kExecSlotWaitMax;
  while (!turn->granted) {
    const auto wake = co_await turn->event.wait_for(deadline - clock_.monotonic());
    if (turn->granted && wake != async::Wake::kCancelled) break;
    if (wake == async::Wake::kNotified) continue;
    if (turn->granted) {
      on_end();  // the turn goes to the next
    } else {
      turns_.remove(turn);
    }
    if (wake == async::Wake::kCancelled) co_return base::cancelled("exec: the client went away");
    co_return too_many();
  }
  co_return Status();
}

Result<std::shared_ptr<Process>> ProcessTable::start_counted(ProcessSpec spec) {
  if (refusing_) {
    on_end();
    return base::unavailable("start: the sandbox is stopping");
  }
  Process::Start start;
  start.id = "p-" + random_.hex(kIdBytes);
  start.env = environment_of(spec, start.id);
  start.spec = std::move(spec);
  start.cwd_default = options_.workspace;
  // A reader may hold a process longer than this table lives.
  start.on_memory = [this, alive = std::weak_ptr(alive_)](std::ptrdiff_t difference) {
    if (!alive.expired()) on_memory(difference);
  };
  start.on_end = [this] { on_end(); };
  const ProcessTools tools{
      executor_,      clock_, tasks_, reaper_, lingering_, oom_, options_.open_files_max,
      options_.groups};
  auto process = Process::start(std::move(start), tools);
  if (!process) {
    on_end();
    return process;
  }
  processes_.push_back(*process);
  return process;
}

std::vector<std::string> ProcessTable::environment_of(const ProcessSpec& spec,
                                                      const std::string& id) const {
  std::map<std::string, std::string> merged(options_.environment.begin(),
                                            options_.environment.end());
  if (spec.terminal) merged["TERM"] = "xterm-256color";
  for (const auto& [name, value] : spec.env) merged[name] = value;
  merged[std::string(kMarkVariable)] = id;
  std::vector<std::string> result;
  result.reserve(merged.size());
  for (const auto& [name, value] : merged) result.push_back(name + "=" + value);
  return result;
}

Result<std::shared_ptr<Process>> ProcessTable::find(const std::string& id) const {
  for (const auto& process : processes_) {
    if (process->id() == id) return process;
  }
  return base::not_found("process " + id.substr(0, 64) + ": there is none of that id");
}

std::vector<std::shared_ptr<Process>> ProcessTable::list() const {
  return {processes_.begin(), processes_.end()};
}

async::Task<Status> ProcessTable::remove(std::string id) {
  AT_CO_TRY(const std::shared_ptr<Process> process, find(id));
  co_await process->kill(KillReason::kCanceled);
  std::erase(processes_, process);
  co_return Status();
}

void ProcessTable::abandon(const std::shared_ptr<Process>& process) {
  if (!process->status()) (void)tasks_.spawn(Process::kill_owned(process, KillReason::kCanceled));
  std::erase(processes_, process);
}

async::Task<void> ProcessTable::close() {
  refusing_ = true;
  co_await tasks_.close();
  processes_.clear();
}

void ProcessTable::on_end() {
  --running_;
  while (running_ < options_.running_max && !turns_.empty()) {
    ++running_;
    turns_.front()->granted = true;
    turns_.front()->event.notify_all();
    turns_.pop_front();
  }
  forget_oldest_exited();
}

void ProcessTable::forget_oldest_exited() {
  const auto is_exited = [](const auto& process) { return process->status().has_value(); };
  auto exited = std::count_if(processes_.begin(), processes_.end(), is_exited);
  for (; exited > static_cast<std::ptrdiff_t>(kExitedProcessesMax); --exited) {
    processes_.erase(std::find_if(processes_.begin(), processes_.end(), is_exited));
  }
}

void ProcessTable::on_memory(std::ptrdiff_t difference) {
  log_bytes_ += static_cast<std::size_t>(difference);
  if (trimming_ || log_bytes_ <= kOutputTotalMax || processes_.empty()) return;
  trimming_ = true;
  const auto largest = std::max_element(
      processes_.begin(), processes_.end(), [](const auto& left, const auto& right) {
        return left->output().memory_bytes() < right->output().memory_bytes();
      });
  FollowedLog& output = (*largest)->output();
  output.drop_before((output.log().begin() + output.log().end()) / 2);
  trimming_ = false;
}

base::Error ProcessTable::too_many() const {
  base::Error error = base::exhausted("start: " + std::to_string(options_.running_max) +
                                      " processes run in this sandbox, which is the limit");
  error.retry_after = std::chrono::seconds(1);
  return error;
}

}  // namespace agenttier::runtime
