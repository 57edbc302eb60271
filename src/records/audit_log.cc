#include "records/audit_log.h"

#include <algorithm>
#include <utility>

#include "async/time_limit.h"
#include "base/bytes.h"
#include "observe/log.h"

namespace agenttier::records {
namespace {

constexpr std::size_t kTextBytesMax = 512;
constexpr std::size_t kDetailsBytesMax = 8192;
constexpr std::int64_t kPruneStep = 2000;
constexpr std::chrono::milliseconds kRetryFirst{200};
constexpr std::chrono::milliseconds kRetryMax{10'000};

void shorten(std::string& text, std::size_t bytes_max) {
  if (text.size() > bytes_max) text.resize(bytes_max);
  if (!base::is_valid_utf8(text)) text = base::to_valid_utf8(text);
}

}  // namespace

base::Result<std::unique_ptr<AuditLog>> AuditLog::open(async::Executor executor,
                                                       async::Timers& timers, std::string path,
                                                       AuditLogOptions options) {
  AT_TRY(auto table, AuditTable::open(std::move(path)));
  return std::unique_ptr<AuditLog>(
      new AuditLog(std::move(executor), timers, std::move(table), options));
}

AuditLog::AuditLog(async::Executor executor, async::Timers& timers,
                   std::unique_ptr<AuditTable> table, AuditLogOptions options)
    : timers_(timers),
      options_(options),
      table_(std::move(table)),
      arrived_(std::move(executor)),
      pruned_at_(timers.clock().monotonic() - options.prune_interval) {}

void AuditLog::append(AuditRecord record) {
  if (queue_.size() >= options_.queue_max) {
    if (dropped_++ == dropped_told_) observe::log_error("audit records are dropped: queue is full");
    return;
  }
  if (record.time == base::WallTime{}) record.time = timers_.clock().now();
  for (std::string* text : {&record.actor, &record.action, &record.resource, &record.sandbox,
                            &record.sandbox_uid, &record.request_id}) {
    shorten(*text, kTextBytesMax);
  }
  // Half a JSON text would be worse than none.
  if (record.details.size() > kDetailsBytesMax) record.details = R"({"cut":true})";
  shorten(record.details, kDetailsBytesMax);
  queue_.push_back(std::move(record));
  arrived_.notify_all();
}

async::Task<void> AuditLog::run() {
  std::chrono::milliseconds retry = kRetryFirst;
  while (!co_await async::is_cancelled()) {
    if (queue_.empty() && dropped_ == dropped_told_) {
      if (co_await prune_if_due()) continue;
      if (queue_.empty() && dropped_ == dropped_told_) {
        (void)co_await async::wait_or_sleep(arrived_, timers_, options_.prune_interval);
      }
      if (queue_.empty() || queue_.size() >= options_.batch_max) continue;
      if (co_await async::is_cancelled()) break;
      co_await timers_.sleep_for(options_.gather_time);
    }
    if (co_await async::is_cancelled()) break;
    if (co_await write_batch()) {
      retry = kRetryFirst;
      continue;
    }
    if (co_await async::is_cancelled()) break;
    co_await timers_.sleep_for(retry);
    retry = std::min(retry * 2, kRetryMax);
  }
  // What still waits is written before the end, unless the disk refuses.
  while (!queue_.empty()) {
    if (!co_await write_batch()) co_return;
  }
}

AuditRecord AuditLog::drop_notice() const {
  AuditRecord notice;
  notice.time = timers_.clock().now();
  notice.action = "audit.dropped";
  notice.outcome = Outcome::kFailed;
  notice.details = R"({"records":)" + std::to_string(dropped_ - dropped_told_) + "}";
  return notice;
}

std::vector<AuditRecord> AuditLog::next_batch() const {
  const std::size_t count = std::min(queue_.size(), options_.batch_max);
  std::vector<AuditRecord> batch(queue_.begin(),
                                 queue_.begin() + static_cast<std::ptrdiff_t>(count));
  // Behind what waits: that came before what was dropped.
  if (dropped_ != dropped_told_ && count == queue_.size()) batch.push_back(drop_notice());
  return batch;
}

async::Task<bool> AuditLog::write_batch() {
  std::vector<AuditRecord> batch = next_batch();
  const std::size_t from_queue = std::min(queue_.size(), batch.size());
  const bool tells = batch.size() > from_queue;
  const std::uint64_t dropped = dropped_;
  const auto status = co_await thread_.run(
      [table = table_.get(), records = std::move(batch)] { return table->insert(records); });
  if (!status) {
    observe::log_error("audit records cannot be written", {{"error", status.error().message}});
    co_return false;
  }
  if (tells) dropped_told_ = dropped;
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(from_queue));
  written_ += from_queue;
  co_return true;
}

// True if there is more to remove.
async::Task<bool> AuditLog::prune_if_due() {
  const base::MonotonicTime now = timers_.clock().monotonic();
  if (now - pruned_at_ < options_.prune_interval) co_return false;
  const base::WallTime oldest = timers_.clock().now() - options_.age_max;
  const auto pruned = co_await thread_.run([table = table_.get(), oldest, max = options_.rows_max] {
    return table->prune(oldest, max, kPruneStep);
  });
  if (!pruned) {
    observe::log_error("audit records cannot be pruned", {{"error", pruned.error().message}});
  }
  const bool more = pruned && *pruned == kPruneStep;
  if (!more) pruned_at_ = now;
  co_return more;
}

async::Task<base::Result<AuditPage>> AuditLog::query(AuditQuery query) {
  if (query.limit == 0 || query.limit > kAuditPageMax) {
    co_return base::invalid_field("limit", "must be 1 to " + std::to_string(kAuditPageMax));
  }
  auto page = co_await thread_.run(
      [table = table_.get(), query = std::move(query)] { return table->select(query); });
  if (!page) co_return std::move(page).error().context("read the audit records");
  co_return page;
}

}  // namespace agenttier::records
