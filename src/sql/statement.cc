#include "sql/statement.h"

#include <sqlite3.h>

#include <utility>

#include "sql/database.h"

namespace agenttier::sql {

void FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(Database& database, StatementHandle handle)
    : database_(&database), handle_(std::move(handle)) {}

Statement::~Statement() {
  if (!handle_) return;
  reset();
  database_->put_back(std::move(handle_));
}

Statement& Statement::note(int code) {
  if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  return note(sqlite3_bind_int64(handle_.get(), parameter, value));
}

Statement& Statement::bind(int parameter, double value) {
  return note(sqlite3_bind_double(handle_.get(), parameter, value));
}

Statement& Statement::bind(int parameter, std::string_view text) {
  return note(sqlite3_bind_text64(handle_.get(), parameter, text.data() ? text.data() : "",
                                  text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

Statement& Statement::bind(int parameter, std::nullptr_t) {
  return note(sqlite3_bind_null(handle_.get(), parameter));
}

Statement& Statement::bind_blob(int parameter, std::string_view bytes) {
  return note(sqlite3_bind_blob64(handle_.get(), parameter, bytes.data() ? bytes.data() : "",
                                  bytes.size(), SQLITE_TRANSIENT));
}

Statement& Statement::bind_borrowed(int parameter, std::string_view text) {
  return note(sqlite3_bind_text64(handle_.get(), parameter, text.data() ? text.data() : "",
                                  text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

base::Result<bool> Statement::step() {
  const auto step_name = [this] { return std::string_view(sqlite3_sql(handle_.get())); };
  if (bind_code_ != SQLITE_OK) return database_->error(bind_code_, step_name());
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->error(code, step_name());
}

base::Status Statement::run() {
  while (true) {
    AT_TRY(const bool row, step());
    if (!row) return {};
  }
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
  bind_code_ = SQLITE_OK;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(handle_.get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* start = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return start ? std::string_view(start, static_cast<std::size_t>(size)) : std::string_view();
}

std::string_view Statement::blob(int column) const {
  const auto* start = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return start ? std::string_view(start, static_cast<std::size_t>(size)) : std::string_view();
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

}  // namespace agenttier::sql
