#pragma once
// A TaskGroup owns the tasks that a service started and that may still be running.
//
// Guarantees: no task outlives its group; close() refuses new work, cancels what runs, and returns
// when the last task ended. Destroying a group that still has tasks is a bug (AT_ASSERT).
// Not thread-safe: use it from the loop it was made for. Declare it as the last member.
//
// Example (async/task_group_test.cc):
//   TaskGroup sessions(executor, {.name = "sessions", .tasks_max = 1000});
//   AT_CO_OK(sessions.spawn(serve(std::move(client))));
//   co_await sessions.close();

#include <cstddef>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/result.h"

namespace agenttier::async {

class TaskGroup {
 public:
  struct Options {
    std::string name;       // for messages
    std::size_t tasks_max;  // spawn fails with kExhausted beyond this
  };

  TaskGroup(Executor executor, Options options);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // kExhausted at the limit, kCancelled after close(); the task is then destroyed unstarted.
  base::Status spawn(Task<void> task);
  // Cancels what runs now, refuses more, and waits for the end of all. Safe to call twice.
  Task<void> close();
  // Asks the running tasks to end without waiting; new tasks may still be spawned.
  void cancel_all();
  // Waits until no task runs; refuses nothing.
  Task<void> wait_empty();

  std::size_t size() const;
  bool closed() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace agenttier::async
