#pragma once
// A Database is one connection to an SQLite file, with the settings that make a commit durable:
// WAL journal, synchronous=FULL, foreign keys on, a busy timeout.
//
// open() creates the file (mode 0600) if it is missing and brings its schema up to date with the
// given migrations. It refuses, with an error that names the file and what to do: a file of another
// application, a schema newer than this program, a damaged file, a write-ahead log without its
// database. It never starts empty in place of data that it cannot read.
//
// Statements are prepared once and kept. Errors: kExhausted when the disk is full, kUnavailable
// when the file is locked or cannot be written, kInternal when it is damaged or the SQL is wrong.
// Not thread-safe: use a connection from one thread at a time.
//
// Example (database_test.cc, "AStatementReadsWhatWasWritten"):
//   AT_TRY(auto database, Database::open("/var/lib/x/records.db", {.application_id = kId,
//                                                                  .migrations = kMigrations}));
//   AT_TRY(auto insert, database->prepare("insert into audit(caller, action) values(?, ?)"));
//   AT_OK(insert.bind(1, caller).bind(2, action).run());

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "sql/migration.h"
#include "sql/statement.h"

struct sqlite3;

namespace agenttier::sql {

enum class Locking : std::uint8_t {
  kShared,     // other processes may read and write between transactions
  kExclusive,  // this connection alone, from open to close; a second one is refused
};
enum class Check : std::uint8_t { kNone, kQuick };  // kQuick walks all pages at open

struct DatabaseOptions {
  std::int32_t application_id = 0;  // must be that of the file; not zero
  std::span<const Migration> migrations;
  Locking locking = Locking::kShared;
  Check check = Check::kNone;
  std::chrono::milliseconds busy_time_max{5000};
  // Pages in the log after which a commit also checkpoints; zero: the owner calls checkpoint().
  int checkpoint_pages = 1000;
  std::size_t cached_statements_max = 64;
};

class Database {
 public:
  static base::Result<std::unique_ptr<Database>> open(std::string path, DatabaseOptions options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // A statement for `sql`, from the cache if there is one. It must end before the database.
  base::Result<Statement> prepare(std::string_view sql);
  // Runs one or more statements that take and give nothing.
  base::Status execute(std::string_view sql);

  // Moves the write-ahead log into the database file and makes that durable.
  base::Status checkpoint();
  int log_pages() const { return log_pages_; }  // in the log after the last commit

  std::int64_t last_insert_id() const;
  std::int64_t changes() const;
  bool in_transaction() const;
  const std::string& path() const { return path_; }

  // The error of an SQLite result code, worded for `step`.
  base::Error error(int code, std::string_view step) const;

 private:
  friend class Statement;
  Database(std::string path, DatabaseOptions options);
  base::Status connect();
  base::Status configure();
  base::Status verify_file() const;
  base::Status verify_identity(std::int64_t application_id, std::int64_t version) const;
  base::Status verify_pages();
  base::Status migrate(std::int64_t version);
  base::Result<std::int64_t> read_number(std::string_view sql);
  void put_back(StatementHandle handle);
  static int on_commit(void* self, sqlite3* connection, const char* name, int pages);

  std::string path_;
  DatabaseOptions options_;
  sqlite3* connection_ = nullptr;
  int log_pages_ = 0;
  std::unordered_map<std::string, std::vector<StatementHandle>> idle_;
  std::size_t idle_count_ = 0;
};

}  // namespace agenttier::sql
