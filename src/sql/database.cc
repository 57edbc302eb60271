#include "sql/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sql/transaction.h"

namespace agenttier::sql {
namespace {

constexpr std::size_t kStepTextMax = 120;  // of an SQL text in an error

std::string one_line(std::string_view sql) {
  std::string text;
  for (char c : sql.substr(0, kStepTextMax)) text += (c == '\n' || c == '\t') ? ' ' : c;
  if (sql.size() > kStepTextMax) text += "...";
  return text;
}

base::ErrorCode code_of(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_FULL:
      return base::ErrorCode::kExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return base::ErrorCode::kUnavailable;
    case SQLITE_CONSTRAINT:
      return base::ErrorCode::kConflict;
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return base::ErrorCode::kDenied;
    case SQLITE_TOOBIG:
      return base::ErrorCode::kInvalid;
    default:
      return base::ErrorCode::kInternal;
  }
}

// What a person should do about it, or nothing.
std::string advice(int sqlite_code, const std::string& path) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_FULL:
      return "; free space on the disk of this file and try again";
    case SQLITE_BUSY:
      return "; another process has this file open: stop it, or use another directory";
    case SQLITE_CORRUPT:
      return "; the file is damaged: stop the program, keep a copy of " + path + " and " + path +
             "-wal, then restore a backup or run \"sqlite3 " + path + " .recover\" into a new file";
    case SQLITE_NOTADB:
      return "; the file is not an SQLite database or its start is damaged: move it away and "
             "restore a backup";
    default:
      return "";
  }
}

// Bytes of a file, or -1 if there is none.
std::int64_t file_size(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<std::int64_t>(facts.st_size) : -1;
}

base::Status create_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return base::from_errno("open database " + path, errno);
  ::close(fd);
  return {};
}

}  // namespace

Database::Database(std::string path, DatabaseOptions options)
    : path_(std::move(path)), options_(options) {}

Database::~Database() {
  idle_.clear();
  sqlite3_close_v2(connection_);
}

base::Result<std::unique_ptr<Database>> Database::open(std::string path, DatabaseOptions options) {
  AT_ASSERT(options.application_id != 0);
  std::unique_ptr<Database> database(new Database(std::move(path), options));
  AT_OK(database->verify_file());
  AT_OK(create_private(database->path_));
  AT_OK(database->connect());
  AT_OK(database->configure());
  AT_TRY(const std::int64_t id, database->read_number("pragma application_id"));
  AT_TRY(const std::int64_t version, database->read_number("pragma user_version"));
  AT_OK(database->verify_identity(id, version));
  if (options.check == Check::kQuick) AT_OK(database->verify_pages());
  AT_OK(database->migrate(version));
  return database;
}

// SQLite would drop a log that has no database, and with it what was answered as durable.
base::Status Database::verify_file() const {
  const std::string log = path_ + "-wal";
  if (file_size(path_) > 0 || file_size(log) <= 0) return {};
  return base::internal("open database " + path_ + ": the file is missing or empty, but " + log +
                        " has data that belongs to it; restore both files from a backup, or move " +
                        log + " away to start with an empty database");
}

base::Status Database::connect() {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
  const int code = sqlite3_open_v2(path_.c_str(), &connection_, flags, nullptr);
  if (code != SQLITE_OK) return error(code, "open");
  sqlite3_extended_result_codes(connection_, 1);
  sqlite3_busy_timeout(connection_, static_cast<int>(options_.busy_time_max.count()));
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_wal_hook(connection_, &Database::on_commit, this);
  return {};
}

base::Status Database::configure() {
  if (options_.locking == Locking::kExclusive) AT_OK(execute("pragma locking_mode=exclusive"));
  AT_OK(execute("pragma journal_mode=wal; pragma synchronous=full; pragma foreign_keys=on"));
  // A read takes the lock of the exclusive mode, so that a second process fails here.
  if (options_.locking == Locking::kExclusive) AT_OK(execute("begin immediate; commit"));
  return {};
}

