#pragma once
// A Transaction makes several statements one: all of them after commit(), none otherwise. It takes
// the write lock at once, so it cannot fail later because another connection wrote. A Savepoint
// does the same for a part of a transaction. Both roll back when they end without commit().
//
// Example (transaction_test.cc, "KeepsNothingWithoutCommit"):
//   AT_TRY(auto transaction, Transaction::begin(database));
//   AT_OK(insert_order(database, order));
//   AT_OK(transaction.commit());

#include <string>
#include <utility>

#include "base/result.h"
#include "sql/database.h"

namespace agenttier::sql {

class Transaction {
 public:
  static base::Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  // Durable when it returns. After an error the transaction is rolled back.
  base::Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

class Savepoint {
 public:
  static base::Result<Savepoint> begin(Database& database);
  Savepoint(Savepoint&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Savepoint& operator=(Savepoint&&) = delete;
  ~Savepoint();

  // Keeps the changes as part of the transaction around it.
  base::Status commit();

 private:
  explicit Savepoint(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace agenttier::sql
