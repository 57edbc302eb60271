#include "runtime/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "async/task_group.h"
#include "base/bytes.h"
#include "base/time_format.h"
#include "runtime/limits.h"
#include "runtime/oom_watch.h"
#include "runtime/output_pump.h"
#include "runtime/process_tree.h"
#include "runtime/pty.h"
#include "runtime/reaper.h"
#include "runtime/small_file.h"
#include "runtime/spawn.h"
#include "runtime/stdin_writer.h"

namespace agenttier::runtime {

using async::Task;
using base::Result;
using base::Status;

// The child's side is closed after the start.
struct Process::Ends {
  os::Fd child_stdin;
  os::Fd child_stdout;
  os::Fd child_stderr;  // not open: the same as stdout
  os::Fd stdin_end;     // not open: nothing will be written
  os::Fd stdout_end;
  os::Fd stderr_end;
};

namespace {

// Programs are killed for memory before the runtime is.
constexpr std::string_view kOomScore = "500";

struct PipeEnds {
  os::Fd read;
  os::Fd write;
};

Result<PipeEnds> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return base::from_errno("start: make a pipe", errno);
  return PipeEnds{os::Fd(ends[0]), os::Fd(ends[1])};
}

void set_non_blocking(const os::Fd& fd) {
  (void)fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// Reads as an end of file at once.
Result<os::Fd> open_nothing() {
  os::Fd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.is_open()) return nothing;
  AT_TRY(PipeEnds ends, make_pipe());
  return std::move(ends.read);
}

// Fills the pipe with what it takes at once, which is all of it for small inputs.
void write_ahead(const os::Fd& pipe, std::string& bytes) {
  const ssize_t count = ::write(pipe.get(), bytes.data(), bytes.size());
  if (count > 0) bytes.erase(0, static_cast<std::size_t>(count));
}

// Keeps of the arguments what a list of processes shows.
void shorten(std::vector<std::string>& argv) {
  std::size_t left = kShownArgumentsMax;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (argv[i].size() < left) {
      left -= argv[i].size() + 1;
      continue;
    }
    argv[i] = base::to_valid_utf8(argv[i].substr(0, left)) + "...";
    argv.resize(i + 1);
  }
  argv.shrink_to_fit();
  argv.back().shrink_to_fit();
}

}  // namespace

Result<std::shared_ptr<Process>> Process::start(Start start, const ProcessTools& tools) {
  std::shared_ptr<Process> process(new Process(start, tools));
  AT_OK(process->launch(std::move(start)));
  return process;
}

Process::Process(Start start, const ProcessTools& tools)
    : id_(std::move(start.id)),
      argv_(std::move(start.spec.argv)),
      cwd_(start.spec.cwd.empty() ? std::move(start.cwd_default) : std::move(start.spec.cwd)),
      time_limit_(start.spec.time_limit),
      has_terminal_(start.spec.terminal.has_value()),
      tools_(tools),
      on_end_(std::move(start.on_end)),
      output_(tools.executor, tools.clock, start.spec.output_bytes_max, std::move(start.on_memory)),
      progress_(tools.executor) {}

Process::~Process() = default;

Result<Process::Ends> Process::make_terminal_ends(TerminalSize size) {
  auto pty = open_pty(size);
  if (!pty) return std::move(pty).error().context("start");
  Ends ends;
  ends.child_stdin = std::move(pty->terminal);
  ends.stdin_end = os::Fd(fcntl(pty->controller.get(), F_DUPFD_CLOEXEC, 3));
  terminal_ = os::Fd(fcntl(pty->controller.get(), F_DUPFD_CLOEXEC, 3));
  if (!ends.stdin_end.is_open() || !terminal_.is_open()) {
    return base::from_errno("start: copy the terminal's descriptor", errno);
  }
  ends.stdout_end = std::move(pty->controller);
  return ends;
}

Result<Process::Ends> Process::make_ends(ProcessSpec& spec) {
  if (spec.terminal) return make_terminal_ends(*spec.terminal);
  Ends ends;
  AT_TRY(PipeEnds out, make_pipe());
  AT_TRY(PipeEnds err, make_pipe());
  set_non_blocking(out.read);
  set_non_blocking(err.read);
  ends.child_stdout = std::move(out.write);
  ends.stdout_end = std::move(out.read);
  ends.child_stderr = std::move(err.write);
  ends.stderr_end = std::move(err.read);
  if (spec.stdin_mode == StdinMode::kEndOfFile) {
    AT_TRY(ends.child_stdin, open_nothing());
    return ends;
  }
  AT_TRY(PipeEnds in, make_pipe());
  set_non_blocking(in.write);
  write_ahead(in.write, spec.stdin_bytes);
  ends.child_stdin = std::move(in.read);
  const bool all_given = spec.stdin_mode == StdinMode::kGiven && spec.stdin_bytes.empty();
  if (!all_given) ends.stdin_end = std::move(in.write);
  return ends;
}

