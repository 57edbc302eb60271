#include "sql/transaction.h"

namespace agenttier::sql {
namespace {

// A rollback can fail only because SQLite already rolled back by itself, which is what is wanted.
void roll_back(Database& database, std::string_view sql) {
  if (!database.in_transaction()) return;
  (void)database.execute(sql);
}

base::Status run_cached(Database& database, std::string_view sql) {
  AT_TRY(auto statement, database.prepare(sql));
  return statement.run();
}

// Savepoints of one name nest: release and rollback mean the innermost.
constexpr std::string_view kSavepoint = "savepoint at_part";
constexpr std::string_view kRelease = "release at_part";
constexpr std::string_view kRollbackPart = "rollback to at_part; release at_part";

}  // namespace

base::Result<Transaction> Transaction::begin(Database& database) {
  AT_OK(run_cached(database, "begin immediate"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_) roll_back(*database_, "rollback");
}

base::Status Transaction::commit() {
  AT_ASSERT(database_);
  Database& database = *std::exchange(database_, nullptr);
  auto committed = run_cached(database, "commit");
  if (!committed) roll_back(database, "rollback");
  return committed;
}

base::Result<Savepoint> Savepoint::begin(Database& database) {
  AT_OK(run_cached(database, kSavepoint));
  return Savepoint(database);
}

Savepoint::~Savepoint() {
  if (database_) roll_back(*database_, kRollbackPart);
}

base::Status Savepoint::commit() {
  AT_ASSERT(database_);
  Database& database = *std::exchange(database_, nullptr);
  auto committed = run_cached(database, kRelease);
  if (!committed) roll_back(database, kRollbackPart);
  return committed;
}

}  // namespace agenttier::sql
