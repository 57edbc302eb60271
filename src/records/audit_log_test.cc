#include "records/audit_log.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "async/task_group.h"

namespace agenttier::records {
namespace {

using namespace std::chrono_literals;

// A log in a directory of its own; the pool is a real thread, time is fake.
struct Bench {
  explicit Bench(AuditLogOptions options_in = {}) : options(options_in) {
    std::string pattern = (std::filesystem::temp_directory_path() / "agenttier-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
    open();
  }
  ~Bench() {
    stop();
    log.reset();
    std::filesystem::remove_all(directory);
  }
  void open() {
    auto opened = AuditLog::open(loop.get_executor(), timers, directory + "/audit.db", options);
    ASSERT_TRUE(opened) << opened.error().message;
    log = *std::move(opened);
  }
  void start() { ASSERT_TRUE(tasks.spawn(log->run())); }
  void stop() {
    boost::asio::post(loop, [this] { tasks.cancel_all(); });
    ASSERT_TRUE(run_until([&] { return tasks.size() == 0; }));
  }
  template <class F>
  bool run_until(F done) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      if (timers.next_due() <= options.gather_time) timers.advance(options.gather_time);
      loop.restart();
      loop.run_one_for(5ms);
    }
    return true;
  }
  void append(const std::string& action, const std::string& sandbox = "demo",
              const std::string& actor = "ada") {
    AuditRecord record;
    record.actor = actor;
    record.action = action;
    record.resource = "sandboxes/" + sandbox;
    record.sandbox = sandbox;
    record.request_id = "r1";
    log->append(std::move(record));
  }
  void wait_written(std::uint64_t count) {
    ASSERT_TRUE(run_until([&] { return log->written() >= count; }));
  }
  static async::Task<void> keep(async::Task<base::Result<AuditPage>> task,
                                std::optional<base::Result<AuditPage>>* result) {
    result->emplace(co_await std::move(task));
  }
  AuditPage query(AuditQuery wanted = {}) {
    std::optional<base::Result<AuditPage>> result;
    EXPECT_TRUE(tasks.spawn(keep(log->query(std::move(wanted)), &result)));
    EXPECT_TRUE(run_until([&] { return result.has_value(); }));
    EXPECT_TRUE(*result) << result->error().message;
    return **std::move(result);
  }
  std::vector<std::string> actions(AuditQuery wanted = {}) {
    std::vector<std::string> all;
    for (const AuditRecord& record : query(std::move(wanted)).records) all.push_back(record.action);
    return all;
  }

  AuditLogOptions options;
  std::string directory;
  boost::asio::io_context loop;
  async::FakeTimers timers{loop.get_executor()};
  async::TaskGroup tasks{loop.get_executor(), {.name = "test", .tasks_max = 10}};
  std::unique_ptr<AuditLog> log;
};

using Actions = std::vector<std::string>;

TEST(AuditLog, KeepsWhatHappenedInOrder) {
  Bench bench;
  bench.start();
  for (const char* action : {"one", "two", "three"}) bench.append(action);
  bench.wait_written(3);
  const AuditPage page = bench.query();
  ASSERT_EQ(page.records.size(), 3U);
  EXPECT_EQ(bench.actions(), (Actions{"three", "two", "one"}));
  EXPECT_EQ(page.records[0].actor, "ada");
  EXPECT_EQ(page.records[0].resource, "sandboxes/demo");
  EXPECT_EQ(page.records[0].request_id, "r1");
  EXPECT_EQ(page.records[0].outcome, Outcome::kDone);
  EXPECT_LE(page.records[0].time, bench.timers.clock().now());
  EXPECT_EQ(page.next_page_token, 0);
}

TEST(AuditLog, SurvivesARestart) {
  Bench bench;
  bench.start();
  bench.append("one");
  bench.wait_written(1);
  bench.stop();
  bench.log.reset();
  bench.open();
  bench.start();
  bench.append("two");
  bench.wait_written(1);
  EXPECT_EQ(bench.actions(), (Actions{"two", "one"}));
}

TEST(AuditLog, GivesPagesWithoutGapOrRepeatWhileMoreIsWritten) {
  Bench bench;
  bench.start();
  for (int i = 0; i < 25; ++i) bench.append(std::to_string(i));
  bench.wait_written(25);
  std::vector<std::string> seen;
  AuditQuery query;
  query.limit = 10;
  do {
    const AuditPage page = bench.query(query);
    for (const AuditRecord& record : page.records) seen.push_back(record.action);
    query.page_token = page.next_page_token;
    bench.append("later");
  } while (query.page_token != 0);
  ASSERT_EQ(seen.size(), 25U);
  for (int i = 0; i < 25; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], std::to_string(24 - i));
}

