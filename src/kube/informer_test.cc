#include "kube/informer.h"

#include <gtest/gtest.h>

#include "api/secret.h"
#include "http/in_process.h"
#include "kube/testing.h"
#include "kube/testing_small_api.h"
#include "kube/typed.h"

namespace agenttier::kube {
namespace {

using namespace std::chrono_literals;
using ConfigMap = api::ConfigMap;

struct Bench {
  explicit Bench(InformerOptions options = {.ns = "default", .index_labels = {"colour"}})
      : informer(client, loop.timers(), loop.random(), loop.executor(), std::move(options)) {
    informer.add_handler([this](const auto& old, const auto& now) {
      changes.push_back((old ? old->data.at("value") : "-") + ">" +
                        (now ? now->data.at("value") : "-"));
    });
  }
  ~Bench() { loop.close(); }
  void start() {
    loop.spawn(informer.run());
    loop.run_until_idle();
  }
  std::string value(const std::string& name) {
    const auto found = informer.find("default", name);
    return found ? found->data.at("value") : "";
  }

  TestLoop loop;
  SmallApi api{loop.executor()};
  http::InProcessClient transport{api};
  FaultyClient faulty{transport, loop.executor()};
  Client client{faulty, {}};
  Informer<ConfigMap> informer;
  std::vector<std::string> changes;
};

TEST(Informer, HoldsWhatWasThereAndFollowsWhatComes) {
  Bench bench;
  bench.api.put("a", "1");
  EXPECT_FALSE(bench.informer.synced());
  bench.start();
  EXPECT_TRUE(bench.informer.synced());
  EXPECT_EQ(bench.value("a"), "1");

  bench.api.put("a", "2");
  bench.api.put("b", "3");
  bench.api.erase("a");
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.informer.find("default", "a"), nullptr);
  EXPECT_EQ(bench.value("b"), "3");
  EXPECT_EQ(bench.changes, (std::vector<std::string>{"->1", "1>2", "->3", "2>-"}));
}

TEST(Informer, ReadsAListOfManyPages) {
  Bench bench({.ns = "default", .page_size = 3});
  for (int i = 0; i < 10; ++i) bench.api.put("m" + std::to_string(i), "v");
  bench.start();
  EXPECT_EQ(bench.informer.size(), 10U);
  EXPECT_EQ(bench.api.lists(), 1);
}

TEST(Informer, ResumesACutWatchWithoutListingAgain) {
  Bench bench;
  bench.api.put("a", "1");
  bench.start();
  bench.faulty.drop_watches();
  bench.api.put("a", "2");
  bench.api.put("b", "1");
  bench.loop.advance(1s);
  EXPECT_EQ(bench.value("a"), "2");
  EXPECT_EQ(bench.value("b"), "1");
  EXPECT_EQ(bench.api.lists(), 1);
  EXPECT_GE(bench.api.watches(), 2);
}

TEST(Informer, ListsAgainWhenItsVersionIsTooOldAndReportsTheDifference) {
  Bench bench;
  bench.api.put("a", "1");
  bench.api.put("b", "1");
  bench.api.put("c", "1");
  bench.start();
  bench.changes.clear();
  bench.faulty.partition();
  bench.faulty.drop_watches();
  bench.api.put("a", "2");
  bench.api.erase("b");
  bench.api.put("d", "1");
  bench.api.compact();
  bench.loop.run_until_idle();
  bench.faulty.heal();
  bench.loop.advance(2s);

  EXPECT_EQ(bench.api.lists(), 2);
  EXPECT_EQ(bench.value("a"), "2");
  EXPECT_EQ(bench.informer.size(), 3U);
  std::sort(bench.changes.begin(), bench.changes.end());
  EXPECT_EQ(bench.changes, (std::vector<std::string>{"->1", "1>-", "1>2"}));
}

TEST(Informer, AnErrorEventWithGoneLeadsToANewList) {
  Bench bench;
  bench.api.put("a", "1");
  bench.start();
  bench.api.push_line(
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}"
      "\n");
  bench.loop.advance(2s);
  EXPECT_GE(bench.api.lists(), 2);
  EXPECT_EQ(bench.value("a"), "1");
}

