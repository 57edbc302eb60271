#pragma once
// The ProcessTable owns the processes that were started through the API: it gives them ids, keeps
// the newest exited ones, and bounds how many run and how much output they hold together.
//
// Not thread-safe: one loop. close() must have been awaited before it is destroyed.
//
// Example:
//   AT_CO_TRY(auto process, table.start(std::move(spec)));
//   co_await table.remove(process->id());

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/task.h"
#include "async/task_group.h"
#include "base/random.h"
#include "base/result.h"
#include "runtime/oom_watch.h"
#include "runtime/output_pump.h"
#include "runtime/process.h"

namespace agenttier::runtime {

class ProcessTable {
 public:
  struct Options {
    std::string workspace;                                         // default working directory
    std::vector<std::pair<std::string, std::string>> environment;  // of every program
    std::size_t open_files_max = 0;
    std::vector<int> groups;  // see SpawnPlan
    std::size_t running_max;
  };
  // `reaper`, `clock` and `random` outlive the table.
  ProcessTable(async::Executor executor, Reaper& reaper, const base::Clock& clock,
               base::Random& random, Options options);
  ~ProcessTable();

  // kExhausted when too many run.
  base::Result<std::shared_ptr<Process>> start(ProcessSpec spec);
  // An exec has one reader and is removed by it; it waits a while for its turn when too many run.
  async::Task<base::Result<std::shared_ptr<Process>>> start_exec(ProcessSpec spec);

  // kNotFound if there is none of that id.
  base::Result<std::shared_ptr<Process>> find(const std::string& id) const;
  std::vector<std::shared_ptr<Process>> list() const;  // oldest first
  // Kills it if it runs, and forgets it.
  async::Task<base::Status> remove(std::string id);
  // Forgets it now, and kills it in the background if it runs.
  void abandon(const std::shared_ptr<Process>& process);

  std::size_t running() const { return running_; }
  const base::Clock& clock() const { return clock_; }
  // Starts nothing more.
  void refuse_new() { refusing_ = true; }
  async::Task<void> close();

 private:
  struct Turn {
    explicit Turn(async::Executor executor) : event(std::move(executor)) {}
    async::Event event;
    bool granted = false;
  };

  base::Result<std::shared_ptr<Process>> start_counted(ProcessSpec spec);
  async::Task<base::Status> wait_for_turn();
  std::vector<std::string> environment_of(const ProcessSpec& spec, const std::string& id) const;
  void on_end();
  void on_memory(std::ptrdiff_t difference);
  void forget_oldest_exited();
  base::Error too_many() const;

  async::Executor executor_;
  Reaper& reaper_;
  const base::Clock& clock_;
  base::Random& random_;
  Options options_;
  OomWatch oom_;
  std::deque<std::shared_ptr<Process>> processes_;
  std::list<std::shared_ptr<Turn>> turns_;
  std::size_t running_ = 0;  // includes turns that are granted
  std::size_t log_bytes_ = 0;
  bool trimming_ = false;
  bool refusing_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  async::TaskGroup tasks_;
  LingeringPipes lingering_;
};

}  // namespace agenttier::runtime
