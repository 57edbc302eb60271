#include "kube/work_queue.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "async/time_limit.h"
#include "observe/log.h"

namespace agenttier::kube {
namespace {

constexpr int kDoublingsMax = 40;

std::chrono::nanoseconds delay_of(const BackoffLimits& limits, int failures, base::Random& random) {
  auto full = limits.first;
  for (int i = 0; i < std::min(failures, kDoublingsMax) && full < limits.max; ++i) full *= 2;
  full = std::min(full, limits.max);
  const double part = 0.5 + random.unit() / 2;
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(full.count()) * part));
}

}  // namespace

WorkQueue::WorkQueue(async::Executor executor, async::Timers& timers, base::Random& random,
                     WorkQueueOptions options)
    : timers_(timers),
      random_(random),
      options_(std::move(options)),
      executor_(executor),
      changed_(std::move(executor)) {}

bool WorkQueue::known(const ObjectKey& key) const {
  return waiting_.contains(key) || running_.contains(key) || delayed_.contains(key);
}

base::Status WorkQueue::check_room(const ObjectKey& key) {
  if (shutdown_) return base::cancelled(options_.name + ": stopping");
  const std::size_t total = waiting_.size() + running_.size() + delayed_.size();
  if (total < options_.keys_max || known(key)) return {};
  if (dropped_++ == 0) observe::log_error("work queue is full", {{"queue", options_.name}});
  return base::exhausted(options_.name + ": the queue is full");
}

base::Status WorkQueue::add(const ObjectKey& key) {
  AT_OK(check_room(key));
  remove_delay(key);
  if (!waiting_.insert(key).second) return {};
  if (running_.contains(key)) return {};  // finish() makes it ready
  ready_.push_back(key);
  changed_.notify_all();
  return {};
}

base::Status WorkQueue::add_after(const ObjectKey& key, std::chrono::nanoseconds delay) {
  if (delay.count() <= 0) return add(key);
  AT_OK(check_room(key));
  if (waiting_.contains(key)) return {};  // sooner than any delay
  const auto step = std::chrono::duration_cast<base::MonotonicTime::duration>(delay);
  const auto due = timers_.clock().monotonic() + step;
  const auto found = delayed_.find(key);
  if (found != delayed_.end() && found->second <= due) return {};
  remove_delay(key);
  delayed_.emplace(key, due);
  due_.emplace(due, key);
  changed_.notify_all();
  return {};
}

base::Status WorkQueue::add_backoff(const ObjectKey& key) {
  AT_OK(check_room(key));
  return add_after(key, delay_of(options_.backoff, failures_[key]++, random_));
}

void WorkQueue::forget(const ObjectKey& key) {
  failures_.erase(key);
}

int WorkQueue::failures(const ObjectKey& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

void WorkQueue::remove_delay(const ObjectKey& key) {
  const auto found = delayed_.find(key);
  if (found == delayed_.end()) return;
  due_.erase({found->second, key});
  delayed_.erase(found);
}

void WorkQueue::shutdown() {
  shutdown_ = true;
  changed_.notify_all();
}

async::Task<void> WorkQueue::run(Work work) {
  async::TaskGroup group(executor_, {.name = options_.name, .tasks_max = 2 * options_.workers});
  bool cancelled = co_await async::is_cancelled();
  while (!shutdown_ && !cancelled) {
    take_due();
    start_ready(work, group);
    cancelled = co_await wait_for_work() == async::Wake::kCancelled;
  }
  if (cancelled) {
    co_await group.close();
  } else {
    co_await group.wait_empty();
  }
}

async::Task<async::Wake> WorkQueue::wait_for_work() {
  if (due_.empty()) co_return co_await changed_.wait();
  const auto left = due_.begin()->first - timers_.clock().monotonic();
  co_return co_await async::wait_or_sleep(changed_, timers_, left);
}

void WorkQueue::take_due() {
  const auto now = timers_.clock().monotonic();
  while (!due_.empty() && due_.begin()->first <= now) {
    const ObjectKey key = due_.begin()->second;
    remove_delay(key);
    if (!waiting_.insert(key).second) continue;
    if (!running_.contains(key)) ready_.push_back(key);
  }
}

void WorkQueue::start_ready(const Work& work, async::TaskGroup& group) {
  while (!ready_.empty() && running_.size() < options_.workers) {
    const ObjectKey key = std::move(ready_.front());
    ready_.pop_front();
    waiting_.erase(key);
    running_.insert(key);
    const auto spawned = group.spawn(work_on(work, key));
    AT_ASSERT(spawned.has_value());
  }
}

async::Task<void> WorkQueue::work_on(Work work, ObjectKey key) {
  // Lets the loop breathe between keys whose work awaits nothing.
  co_await boost::asio::post(executor_, boost::asio::use_awaitable);
  base::Result<Requeue> result = base::internal("the work ended by an exception");
  try {
    result = co_await work(key);
  } catch (const std::exception& failure) {
    // A key whose work throws must not stay "being worked on" for ever.
    result = base::internal(std::string("the work ended by an exception: ") + failure.what());
  }
  finish(key, result);
}

void WorkQueue::finish(const ObjectKey& key, const base::Result<Requeue>& result) {
  running_.erase(key);
  changed_.notify_all();
  if (shutdown_) return;
  if (waiting_.contains(key)) ready_.push_back(key);
  if (result) {
    forget(key);
    if (*result) (void)add_after(key, **result);
    return;
  }
  const base::Error& error = result.error();
  auto delay = delay_of(options_.backoff, failures_[key]++, random_);
  if (error.retry_after) delay = std::max<std::chrono::nanoseconds>(delay, *error.retry_after);
  observe::log_warning("work failed and will be retried", {{"queue", options_.name},
                                                           {"key", key.text()},
                                                           {"failures", failures_[key]},
                                                           {"error", error.message}});
  (void)add_after(key, delay);
}

}  // namespace agenttier::kube