Status Process::launch(Start start) {
  AT_TRY(Ends ends, make_ends(start.spec));
  SpawnPlan plan;
  plan.argv = argv_;
  plan.env = std::move(start.env);
  plan.cwd = cwd_;
  if (start.spec.cwd.empty()) plan.cwd_fallback = "/";
  plan.open_files_max = tools_.open_files_max;
  plan.groups = tools_.groups;
  plan.stdin_fd = ends.child_stdin.get();
  plan.stdout_fd = has_terminal_ ? plan.stdin_fd : ends.child_stdout.get();
  plan.stderr_fd = has_terminal_ ? plan.stdin_fd : ends.child_stderr.get();
  if (has_terminal_) plan.terminal = SpawnPlan::Terminal::kControlling;

  started_at_ = tools_.clock.now();
  started_ = tools_.clock.monotonic();
  AT_TRY(pid_, spawn(plan));
  (void)write_small_file("/proc/" + std::to_string(pid_) + "/oom_score_adj", kOomScore);
  tools_.reaper.watch(pid_, [process = weak_from_this()](int status) {
    if (const auto self = process.lock()) self->on_exit(status);
  });
  auto begun =
      begin_tasks(std::move(ends), std::move(start.spec.stdin_bytes), start.spec.stdin_mode);
  if (!begun) ::kill(-pid_, SIGKILL);  // the runtime is stopping
  shorten(argv_);
  return begun;
}

Status Process::begin_tasks(Ends ends, std::string stdin_rest, StdinMode mode) {
  const auto self = shared_from_this();
  for (auto [fd, channel] : {std::pair{&ends.stdout_end, Channel::kStdout},
                             std::pair{&ends.stderr_end, Channel::kStderr}}) {
    if (!fd->is_open()) continue;
    auto made = std::make_shared<OutputPump>(tools_.executor, std::move(*fd), channel, output_);
    pumps_.push_back(made);
    ++pumps_running_;
    AT_OK(tools_.tasks.spawn(pump(self, std::move(made))));
  }
  if (ends.stdin_end.is_open()) {
    const auto kind = has_terminal_ ? StdinWriter::Kind::kTerminal : StdinWriter::Kind::kPipe;
    stdin_ = std::make_unique<StdinWriter>(tools_.executor, std::move(ends.stdin_end), kind);
    if (!stdin_rest.empty() || mode != StdinMode::kOpen) {
      AT_OK(tools_.tasks.spawn(give_stdin(self, std::move(stdin_rest), mode)));
    }
  }
  return tools_.tasks.spawn(run(self));
}

void Process::on_exit(int wait_status) {
  wait_status_ = wait_status;
  exited_at_ = tools_.clock.now();
  duration_ =
      std::chrono::duration_cast<std::chrono::milliseconds>(tools_.clock.monotonic() - started_);
  const bool killed = (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) ||
                      (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 128 + SIGKILL);
  if (killed && !kill_sent_) killed_for_memory_ = tools_.oom.take_kill();
  progress_.notify_all();
}

Task<void> Process::run(std::shared_ptr<Process> self) {
  co_await self->wait_for_exit();
  if (self->is_running()) co_return;  // the runtime is stopping
  co_await self->settle_output();
  co_await self->wait_for_kills();
  self->finish();
}

Task<void> Process::wait_for_exit() {
  const auto deadline = started_ + time_limit_;
  bool limited = time_limit_.count() > 0;
  while (is_running()) {
    const auto left = deadline - tools_.clock.monotonic();
    if (limited && left.count() <= 0) {
      limited = false;
      (void)tools_.tasks.spawn(kill_owned(shared_from_this(), KillReason::kTimeLimit));
    }
    // Two statements, for GCC 12 mistakes a conditional operator around co_await.
    async::Wake wake = async::Wake::kNotified;
    if (limited) {
      wake = co_await progress_.wait_for(left);
    } else {
      wake = co_await progress_.wait();
    }
    if (wake == async::Wake::kCancelled) co_return;
  }
}

Task<void> Process::wait_for_kills() {
  bool cancelled = co_await async::is_cancelled();
  while (kills_running_ > 0 && !cancelled) {
    cancelled = co_await progress_.wait() == async::Wake::kCancelled;
  }
}

Task<void> Process::settle_output() {
  for (const auto& pump : pumps_) pump->program_exited();
  const auto deadline = tools_.clock.monotonic() + kDrainGrace;
  while (pumps_running_ > 0) {
    const auto left = deadline - tools_.clock.monotonic();
    if (left.count() <= 0) break;
    if (co_await progress_.wait_for(left) == async::Wake::kCancelled) co_return;
  }
  for (const auto& pump : pumps_) pump->settle();
  while (pumps_running_ > 0) {
    if (co_await progress_.wait() == async::Wake::kCancelled) co_return;
  }
}

