#pragma once
// A WorkQueue holds the keys of objects that need a look, and gives each to a worker.
//
// Guarantees: a key is worked on by one worker at a time; a key added while it is being worked on
// is worked on once more afterwards; a key added many times while it waits is worked on once. A
// failed key comes back after a delay that doubles up to a maximum, spread at random; success
// forgets the failures. The number of keys is limited: add() then fails and counts. Not
// thread-safe: one loop. The references given to the constructor outlive the queue.
//
// Example (kube/work_queue_test.cc):
//   WorkQueue queue(executor, timers, random, {.name = "sandboxes", .workers = 8});
//   queue.add({"default", "demo"});
//   co_await queue.run([&](ObjectKey key) { return reconciler.reconcile(std::move(key)); });

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timers.h"
#include "base/random.h"
#include "kube/backoff.h"
#include "kube/client.h"

namespace agenttier::kube {

struct WorkQueueOptions {
  std::string name;                // for messages
  std::size_t workers = 8;         // keys worked on at once
  std::size_t keys_max = 200'000;  // waiting, delayed and running
  BackoffLimits backoff{std::chrono::milliseconds(50), std::chrono::minutes(5)};
};

class WorkQueue {
 public:
  // When to come back to a key, if nothing else asks for it sooner.
  using Requeue = std::optional<std::chrono::nanoseconds>;
  // Works on one key. An error brings the key back after the backoff, or after the error's
  // retry_after if that is longer.
  using Work = std::function<async::Task<base::Result<Requeue>>(ObjectKey)>;

  WorkQueue(async::Executor executor, async::Timers& timers, base::Random& random,
            WorkQueueOptions options);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // kExhausted at the limit, kCancelled after shutdown().
  base::Status add(const ObjectKey& key);
  // The earliest of several delays counts; a key that is added meanwhile is not worked on twice.
  base::Status add_after(const ObjectKey& key, std::chrono::nanoseconds delay);
  // add_after with the key's own growing delay.
  base::Status add_backoff(const ObjectKey& key);
  // Drops the key's record of failures.
  void forget(const ObjectKey& key);

  // Works until shutdown() or until the task is cancelled, then waits for the running workers.
  async::Task<void> run(Work work);
  // Takes no more keys; run() ends when the keys that are being worked on are done.
  void shutdown();

  std::size_t ready() const { return ready_.size(); }
  std::size_t delayed() const { return delayed_.size(); }
  std::size_t running() const { return running_.size(); }
  bool idle() const { return ready_.empty() && running_.empty(); }
  int failures(const ObjectKey& key) const;
  std::uint64_t dropped() const { return dropped_; }  // refused at the limit

 private:
  async::Task<void> work_on(Work work, ObjectKey key);
  async::Task<async::Wake> wait_for_work();
  base::Status check_room(const ObjectKey& key);
  bool known(const ObjectKey& key) const;
  void start_ready(const Work& work, async::TaskGroup& group);
  void take_due();
  void finish(const ObjectKey& key, const base::Result<Requeue>& result);
  void remove_delay(const ObjectKey& key);

  async::Timers& timers_;
  base::Random& random_;
  const WorkQueueOptions options_;
  const async::Executor executor_;
  async::Event changed_;
  bool shutdown_ = false;
  std::uint64_t dropped_ = 0;

  std::deque<ObjectKey> ready_;  // in the order of their coming
  std::set<ObjectKey> waiting_;  // in ready_, or once more after running
  std::set<ObjectKey> running_;
  std::map<ObjectKey, base::MonotonicTime> delayed_;         // when it becomes ready
  std::set<std::pair<base::MonotonicTime, ObjectKey>> due_;  // the same, by time
  std::map<ObjectKey, int> failures_;
};

}  // namespace agenttier::kube
