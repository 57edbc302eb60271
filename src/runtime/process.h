#pragma once
// A Process is a program that the runtime started: its output, its stdin, its exit.
//
// Guarantees: it leads a session of its own; it has ended when the program exited, whatever its
// children still hold open (they may write on, unheard); its status is complete and final once
// status() is set. Used from one loop; held by shared_ptr.
//
// Example:
//   AT_TRY(auto process, Process::start(std::move(start), tools));
//   while (!process->status()) co_await process->output().changed().wait();
//   auto piece = process->output().log().read(0, kFramePayloadMax);

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/runtime_protocol.h"
#include "async/event.h"
#include "async/task.h"
#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"
#include "runtime/followed_log.h"
#include "runtime/process_spec.h"

namespace agenttier::async {
class TaskGroup;
}

namespace agenttier::runtime {

class LingeringPipes;
class OomWatch;
class OutputPump;
class Reaper;
class StdinWriter;

// What a process needs of the runtime; all of it outlives the process.
struct ProcessTools {
  async::Executor executor;
  const base::Clock& clock;
  async::TaskGroup& tasks;
  Reaper& reaper;
  LingeringPipes& lingering;
  OomWatch& oom;
  std::size_t open_files_max = 0;  // of the programs started; zero: the runtime's own
  std::vector<int> groups;         // see SpawnPlan
};

enum class KillReason : std::uint8_t { kNone, kTimeLimit, kCanceled };

class Process : public std::enable_shared_from_this<Process> {
 public:
  struct Start {
    std::string id;
    ProcessSpec spec;
    std::vector<std::string> env;  // the whole environment, "NAME=value"
    std::string cwd_default;       // where spec.cwd is empty; "/" if it does not exist
    FollowedLog::OnMemory on_memory;
    std::function<void()> on_end;
  };

  static base::Result<std::shared_ptr<Process>> start(Start start, const ProcessTools& tools);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& id() const { return id_; }
  FollowedLog& output() { return output_; }
  // Set once the process has ended and its output is complete; output().changed() tells.
  const std::optional<api::ProcessStatus>& status() const { return status_; }
  api::Process describe() const;

  async::Task<base::Status> write_stdin(std::string bytes);
  async::Task<base::Status> end_stdin();
  // kConflict if it has no terminal or ended.
  base::Status resize(TerminalSize size);
  // To its process group. kConflict if it ended.
  base::Status signal(int number);
  // Tells a shell at a terminal, which ignores TERM, to end. Nothing without a terminal.
  void hang_up();
  // Ends it and its kin: TERM, and KILL after kTermToKill. Returns when they are gone.
  async::Task<void> kill(KillReason reason);
  // The same, for a task of its own.
  static async::Task<void> kill_owned(std::shared_ptr<Process> self, KillReason reason);

 private:
  struct Ends;  // the descriptors that join it to us

  Process(Start start, const ProcessTools& tools);
  base::Result<Ends> make_ends(ProcessSpec& spec);
  base::Result<Ends> make_terminal_ends(TerminalSize size);
  base::Status launch(Start start);
  base::Status begin_tasks(Ends ends, std::string stdin_rest, StdinMode mode);

  bool is_running() const { return !wait_status_; }
  void on_exit(int wait_status);
  static async::Task<void> run(std::shared_ptr<Process> self);
  async::Task<void> wait_for_exit();
  async::Task<void> settle_output();
  async::Task<void> wait_for_kills();
  void finish();
  std::string_view end_reason() const;

  static async::Task<void> pump(std::shared_ptr<Process> self, std::shared_ptr<OutputPump> source);
  static async::Task<void> give_stdin(std::shared_ptr<Process> self, std::string bytes,
                                      StdinMode mode);
  void send_to_kin(const std::vector<pid_t>& kin, int number);

  std::string id_;
  std::vector<std::string> argv_;
  std::string cwd_;
  std::chrono::milliseconds time_limit_;
  bool has_terminal_;
  ProcessTools tools_;
  std::function<void()> on_end_;

  pid_t pid_ = 0;
  base::WallTime started_at_;
  base::MonotonicTime started_;
  std::optional<base::WallTime> exited_at_;
  std::chrono::milliseconds duration_{0};
  std::optional<int> wait_status_;
  std::optional<api::ProcessStatus> status_;
  KillReason kill_reason_ = KillReason::kNone;
  bool kill_sent_ = false;  // SIGKILL, by us
  bool killed_for_memory_ = false;
  std::size_t kills_running_ = 0;

  FollowedLog output_;
  std::vector<std::shared_ptr<OutputPump>> pumps_;
  std::size_t pumps_running_ = 0;
  std::unique_ptr<StdinWriter> stdin_;
  os::Fd terminal_;
  // The program exited, a pump ended, or a kill is complete.
  async::Event progress_;
};

}  // namespace agenttier::runtime
