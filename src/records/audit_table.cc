#include "records/audit_table.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "sql/migration.h"
#include "sql/transaction.h"

namespace agenttier::records {
namespace {

constexpr std::int32_t kApplicationId = 0x41544155;  // "ATAU"

constexpr std::array kMigrations = {
    sql::Migration{1, "create audit", R"sql(
      create table audit (
        id integer primary key autoincrement,
        time integer not null,
        actor text not null,
        action text not null,
        resource text not null,
        sandbox text not null,
        sandbox_uid text not null,
        outcome integer not null,
        request_id text not null,
        details text not null
      ) strict;
      create index audit_by_time on audit (time);
      create index audit_by_actor on audit (actor, id);
      create index audit_by_sandbox on audit (sandbox, id);
    )sql"},
};

std::int64_t micros_of(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

base::WallTime time_of(std::int64_t micros) {
  return base::WallTime(
      std::chrono::duration_cast<base::WallTime::duration>(std::chrono::microseconds(micros)));
}

Outcome outcome_of(std::int64_t number) {
  switch (number) {
    case 0:
      return Outcome::kDone;
    case 1:
      return Outcome::kDenied;
    default:
      return Outcome::kFailed;
  }
}

// A condition of a query, and what binds to it.
struct Conditions {
  std::string sql;
  std::vector<std::string> texts;
  std::vector<std::int64_t> numbers;

  void equal(std::string_view column, const std::string& value) {
    if (value.empty()) return;
    sql += " and " + std::string(column) + " = ?";
    texts.push_back(value);
  }
};

// Texts come before numbers, so that parameters are counted simply.
Conditions conditions_of(const AuditQuery& query) {
  Conditions conditions;
  conditions.equal("actor", query.actor);
  conditions.equal("action", query.action);
  conditions.equal("sandbox", query.sandbox);
  conditions.equal("sandbox_uid", query.sandbox_uid);
  const auto number = [&](std::string_view condition, std::int64_t value) {
    conditions.sql += " and " + std::string(condition);
    conditions.numbers.push_back(value);
  };
  if (query.not_before) number("time >= ?", micros_of(*query.not_before));
  if (query.before) number("time < ?", micros_of(*query.before));
  if (query.page_token > 0) number("id < ?", query.page_token);
  return conditions;
}

AuditRecord read_row(const sql::Statement& row) {
  AuditRecord record;
  record.id = row.integer(0);
  record.time = time_of(row.integer(1));
  record.actor = row.text(2);
  record.action = row.text(3);
  record.resource = row.text(4);
  record.sandbox = row.text(5);
  record.sandbox_uid = row.text(6);
  record.outcome = outcome_of(row.integer(7));
  record.request_id = row.text(8);
  record.details = row.text(9);
  return record;
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "done";
    case Outcome::kDenied:
      return "denied";
    case Outcome::kFailed:
      return "failed";
  }
  return "failed";
}

base::Result<std::unique_ptr<AuditTable>> AuditTable::open(std::string path) {
  sql::DatabaseOptions options;
  options.application_id = kApplicationId;
  options.migrations = kMigrations;
  auto database = sql::Database::open(std::move(path), options);
  if (!database) return std::move(database).error().context("open the audit records");
  return std::unique_ptr<AuditTable>(new AuditTable(*std::move(database)));
}

base::Status AuditTable::insert(const std::vector<AuditRecord>& records) {
  AT_TRY(auto transaction, sql::Transaction::begin(*database_));
  {
    AT_TRY(auto insert,
           database_->prepare("insert into audit(time, actor, action, resource, sandbox, "
                              "sandbox_uid, outcome, request_id, details) "
                              "values (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const AuditRecord& record : records) {
      insert.reset();
      insert.bind(1, micros_of(record.time))
          .bind(2, record.actor)
          .bind(3, record.action)
          .bind(4, record.resource)
          .bind(5, record.sandbox)
          .bind(6, record.sandbox_uid)
          .bind(7, static_cast<std::int64_t>(record.outcome))
          .bind(8, record.request_id)
          .bind(9, record.details);
      AT_OK(insert.run());
    }
  }
  return transaction.commit();
}

base::Result<AuditPage> AuditTable::select(const AuditQuery& query) {
  const Conditions conditions = conditions_of(query);
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, kAuditPageMax);
  AT_TRY(auto select, database_->prepare("select id, time, actor, action, resource, sandbox, "
                                         "sandbox_uid, outcome, request_id, details "
                                         "from audit where true" +
                                         conditions.sql + " order by id desc limit ?"));
  int parameter = 0;
  for (const std::string& text : conditions.texts) select.bind(++parameter, text);
  for (const std::int64_t number : conditions.numbers) select.bind(++parameter, number);
  select.bind(++parameter, std::int64_t{limit} + 1);
  AuditPage page;
  for (;;) {
    AT_TRY(const bool row, select.step());
    if (!row) return page;
    if (page.records.size() == limit) break;
    page.records.push_back(read_row(select));
  }
  page.next_page_token = page.records.back().id;
  return page;
}

base::Result<std::int64_t> AuditTable::prune(base::WallTime time, std::int64_t rows_max,
                                             std::int64_t step_max) {
  // Ids have no gaps but at the old end, so the newest id tells how many rows are kept.
  AT_TRY(auto remove,
         database_->prepare("delete from audit where id in (select id from audit where time < ? or "
                            "id <= (select coalesce(max(id), 0) from audit) - ? "
                            "order by id limit ?)"));
  remove.bind(1, micros_of(time)).bind(2, rows_max).bind(3, step_max);
  AT_OK(remove.run());
  return database_->changes();
}

}  // namespace agenttier::records