void Process::finish() {
  for (const auto& pump : pumps_) {
    if (!pump->reached_end()) tools_.lingering.adopt(pump->release());
  }
  pumps_.clear();
  if (stdin_) stdin_->close();  // a write under way still uses it
  terminal_.reset();

  const int wait_status = *wait_status_;
  api::ProcessStatus status;
  status.exit_code =
      WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) status.signal = signal_name(WTERMSIG(wait_status));
  status.reason = end_reason();
  status.duration_ms = duration_.count();
  status.output_bytes = static_cast<std::int64_t>(output_.log().end());
  status.truncated = output_.log().begin() > 0;
  status_ = std::move(status);
  on_end_();
  output_.changed().notify_all();
}

std::string_view Process::end_reason() const {
  if (kill_reason_ == KillReason::kTimeLimit) return "timeout";
  if (kill_reason_ == KillReason::kCanceled) return "canceled";
  if (killed_for_memory_) return "oom";
  return WIFSIGNALED(*wait_status_) ? "signalled" : "exited";
}

api::Process Process::describe() const {
  api::Process wire;
  wire.id = id_;
  wire.pid = pid_;
  wire.argv = argv_;
  wire.cwd = cwd_;
  wire.tty = has_terminal_;
  wire.state = status_ ? "exited" : "running";
  wire.started_at = base::format_rfc3339(started_at_);
  if (status_) wire.exited_at = base::format_rfc3339(*exited_at_);
  wire.status = status_;
  wire.output_bytes = static_cast<std::int64_t>(output_.log().end());
  return wire;
}

Task<void> Process::pump(std::shared_ptr<Process> self, std::shared_ptr<OutputPump> source) {
  co_await source->run();
  --self->pumps_running_;
  self->progress_.notify_all();
}

Task<void> Process::give_stdin(std::shared_ptr<Process> self, std::string bytes, StdinMode mode) {
  // A program need not read its input: a failure here is no news.
  (void)co_await self->write_stdin(std::move(bytes));
  if (mode != StdinMode::kOpen) (void)co_await self->end_stdin();
}

Task<Status> Process::write_stdin(std::string bytes) {
  if (!stdin_ || !is_running()) co_return base::conflict("stdin: it is closed");
  const auto self = shared_from_this();
  co_return co_await stdin_->write(std::move(bytes));
}

Task<Status> Process::end_stdin() {
  if (!stdin_ || !is_running()) co_return base::conflict("stdin: it is closed");
  const auto self = shared_from_this();
  co_return co_await stdin_->end();
}

Status Process::resize(TerminalSize size) {
  if (!has_terminal_) return base::conflict("resize: process " + id_ + " has no terminal");
  if (!is_running()) return base::conflict("resize: process " + id_ + " has exited");
  return resize_pty(terminal_, size);
}

Status Process::signal(int number) {
  if (!is_running()) return base::conflict("signal: process " + id_ + " has exited");
  if (number == SIGKILL) kill_sent_ = true;
  if (::kill(-pid_, number) < 0 && errno != ESRCH) {
    return base::from_errno("signal " + signal_name(number), errno);
  }
  return {};
}

void Process::hang_up() {
  if (has_terminal_ && is_running()) ::kill(-pid_, SIGHUP);
}

Task<void> Process::kill_owned(std::shared_ptr<Process> self, KillReason reason) {
  co_await self->kill(reason);
}

Task<void> Process::kill(KillReason reason) {
  if (!is_running()) co_return;
  const auto self = shared_from_this();
  ++kills_running_;
  if (kill_reason_ == KillReason::kNone) kill_reason_ = reason;
  Kin kin(pid_, id_);
  send_to_kin(kin.find(), SIGTERM);

  // An exit is seen at once; the end of the others is looked for now and then.
  const auto deadline = tools_.clock.monotonic() + kTermToKill;
  auto alive = kin.find();
  while (!alive.empty() || is_running()) {
    const auto left = deadline - tools_.clock.monotonic();
    if (left.count() <= 0) break;
    const auto pause = std::min<std::chrono::nanoseconds>(left, kKinPause);
    auto& event = is_running() ? progress_ : tools_.reaper.collected();
    if (co_await event.wait_for(pause) == async::Wake::kCancelled) break;
    alive = kin.find();
  }
  for (int round = 0; round < kKillRoundsMax && (!alive.empty() || is_running()); ++round) {
    kill_sent_ = true;
    send_to_kin(alive, SIGKILL);
    if (co_await tools_.reaper.collected().wait_for(kKinPause) == async::Wake::kCancelled) break;
    alive = kin.find();
  }
  --kills_running_;
  progress_.notify_all();
}

void Process::send_to_kin(const std::vector<pid_t>& kin, int number) {
  // The group first, in one call, so that few can be born between two signals.
  if (is_running()) ::kill(-pid_, number);
  for (const pid_t pid : kin) ::kill(pid, number);
  if (number != SIGTERM) return;
  hang_up();
  // A stopped program heeds nothing until it continues.
  for (const pid_t pid : kin) ::kill(pid, SIGCONT);
}

}  // namespace agenttier::runtime