TEST(Informer, AnObjectReplacedUnseenIsGoneThenNew) {
  Bench bench;
  bench.api.put("a", "old");
  bench.start();
  bench.changes.clear();
  bench.faulty.partition();
  bench.faulty.drop_watches();
  bench.api.erase("a");
  bench.api.put("a", "new");
  bench.api.compact();
  bench.faulty.heal();
  bench.loop.advance(2s);
  EXPECT_EQ(bench.changes, (std::vector<std::string>{"old>-", "->new"}));
}

TEST(Informer, TriesTheFirstListUntilItSucceeds) {
  Bench bench;
  bench.api.put("a", "1");
  bench.faulty.partition();
  bench.start();
  bench.loop.advance(5s);
  EXPECT_FALSE(bench.informer.synced());
  const std::size_t tries = bench.faulty.sent();
  EXPECT_GE(tries, 4U);
  EXPECT_LE(tries, 12U);  // the delays grow
  bench.faulty.heal();
  bench.loop.advance(10s);
  EXPECT_TRUE(bench.informer.synced());
}

TEST(Informer, NeverHammersAServerThatRefusesToWatch) {
  Bench bench;
  bench.start();
  bench.faulty.partition();
  bench.faulty.drop_watches();
  bench.loop.advance(60s);
  EXPECT_LE(bench.faulty.sent(), 20U);
}

TEST(Informer, SurvivesEveryFailureOfASingleRequest) {
  for (const auto when : {FaultyClient::When::kBefore, FaultyClient::When::kAfter}) {
    for (std::size_t n = 1; n <= 6; ++n) {
      Bench bench({.ns = "default", .page_size = 2});
      for (int i = 0; i < 5; ++i) bench.api.put("m" + std::to_string(i), "1");
      bench.faulty.fail_request(n, when);
      bench.start();
      bench.loop.advance(3s);
      bench.api.put("m1", "2");
      bench.faulty.drop_watches();
      bench.loop.advance(3s);
      EXPECT_EQ(bench.informer.size(), 5U) << n;
      EXPECT_EQ(bench.value("m1"), "2") << n;
    }
  }
}

TEST(Informer, AnObjectThatCannotBeReadStopsNothing) {
  Bench bench;
  bench.api.put("a", "1");
  bench.start();
  bench.api.push_line(
      "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\","
      "\"resourceVersion\":\"900\"},\"data\":7}}\n");
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.value("a"), "1");
  EXPECT_EQ(bench.informer.stats().undecodable, 1U);
  bench.api.put("b", "1");
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.value("b"), "1");
}

TEST(Informer, ReopensAWatchThatBringsNothingForTooLong) {
  Bench bench;
  bench.start();
  bench.loop.advance(149s, 1s);
  EXPECT_EQ(bench.api.watches(), 1);
  bench.loop.advance(2s, 1s);
  EXPECT_EQ(bench.api.watches(), 2);
  EXPECT_EQ(bench.api.lists(), 1);
}

TEST(Informer, BookmarksMoveTheVersionAndKeepTheWatchOpen) {
  Bench bench;
  bench.start();
  for (int i = 0; i < 5; ++i) {
    bench.loop.advance(100s, 10s);
    bench.api.bookmark();
    bench.loop.run_until_idle();
  }
  EXPECT_EQ(bench.api.watches(), 1);
  EXPECT_TRUE(bench.informer.observed(std::to_string(bench.api.version())));
}

TEST(Informer, KnowsWhetherItHasSeenAWrite) {
  Bench bench;
  bench.start();
  const std::string next = std::to_string(bench.api.version() + 1);
  EXPECT_FALSE(bench.informer.observed(next));
  bench.api.put("a", "1");
  EXPECT_FALSE(bench.informer.observed(next));
  EXPECT_TRUE(bench.loop.run(bench.informer.wait_until_observed(next, 5s)));
  EXPECT_TRUE(bench.informer.observed(next));
}

