#pragma once
// The AuditLog keeps audit records durably, in the order in which they were appended.
//
// Guarantees: append() never waits and never fails the request it stands for; run() writes what has
// gathered in one transaction. When the disk does not follow, at most `queue_max` records wait;
// further ones are dropped and counted, and the log says so itself in a record with the action
// "audit.dropped" and their number. Records older than `age_max` and beyond `rows_max` go, a few at
// a time. Text that is too long is cut.
// Loop thread only. After run() has ended (it writes what waits when it is cancelled) nothing is
// written any more.
//
// Example (records/audit_log_test.cc):
//   AT_TRY(auto log, AuditLog::open(executor, timers, dir + "/audit.db", {}));
//   AT_CO_OK(group.spawn(log->run()));
//   log->append({.actor = caller.sub, .action = "sandbox.create", .resource = "sandboxes/demo"});
//   AT_CO_TRY(AuditPage page, co_await log->query({.sandbox = "demo"}));

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "async/blocking_pool.h"
#include "async/event.h"
#include "async/timers.h"
#include "records/audit_record.h"
#include "records/audit_table.h"

namespace agenttier::records {

struct AuditLogOptions {
  std::size_t queue_max = 10'000;
  std::size_t batch_max = 500;
  // How long run() waits for more records before it writes: fewer writes to the disk.
  std::chrono::milliseconds gather_time{50};
  std::chrono::hours age_max{24 * 90};
  std::int64_t rows_max = 1'000'000;
  std::chrono::minutes prune_interval{10};
};

class AuditLog {
 public:
  // Blocks: for the start of a program.
  static base::Result<std::unique_ptr<AuditLog>> open(async::Executor executor,
                                                      async::Timers& timers, std::string path,
                                                      AuditLogOptions options);
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // The id is given later; the time is now unless it is set.
  void append(AuditRecord record);
  // Writes until cancelled.
  async::Task<void> run();
  // Reads what has been written; kInvalid if the limit is 0 or over kAuditPageMax.
  async::Task<base::Result<AuditPage>> query(AuditQuery query);

  std::size_t queued() const { return queue_.size(); }
  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t written() const { return written_; }

 private:
  AuditLog(async::Executor executor, async::Timers& timers, std::unique_ptr<AuditTable> table,
           AuditLogOptions options);
  async::Task<bool> write_batch();
  async::Task<bool> prune_if_due();
  std::vector<AuditRecord> next_batch() const;
  AuditRecord drop_notice() const;

  async::Timers& timers_;
  const AuditLogOptions options_;
  std::unique_ptr<AuditTable> table_;
  async::Event arrived_;
  std::deque<AuditRecord> queue_;
  std::uint64_t dropped_ = 0;
  std::uint64_t dropped_told_ = 0;  // of them, those that a record tells of
  std::uint64_t written_ = 0;
  base::MonotonicTime pruned_at_{};
  async::BlockingPool thread_{1};  // the only one that touches the table
};

}  // namespace agenttier::records
