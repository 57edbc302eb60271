#pragma once
// The Supervisor is the runtime as a whole: it serves the API, reaps, runs the main process if
// there is one, forwards signals, and ends everything in order.
//
// SIGTERM (also SIGINT, SIGQUIT): every process below gets TERM; when they have ended, or after
// kStopGrace and a KILL, the runtime ends. The end of the main process is the end of all.

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <optional>

#include "async/blocking_pool.h"
#include "async/event.h"
#include "async/task.h"
#include "async/task_group.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "http/server.h"
#include "runtime/config.h"
#include "runtime/process_table.h"
#include "runtime/reaper.h"
#include "runtime/runtime_service.h"

namespace agenttier::runtime {

class Supervisor {
 public:
  struct Options {
    std::size_t open_files_max = 0;  // of the programs started; zero: the runtime's own
  };
  Supervisor(async::Executor executor, Config config, Options options);
  ~Supervisor();

  // Runs until no process is left; gives the exit code. Errors are logged. A program may then exit:
  // what a blocking call may still be doing to files ends with it, as with a power cut.
  async::Task<int> run();
  // Waits for the end of everything; before the destruction.
  async::Task<void> close();
  // Where it listens, once it does.
  std::optional<std::uint16_t> port() const;

 private:
  base::Status listen();
  base::Status start_main();
  async::Task<void> watch_signals();
  async::Task<void> clean_up();
  void on_signal(int number);
  void stop(int exit_code);
  async::Task<void> end_processes();
  async::Task<void> close_server();
  void send_to_all(int number);

  async::Executor executor_;
  Config config_;
  Options options_;
  base::RealClock clock_;
  base::SystemRandom random_;
  Reaper reaper_;
  ProcessTable table_;
  async::BlockingPool blocking_;
  RuntimeService service_;
  std::unique_ptr<http::Server> server_;
  pid_t main_pid_ = 0;
  std::optional<int> exit_code_;
  std::shared_ptr<std::atomic<bool>> cleaning_ = std::make_shared<std::atomic<bool>>(true);
  async::Event stopping_;
  async::Event server_closed_;
  async::TaskGroup tasks_;
};

}  // namespace agenttier::runtime