TEST(AuditLog, AFullLastPageSaysThatItIsTheLast) {
  Bench bench;
  bench.start();
  for (int i = 0; i < 10; ++i) bench.append("x");
  bench.wait_written(10);
  AuditQuery query;
  query.limit = 10;
  EXPECT_EQ(bench.query(query).next_page_token, 0);
}

TEST(AuditLog, FindsByEachCondition) {
  Bench bench;
  bench.start();
  bench.append("a", "s1", "ada");
  bench.append("b", "s2", "bob");
  bench.append("a", "s1", "bob");
  bench.wait_written(3);
  AuditQuery by_actor;
  by_actor.actor = "bob";
  EXPECT_EQ(bench.actions(by_actor), (Actions{"a", "b"}));
  AuditQuery both;
  both.actor = "bob";
  both.sandbox = "s1";
  EXPECT_EQ(bench.actions(both), (Actions{"a"}));
  AuditQuery later;
  later.not_before = bench.timers.clock().now() + 1h;
  EXPECT_TRUE(bench.actions(later).empty());
  AuditQuery earlier;
  earlier.before = bench.timers.clock().now() + 1h;
  earlier.action = "a";
  EXPECT_EQ(bench.actions(earlier).size(), 2U);
}

TEST(AuditLog, AValueIsNeverPartOfTheQuery) {
  Bench bench;
  bench.start();
  bench.append("a");
  bench.wait_written(1);
  AuditQuery query;
  query.actor = "x' or '1'='1";
  EXPECT_TRUE(bench.actions(query).empty());
}

TEST(AuditLog, NeverHoldsMoreThanItsQueueAndTellsWhatItDropped) {
  Bench bench({.queue_max = 5});
  for (int i = 0; i < 12; ++i) bench.append(std::to_string(i));
  EXPECT_EQ(bench.log->queued(), 5U);
  EXPECT_EQ(bench.log->dropped(), 7U);
  bench.start();
  bench.wait_written(5);
  const AuditPage page = bench.query();
  ASSERT_EQ(page.records.size(), 6U);
  EXPECT_EQ(page.records[0].action, "audit.dropped");
  EXPECT_EQ(page.records[0].details, R"({"records":7})");
  EXPECT_EQ(page.records[1].action, "4");
  bench.append("next");
  bench.wait_written(6);
  EXPECT_EQ(bench.actions().front(), "next");
}

TEST(AuditLog, WritesWhatWaitsWhenItIsStopped) {
  Bench bench;
  bench.start();
  for (int i = 0; i < 1200; ++i) bench.append("x");
  bench.stop();
  EXPECT_EQ(bench.log->queued(), 0U);
  EXPECT_EQ(bench.log->written(), 1200U);
}

TEST(AuditLog, OldAndSurplusRecordsGo) {
  Bench bench({.age_max = 24h, .rows_max = 10, .prune_interval = 1min});
  bench.start();
  AuditRecord old;
  old.action = "old";
  old.time = bench.timers.clock().now() - 48h;
  bench.log->append(old);
  for (int i = 0; i < 12; ++i) bench.append(std::to_string(i));
  bench.wait_written(13);
  bench.timers.advance(2min);
  bench.append("last");
  bench.wait_written(14);
  ASSERT_TRUE(bench.run_until([&] { return bench.actions().size() == 10; }));
  EXPECT_EQ(bench.actions().front(), "last");
  EXPECT_EQ(bench.actions().back(), "3");
}

TEST(AuditLog, CutsWhatIsTooLongAndMendsWhatIsNoText) {
  Bench bench;
  bench.start();
  AuditRecord record;
  record.actor = std::string(5000, 'a');
  record.resource = "\xff\xfe";
  record.details = std::string(50'000, 'd');
  bench.log->append(record);
  bench.wait_written(1);
  const AuditPage page = bench.query();
  EXPECT_EQ(page.records[0].actor.size(), 512U);
  EXPECT_EQ(page.records[0].resource, "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(page.records[0].details, R"({"cut":true})");
}

TEST(AuditLog, AFileOfAnotherKindIsNotOverwritten) {
  Bench bench;
  const std::string path = bench.directory + "/other.db";
  { std::ofstream(path) << "this is not a database, and it is long enough to look like one......"; }
  const auto opened = AuditLog::open(bench.loop.get_executor(), bench.timers, path, {});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("other.db"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace agenttier::records
