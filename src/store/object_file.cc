#include "store/object_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <utility>

#include "sql/transaction.h"

namespace agenttier::store {
namespace {

constexpr std::int32_t kApplicationId = 0x41545331;  // "ATS1"
// From the first length on the log is moved into the database when no write waits, from the second
// on by the commit itself.
constexpr int kCheckpointPages = 1000;
constexpr int kCheckpointPagesForced = 8000;

constexpr sql::Migration kMigrations[] = {
    {1, "create objects", R"sql(
      create table objects(
        id integer primary key,
        kind text not null,
        namespace text not null,
        name text not null,
        version integer not null,
        written_at integer not null,
        body text not null,
        unique(kind, namespace, name));
      create table state(
        id integer primary key check(id = 1),
        version integer not null);
      insert into state(id, version) values(1, 1);
    )sql"},
};

std::string kind_column(const Resource& resource) {
  const std::string plural(resource.type.plural);
  return resource.type.group.empty() ? plural : std::string(resource.type.group) + "/" + plural;
}

const Resource* find_by_column(std::string_view column) {
  for (const Resource& resource : all_resources()) {
    if (kind_column(resource) == column) return &resource;
  }
  return nullptr;
}

base::Status make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return base::from_errno("create directory " + directory, errno);
}

}  // namespace

base::Result<std::unique_ptr<ObjectFile>> ObjectFile::open(const std::string& directory) {
  AT_OK(make_directory(directory));
  sql::DatabaseOptions options;
  options.application_id = kApplicationId;
  options.migrations = kMigrations;
  options.locking = sql::Locking::kExclusive;
  options.check = sql::Check::kQuick;
  options.checkpoint_pages = kCheckpointPagesForced;
  AT_TRY(auto database, sql::Database::open(directory + "/store.db", options));
  return std::unique_ptr<ObjectFile>(new ObjectFile(std::move(database)));
}

base::Result<LoadedObjects> ObjectFile::load() {
  LoadedObjects loaded;
  AT_TRY(auto state, database_->prepare("select version from state"));
  AT_TRY(const bool has_state, state.step());
  if (!has_state) {
    return base::internal("database " + database_->path() +
                          ": the version counter is missing; restore a backup");
  }
  loaded.version = static_cast<std::uint64_t>(state.integer(0));
  AT_TRY(auto rows, database_->prepare("select id, kind, version, written_at, body from objects"));
  while (true) {
    AT_TRY(const bool row, rows.step());
    if (!row) return loaded;
    const Resource* resource = find_by_column(rows.text(1));
    if (!resource) {
      return base::conflict("database " + database_->path() + ": it has objects of the kind " +
                            std::string(rows.text(1)) +
                            ", which this program does not know; use the newer program");
    }
    const ObjectIdentity identity{resource, rows.integer(0),
                                  static_cast<std::uint64_t>(rows.integer(2)), rows.integer(3)};
    auto object = restore_object(identity, std::string(rows.text(4)));
    if (!object) return std::move(object).error().context("database " + database_->path());
    loaded.last_row = std::max(loaded.last_row, identity.row);
    loaded.objects.push_back(*std::move(object));
  }
}

base::Status ObjectFile::commit(std::span<const Change> changes, std::uint64_t version) {
  std::unordered_map<std::int64_t, const Change*> last;
  for (const Change& change : changes) last[change.after->row] = &change;
  AT_TRY(auto transaction, sql::Transaction::begin(*database_));
  // Deletions first: a name may be given away and taken in one commit.
  for (const Change& change : changes) {
    if (last[change.after->row] != &change || change.kind != ChangeKind::kDeleted) continue;
    AT_OK(erase(change.after->row));
  }
  for (const Change& change : changes) {
    if (last[change.after->row] != &change || change.kind == ChangeKind::kDeleted) continue;
    AT_OK(write(*change.after));
  }
  AT_OK(write_version(version));
  return transaction.commit();
}

base::Status ObjectFile::write(const StoredObject& object) {
  AT_TRY(auto upsert,
         database_->prepare("insert into objects(id, kind, namespace, name, version, written_at, "
                            "body) values(?, ?, ?, ?, ?, ?, ?) on conflict(id) do update set "
                            "version = excluded.version, written_at = excluded.written_at, "
                            "body = excluded.body"));
  upsert.bind(1, object.row).bind(2, kind_column(*object.resource));
  upsert.bind_borrowed(3, object.ns).bind_borrowed(4, object.name);
  upsert.bind(5, static_cast<std::int64_t>(object.version)).bind(6, object.written_at);
  return upsert.bind_borrowed(7, object.text).run();
}

base::Status ObjectFile::erase(std::int64_t row) {
  AT_TRY(auto statement, database_->prepare("delete from objects where id = ?"));
  return statement.bind(1, row).run();
}

base::Status ObjectFile::write_version(std::uint64_t version) {
  AT_TRY(auto statement, database_->prepare("update state set version = ?"));
  return statement.bind(1, static_cast<std::int64_t>(version)).run();
}

bool ObjectFile::log_is_long() const {
  return database_->log_pages() >= kCheckpointPages;
}

base::Status ObjectFile::checkpoint() {
  return database_->checkpoint();
}

}  // namespace agenttier::store
