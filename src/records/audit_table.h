#pragma once
// The table of audit records in an SQLite file. It blocks: AuditLog calls it on a thread of its
// own. What insert() has answered is durable; the order of the table is that of the inserts.
// Values from callers are bound, never part of the SQL.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "records/audit_record.h"
#include "sql/database.h"

namespace agenttier::records {

class AuditTable {
 public:
  static base::Result<std::unique_ptr<AuditTable>> open(std::string path);

  // All or none, in order.
  base::Status insert(const std::vector<AuditRecord>& records);
  base::Result<AuditPage> select(const AuditQuery& query);
  // Removes records from before `time` and all but the newest `rows_max`, at most `step_max` of
  // them; gives how many went.
  base::Result<std::int64_t> prune(base::WallTime time, std::int64_t rows_max,
                                   std::int64_t step_max);

 private:
  explicit AuditTable(std::unique_ptr<sql::Database> database) : database_(std::move(database)) {}

  std::unique_ptr<sql::Database> database_;
};

}  // namespace agenttier::records
