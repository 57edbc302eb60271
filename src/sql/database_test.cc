#include "sql/database.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sql/transaction.h"

namespace agenttier::sql {
namespace {

constexpr std::int32_t kId = 0x41545401;
constexpr Migration kFirst[] = {
    {1, "create audit", "create table audit(caller text, action text)"}};
constexpr Migration kSecond[] = {
    {1, "create audit", "create table audit(caller text, action text)"},
    {2, "add time", "alter table audit add column at integer not null default 7"}};
constexpr Migration kBroken[] = {
    {1, "create audit", "create table audit(caller text, action text)"},
    {2, "half", "create table other(x); this is no sql"}};

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "at_sql_XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    path_ = directory_ + "/records.db";
  }
  ~DatabaseTest() override { std::filesystem::remove_all(directory_); }

  base::Result<std::unique_ptr<Database>> open(std::span<const Migration> migrations = kFirst,
                                               DatabaseOptions options = {}) {
    options.application_id = options.application_id ? options.application_id : kId;
    options.migrations = migrations;
    options.busy_time_max = std::chrono::milliseconds(20);
    return Database::open(path_, options);
  }
  static void add(Database& database, std::string_view caller) {
    auto insert = database.prepare("insert into audit(caller, action) values(?, ?)");
    ASSERT_TRUE(insert) << insert.error().message;
    ASSERT_TRUE(insert->bind(1, caller).bind(2, "create").run());
  }
  static std::vector<std::string> callers(Database& database) {
    std::vector<std::string> found;
    auto select = database.prepare("select caller from audit where action = ? order by rowid");
    select->bind(1, "create");
    while (select->step().value()) found.emplace_back(select->text(0));
    return found;
  }
  void overwrite(std::streamoff at, std::size_t count) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << std::string(count, '\xA5');
  }

  std::string directory_;
  std::string path_;
};

using Names = std::vector<std::string>;

TEST_F(DatabaseTest, AStatementReadsWhatWasWritten) {
  auto database = open().value();
  add(*database, "ann");
  add(*database, "");
  EXPECT_EQ(callers(*database), (Names{"ann", ""}));
}

TEST_F(DatabaseTest, KeepsWhatWasCommittedAfterAReopen) {
  { add(*open().value(), "ann"); }
  EXPECT_EQ(callers(*open().value()), Names{"ann"});
}

TEST_F(DatabaseTest, KeepsWhatWasCommittedInACopyOfTheFilesOfALiveDatabase) {
  auto database = open().value();
  add(*database, "ann");
  const std::string copy = directory_ + "/copy.db";
  std::filesystem::copy_file(path_, copy);
  std::filesystem::copy_file(path_ + "-wal", copy + "-wal");
  auto reopened = Database::open(copy, {.application_id = kId, .migrations = kFirst});
  ASSERT_TRUE(reopened) << reopened.error().message;
  EXPECT_EQ(callers(**reopened), Names{"ann"});
}

TEST_F(DatabaseTest, IsReadableByItsOwnerOnly) {
  auto database = open().value();
  add(*database, "ann");
  for (const std::string& file : {path_, path_ + "-wal"}) {
    struct stat facts {};
    ASSERT_EQ(::stat(file.c_str(), &facts), 0) << file;
    EXPECT_EQ(facts.st_mode & 0777U, 0600U) << file;
  }
}

TEST_F(DatabaseTest, RunsOnlyTheMigrationsThatAreMissing) {
  { add(*open(kFirst).value(), "ann"); }
  auto database = open(kSecond).value();
  auto select = database->prepare("select at from audit").value();
  ASSERT_TRUE(select.step().value());
  EXPECT_EQ(select.integer(0), 7);
}

TEST_F(DatabaseTest, LeavesNothingOfAFailedMigration) {
  { add(*open(kFirst).value(), "ann"); }
  const auto failed = open(kBroken);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("migration half"), std::string::npos);
  auto database = open(kFirst).value();
  EXPECT_EQ(callers(*database), Names{"ann"});
  EXPECT_FALSE(database->prepare("select * from other"));
}

TEST_F(DatabaseTest, RefusesANewerSchema) {
  { (void)open(kSecond).value(); }
  const auto refused = open(kFirst);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kConflict);
  EXPECT_NE(refused.error().message.find(path_), std::string::npos);
  EXPECT_NE(refused.error().message.find("schema version is 2"), std::string::npos);
}

TEST_F(DatabaseTest, RefusesTheFileOfAnotherApplication) {
  { (void)open(kFirst, {.application_id = 77}).value(); }
  const auto refused = open(kFirst);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another application"), std::string::npos);
}

