#pragma once
// A Statement is one use of a prepared statement: bind, step, read columns. When it ends, the
// prepared statement goes back to its Database's cache.
//
// bind() can be chained; an error in it is given by the next step() or run(). Parameters count from
// 1, columns from 0. Views into columns hold until the next step.
//
// Example (database_test.cc, "AStatementReadsWhatWasWritten"):
//   AT_TRY(auto select, database.prepare("select caller from audit where action = ?"));
//   select.bind(1, "create");
//   while (true) {
//     AT_TRY(const bool row, select.step());
//     if (!row) break;
//     callers.emplace_back(select.text(0));
//   }

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"

struct sqlite3_stmt;

namespace agenttier::sql {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

class Database;

class Statement {
 public:
  Statement(Database& database, StatementHandle handle);
  Statement(Statement&&) = default;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Text and blobs are copied.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, int value) { return bind(parameter, std::int64_t{value}); }
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, const char* text) {
    return bind(parameter, std::string_view(text));
  }
  Statement& bind(int parameter, std::nullptr_t);
  Statement& bind_blob(int parameter, std::string_view bytes);
  // Without a copy: `text` must hold until the statement is reset or ends.
  Statement& bind_borrowed(int parameter, std::string_view text);

  // True if there is a row, false at the end.
  base::Result<bool> step();
  // Steps to the end.
  base::Status run();
  // Ready to bind and step again.
  void reset();

  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::string_view blob(int column) const;
  bool is_null(int column) const;

 private:
  Statement& note(int code);

  Database* database_;
  StatementHandle handle_;
  int bind_code_ = 0;
};

}  // namespace agenttier::sql
