#include "store/commit_queue.h"

#include <utility>

#include "observe/log.h"

namespace agenttier::store {

class CommitQueue::Commit {
 public:
  explicit Commit(async::Executor executor) : done(std::move(executor)) {}
  std::vector<Change> changes;
  std::uint64_t version = 0;
  std::optional<base::Status> outcome;
  async::Event done;
};

CommitQueue::CommitQueue(async::Executor executor, ObjectFile& file, Options options)
    : executor_(executor),
      file_(file),
      options_(std::move(options)),
      tasks_(std::move(executor), {.name = "store commits", .tasks_max = 4}) {}

CommitQueue::~CommitQueue() = default;

base::Status CommitQueue::accepts() const {
  if (closed_) return base::unavailable("the store is stopping");
  if (!forming_ || forming_->changes.size() < options_.changes_max) return {};
  base::Error error = base::exhausted("the store has " + std::to_string(options_.changes_max) +
                                      " changes waiting to be written, which is the limit");
  error.retry_after = std::chrono::seconds(1);
  return error;
}

CommitQueue::CommitPtr CommitQueue::submit(std::vector<Change> changes, std::uint64_t version) {
  if (!forming_) forming_ = std::make_shared<Commit>(executor_);
  const CommitPtr commit = forming_;
  commit->changes.insert(commit->changes.end(), std::make_move_iterator(changes.begin()),
                         std::make_move_iterator(changes.end()));
  commit->version = version;
  if (options_.threading == Threading::kInline) {
    forming_.reset();
    complete(commit, write(*commit));
  } else if (!pumping_) {
    pumping_ = true;
    AT_ASSERT(tasks_.spawn(pump()).has_value());
  }
  return commit;
}

CommitQueue::CommitPtr CommitQueue::pending() const {
  return forming_ ? forming_ : running_;
}

async::Task<base::Status> CommitQueue::wait(CommitPtr commit) {
  while (!commit->outcome) {
    if (co_await commit->done.wait() == async::Wake::kCancelled) {
      co_return base::cancelled("wait for the commit");
    }
  }
  co_return *commit->outcome;
}

// Runs while there is something to commit. Nothing is awaited between finding nothing and ending,
// so that submit() sees either a running pump or none.
async::Task<void> CommitQueue::pump() {
  while (forming_) {
    running_ = std::exchange(forming_, nullptr);
    const CommitPtr commit = running_;
    base::Status status = co_await thread_.run([this, commit] { return write(*commit); });
    running_.reset();
    complete(commit, std::move(status));
    if (!forming_ && file_.log_is_long()) {
      co_await thread_.run([this] { (void)file_.checkpoint(); });
    }
  }
  pumping_ = false;
}

base::Status CommitQueue::write(const Commit& commit) {
  return file_.commit(commit.changes, commit.version);
}

void CommitQueue::complete(const CommitPtr& commit, base::Status status) {
  if (status) {
    options_.on_committed(commit->changes);
  } else {
    observe::log_error("a commit of the store failed", {{"error", status.error().message}});
    if (const CommitPtr later = std::exchange(forming_, nullptr)) {
      later->outcome = base::Status(base::Error(status.error()));
      later->done.notify_all();
    }
    options_.on_failed(status.error());
  }
  commit->outcome = std::move(status);
  commit->done.notify_all();
}

async::Task<void> CommitQueue::close() {
  closed_ = true;
  co_await tasks_.wait_empty();
  co_await thread_.run([this] { (void)file_.checkpoint(); });
  co_await tasks_.close();
}

}  // namespace agenttier::store