TEST_F(DatabaseTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(path_) << std::string(8192, 'x');
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(path_), std::string::npos);
  EXPECT_NE(refused.error().message.find("restore a backup"), std::string::npos);
}

TEST_F(DatabaseTest, FindsADamagedPageAndSaysWhatToDo) {
  {
    auto database = open().value();
    for (int i = 0; i < 2000; ++i) add(*database, "caller number " + std::to_string(i));
    ASSERT_TRUE(database->checkpoint());
  }
  overwrite(3 * 4096, 4096);
  const auto refused = open(kFirst, {.check = Check::kQuick});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kInternal);
  EXPECT_NE(refused.error().message.find(".recover"), std::string::npos) << refused.error().message;
}

TEST_F(DatabaseTest, RefusesALogWithoutItsDatabase) {
  std::ofstream(path_ + "-wal") << "left over";
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("-wal has data"), std::string::npos);
}

TEST_F(DatabaseTest, AnExclusiveOneRefusesASecondUser) {
  auto first = open(kFirst, {.locking = Locking::kExclusive}).value();
  const auto second = open(kFirst, {.locking = Locking::kExclusive});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find("another process"), std::string::npos);
}

TEST_F(DatabaseTest, SaysThatTheDiskIsFull) {
  auto database = open().value();
  ASSERT_TRUE(database->execute("pragma max_page_count=4"));
  base::Status last;
  for (int i = 0; i < 100 && last; ++i) {
    auto insert = database->prepare("insert into audit(caller) values(?)").value();
    last = insert.bind(1, std::string(4000, 'x')).run();
  }
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, base::ErrorCode::kExhausted);
  EXPECT_NE(last.error().message.find("free space"), std::string::npos);
}

TEST_F(DatabaseTest, AnErrorNamesTheFileAndTheStatement) {
  auto database = open().value();
  const auto failed = database->prepare("select missing from audit");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find(path_ + ": select missing from audit: no such column"),
            std::string::npos)
      << failed.error().message;
}

TEST_F(DatabaseTest, AStatementInUseDoesNotBlockASecondOne) {
  auto database = open().value();
  add(*database, "ann");
  add(*database, "bob");
  auto outer = database->prepare("select caller from audit order by rowid").value();
  ASSERT_TRUE(outer.step().value());
  auto inner = database->prepare("select caller from audit order by rowid").value();
  ASSERT_TRUE(inner.step().value());
  ASSERT_TRUE(outer.step().value());
  EXPECT_EQ(outer.text(0), "bob");
  EXPECT_EQ(inner.text(0), "ann");
}

TEST_F(DatabaseTest, ABadParameterIsAnErrorOfTheStep) {
  auto database = open().value();
  auto insert = database->prepare("insert into audit(caller) values(?)").value();
  EXPECT_FALSE(insert.bind(2, "beyond").run());
}

TEST_F(DatabaseTest, ATransactionKeepsNothingWithoutCommit) {
  auto database = open().value();
  {
    auto transaction = Transaction::begin(*database).value();
    add(*database, "ann");
  }
  EXPECT_TRUE(callers(*database).empty());
  auto transaction = Transaction::begin(*database).value();
  add(*database, "bob");
  ASSERT_TRUE(transaction.commit());
  EXPECT_EQ(callers(*database), Names{"bob"});
}

TEST_F(DatabaseTest, ASavepointTakesBackOnlyItsPart) {
  auto database = open().value();
  auto transaction = Transaction::begin(*database).value();
  add(*database, "ann");
  {
    auto part = Savepoint::begin(*database).value();
    add(*database, "bob");
    auto inner = Savepoint::begin(*database).value();
    add(*database, "cid");
    ASSERT_TRUE(inner.commit());
  }
  auto kept = Savepoint::begin(*database).value();
  add(*database, "dora");
  ASSERT_TRUE(kept.commit());
  ASSERT_TRUE(transaction.commit());
  EXPECT_EQ(callers(*database), (Names{"ann", "dora"}));
}

TEST_F(DatabaseTest, ACheckpointEmptiesTheLog) {
  auto database = open(kFirst, {.checkpoint_pages = 0}).value();
  for (int i = 0; i < 50; ++i) add(*database, "ann");
  EXPECT_GE(database->log_pages(), 50);
  ASSERT_TRUE(database->checkpoint());
  EXPECT_EQ(database->log_pages(), 0);
  EXPECT_EQ(callers(*database).size(), 50U);
}

}  // namespace
}  // namespace agenttier::sql
