#pragma once
// The CommitQueue makes changes durable. Changes that are submitted while a commit runs share the
// next one, so that many concurrent writes cost one fsync.
//
// Guarantees: commits happen in the order of submission; on_committed is called on the loop, in
// that order, before any waiter of the commit runs. When a commit fails, everything submitted since
// fails with it, for it was decided on a state that never came to be; on_failed is called once.
//
// With Threading::kInline submit() commits before it returns: for tests that need one order of
// events.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "async/blocking_pool.h"
#include "async/event.h"
#include "async/task_group.h"
#include "base/result.h"
#include "store/object_file.h"

namespace agenttier::store {

enum class Threading : std::uint8_t { kWriterThread, kInline };

class CommitQueue {
 public:
  struct Options {
    Threading threading;
    std::size_t changes_max;  // that may wait; more are refused
    std::function<void(const std::vector<Change>&)> on_committed;
    std::function<void(const base::Error&)> on_failed;
  };
  class Commit;
  using CommitPtr = std::shared_ptr<Commit>;

  CommitQueue(async::Executor executor, ObjectFile& file, Options options);
  ~CommitQueue();

  // kExhausted when too much waits, kCancelled after close(): nothing may be submitted then.
  base::Status accepts() const;
  // The commit that will hold the changes. Call only after accepts().
  CommitPtr submit(std::vector<Change> changes, std::uint64_t version);
  // The last commit that is not done; null if all is durable.
  CommitPtr pending() const;
  static async::Task<base::Status> wait(CommitPtr commit);
  // Refuses more and waits until all that was submitted is durable.
  async::Task<void> close();

 private:
  async::Task<void> pump();
  base::Status write(const Commit& commit);
  void complete(const CommitPtr& commit, base::Status status);

  async::Executor executor_;
  ObjectFile& file_;
  Options options_;
  CommitPtr forming_;
  CommitPtr running_;
  bool pumping_ = false;
  bool closed_ = false;
  async::BlockingPool thread_{1};
  async::TaskGroup tasks_;
};

}  // namespace agenttier::store