TEST(Informer, VersionsCompareAsNumbers) {
  Bench bench;
  bench.start();
  EXPECT_TRUE(bench.informer.observed("99"));  // the server is at 100
  EXPECT_FALSE(bench.informer.observed("1000"));
  EXPECT_FALSE(bench.informer.observed("x"));
}

TEST(Informer, FindsByOwnerAndByLabel) {
  Bench bench;
  bench.api.put("a", "red");
  bench.api.put("b", "blue");
  bench.api.put("c", "red");
  bench.start();
  EXPECT_EQ(bench.informer.list_by_label("colour", "red").size(), 2U);
  EXPECT_EQ(bench.informer.list_by_owner("own-blue").size(), 1U);
  bench.api.put("a", "blue");
  bench.api.erase("c");
  bench.loop.run_until_idle();
  EXPECT_TRUE(bench.informer.list_by_label("colour", "red").empty());
  EXPECT_EQ(bench.informer.list_by_owner("own-blue").size(), 2U);
  EXPECT_EQ(bench.informer.list("default").size(), 2U);
  EXPECT_TRUE(bench.informer.list("other").empty());
}

TEST(Informer, ALateHandlerIsToldWhatIsThereAndARemovedOneNothing) {
  Bench bench;
  bench.api.put("a", "1");
  bench.start();
  int calls = 0;
  const auto id = bench.informer.add_handler([&](const auto&, const auto&) { ++calls; });
  EXPECT_EQ(calls, 1);
  bench.informer.remove_handler(id);
  bench.api.put("a", "2");
  bench.loop.run_until_idle();
  EXPECT_EQ(calls, 1);
}

TEST(Informer, AHandlerMayRemoveItself) {
  Bench bench;
  bench.start();
  std::uint64_t id = 0;
  int calls = 0;
  id = bench.informer.add_handler([&](const auto&, const auto&) {
    ++calls;
    bench.informer.remove_handler(id);
  });
  bench.api.put("a", "1");
  bench.api.put("a", "2");
  bench.loop.run_until_idle();
  EXPECT_EQ(calls, 1);
}

async::Task<void> wait_for_value(Bench* bench, std::string value, base::Result<std::string>* note) {
  auto got = co_await bench->informer.wait_for(
      {"default", "a"}, [value](const auto& now) { return now && now->data.at("value") == value; },
      10s);
  if (got) {
    *note = (*got)->data.at("value");
  } else {
    *note = std::move(got).error();
  }
}

TEST(Informer, WaitForEndsWhenTheConditionHolds) {
  Bench bench;
  bench.start();
  base::Result<std::string> note = std::string("waiting");
  bench.loop.spawn(wait_for_value(&bench, "3", &note));
  for (const char* value : {"1", "2", "3"}) {
    bench.loop.run_until_idle();
    EXPECT_EQ(*note, "waiting");
    bench.api.put("a", value);
  }
  bench.loop.run_until_idle();
  EXPECT_EQ(*note, "3");
}

TEST(Informer, WaitForGivesUpAtItsLimit) {
  Bench bench;
  bench.start();
  base::Result<std::string> note = std::string("waiting");
  bench.loop.spawn(wait_for_value(&bench, "3", &note));
  bench.loop.advance(9900ms);
  ASSERT_TRUE(note);
  bench.loop.advance(200ms);
  ASSERT_FALSE(note);
  EXPECT_EQ(note.error().code, base::ErrorCode::kDeadline);
}

TEST(Informer, RefusesAListOverItsLimit) {
  Bench bench({.ns = "default", .objects_max = 3});
  for (int i = 0; i < 4; ++i) bench.api.put("m" + std::to_string(i), "1");
  bench.start();
  EXPECT_FALSE(bench.informer.synced());
  bench.api.erase("m0");
  bench.loop.advance(1s);
  EXPECT_TRUE(bench.informer.synced());
}

}  // namespace
}  // namespace agenttier::kube