base::Status Database::verify_identity(std::int64_t application_id, std::int64_t version) const {
  const std::string step = "open database " + path_ + ": ";
  if (application_id != 0 && application_id != options_.application_id) {
    return base::conflict(step + "the file belongs to another application (id " +
                          std::to_string(application_id) + ", expected " +
                          std::to_string(options_.application_id) + "); use another directory");
  }
  if (application_id == 0 && version != 0) {
    return base::conflict(step + "the file belongs to another application; use another directory");
  }
  const auto known = static_cast<std::int64_t>(options_.migrations.size());
  if (version > known) {
    return base::conflict(step + "its schema version is " + std::to_string(version) +
                          ", this program knows versions up to " + std::to_string(known) +
                          "; use the newer program, or restore a backup made by this one");
  }
  return {};
}

base::Status Database::verify_pages() {
  AT_TRY(auto check, prepare("pragma quick_check(1)"));
  AT_TRY(const bool row, check.step());
  if (row && check.text(0) != "ok") {
    return error(SQLITE_CORRUPT, "check pages: " + std::string(check.text(0)));
  }
  return {};
}

base::Status Database::migrate(std::int64_t version) {
  std::int64_t expected = 0;
  for (const Migration& migration : options_.migrations) {
    AT_ASSERT(migration.version == ++expected);
    if (migration.version <= version) continue;
    AT_TRY(auto transaction, Transaction::begin(*this));
    auto done = execute(migration.sql);
    if (!done) return std::move(done).error().context("migration " + std::string(migration.name));
    AT_OK(execute("pragma user_version=" + std::to_string(migration.version) +
                  "; pragma application_id=" + std::to_string(options_.application_id)));
    AT_OK(transaction.commit());
  }
  return {};
}

base::Result<std::int64_t> Database::read_number(std::string_view sql) {
  AT_TRY(auto statement, prepare(sql));
  AT_TRY(const bool row, statement.step());
  return row ? statement.integer(0) : std::int64_t{0};
}

base::Result<Statement> Database::prepare(std::string_view sql) {
  const auto cached = idle_.find(std::string(sql));
  if (cached != idle_.end() && !cached->second.empty()) {
    StatementHandle handle = std::move(cached->second.back());
    cached->second.pop_back();
    --idle_count_;
    return Statement(*this, std::move(handle));
  }
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(connection_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return error(code, sql);
  AT_ASSERT(raw != nullptr);
  return Statement(*this, StatementHandle(raw));
}

void Database::put_back(StatementHandle handle) {
  if (idle_count_ >= options_.cached_statements_max) return;
  idle_[sqlite3_sql(handle.get())].push_back(std::move(handle));
  ++idle_count_;
}

base::Status Database::execute(std::string_view sql) {
  const std::string text(sql);
  const int code = sqlite3_exec(connection_, text.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code, sql);
  return {};
}

base::Status Database::checkpoint() {
  int left = 0;
  const int code =
      sqlite3_wal_checkpoint_v2(connection_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &left, nullptr);
  if (code != SQLITE_OK) return error(code, "checkpoint");
  log_pages_ = 0;
  return {};
}

int Database::on_commit(void* self, sqlite3* /*connection*/, const char* /*name*/, int pages) {
  auto& database = *static_cast<Database*>(self);
  database.log_pages_ = pages;
  const int limit = database.options_.checkpoint_pages;
  // The commit stands whatever becomes of the checkpoint, which the next commit tries again.
  if (limit > 0 && pages >= limit) (void)database.checkpoint();
  return SQLITE_OK;
}

std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(connection_);
}
std::int64_t Database::changes() const {
  return sqlite3_changes64(connection_);
}
bool Database::in_transaction() const {
  return sqlite3_get_autocommit(connection_) == 0;
}

base::Error Database::error(int code, std::string_view step) const {
  std::string detail = sqlite3_errstr(code);
  if (connection_ && (sqlite3_extended_errcode(connection_) & 0xFF) == (code & 0xFF)) {
    detail = sqlite3_errmsg(connection_);
  }
  return {
      .code = code_of(code),
      .message = "database " + path_ + ": " + one_line(step) + ": " + detail + advice(code, path_),
      .reason = {},
      .causes = {},
      .retry_after = {}};
}

}  // namespace agenttier::sql
