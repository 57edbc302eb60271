#include "async/task_group.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <list>
#include <utility>

#include "async/event.h"
#include "base/assert.h"
#include "observe/log.h"

namespace agenttier::async {

struct TaskGroup::State {
  State(Executor executor_in, Options options_in)
      : executor(std::move(executor_in)), options(std::move(options_in)), empty(executor) {}

  Executor executor;
  Options options;
  std::list<boost::asio::cancellation_signal> running;
  Event empty;
  bool closed = false;
};

namespace {

Task<void> run_quietly(Task<void> task) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  co_await std::move(task);
}

}  // namespace

TaskGroup::TaskGroup(Executor executor, Options options)
    : state_(std::make_shared<State>(std::move(executor), std::move(options))) {}

TaskGroup::~TaskGroup() {
  AT_ASSERT(state_->running.empty());
}

base::Status TaskGroup::spawn(Task<void> task) {
  State& state = *state_;
  if (state.closed) return base::cancelled(state.options.name + ": stopping");
  if (state.running.size() >= state.options.tasks_max) {
    return base::exhausted(state.options.name + ": " + std::to_string(state.options.tasks_max) +
                           " tasks are running, which is the limit");
  }
  const auto entry = state.running.emplace(state.running.end());
  auto done = [shared = state_, entry](const std::exception_ptr& failure) {
    // A cancellation asked for outside the loop may still be on its way to the signal: it goes
    // last.
    std::list<boost::asio::cancellation_signal> ended;
    ended.splice(ended.begin(), shared->running, entry);
    boost::asio::post(shared->executor, [kept = std::move(ended)] {});
    if (shared->running.empty()) shared->empty.notify_all();
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      observe::log_error("task ended by an exception",
                         {{"group", shared->options.name}, {"what", e.what()}});
    }
  };
  boost::asio::co_spawn(state.executor, run_quietly(std::move(task)),
                        boost::asio::bind_cancellation_slot(entry->slot(), std::move(done)));
  return {};
}

void TaskGroup::cancel_all() {
  // A cancelled task may end at once and erase its entry, so step before emitting.
  auto& running = state_->running;
  for (auto it = running.begin(); it != running.end();) {
    auto current = it++;
    current->emit(boost::asio::cancellation_type::terminal);
  }
}

Task<void> TaskGroup::wait_empty() {
  const auto state = state_;
  while (!state->running.empty()) co_await state->empty.wait_shielded();
}

Task<void> TaskGroup::close() {
  state_->closed = true;
  cancel_all();
  const auto state = state_;
  while (!state->running.empty()) co_await state->empty.wait_shielded();
}

std::size_t TaskGroup::size() const {
  return state_->running.size();
}
bool TaskGroup::closed() const {
  return state_->closed;
}

}  // namespace agenttier::async
