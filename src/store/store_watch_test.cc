// Watches: order, selectors, bookmarks, expiry, slow readers.

#include <gtest/gtest.h>

#include "store/testing.h"

namespace agenttier::store {
namespace {

class WatchTest : public StoreTest {
 protected:
  std::string from_now(const std::string& query = "") {
    return std::string(kMaps) + "?watch=true&resourceVersion=" + get(kMaps).version() + query;
  }
  json::object label(std::string_view value) {
    return {{"metadata", {{"labels", {{"x", value}}}}}};
  }
};

TEST_F(WatchTest, TellsWhatHappensAfterAVersion) {
  post(kMaps, config_map("before"));
  TestWatch watch = this->watch(from_now());
  post(kMaps, config_map("a"));
  merge(kMaps / "a", {{"data", {{"k", "v"}}}});
  remove(kMaps / "a");
  EXPECT_EQ(next(watch), "ADDED a");
  EXPECT_EQ(next(watch), "MODIFIED a");
  EXPECT_EQ(next(watch), "DELETED a");
}

TEST_F(WatchTest, WaitsForWhatHasNotHappenedYet) {
  TestWatch watch = this->watch(from_now());
  std::string seen;
  post(kMaps, config_map("a"));
  EXPECT_EQ(next(watch), "ADDED a");
}

TEST_F(WatchTest, ReplaysWhatHappenedSinceAnEarlierVersion) {
  const std::string start = from_now();
  post(kMaps, config_map("a"));
  post(kMaps, config_map("b"));
  TestWatch watch = this->watch(start);
  EXPECT_EQ(next(watch), "ADDED a");
  EXPECT_EQ(next(watch), "ADDED b");
}

TEST_F(WatchTest, ADeletionHasAVersionOfItsOwn) {
  const Reply created = post(kMaps, config_map("a"));
  TestWatch watch = this->watch(from_now());
  remove(kMaps / "a");
  const json::object event = next_event(watch);
  EXPECT_EQ(find_text(event, "type"), "DELETED");
  EXPECT_GT(std::stoull(std::string(find_text(event, "object.metadata.resourceVersion"))),
            std::stoull(created.version()));
}

TEST_F(WatchTest, WithoutAVersionBeginsWithWhatIsThere) {
  post(kMaps, config_map("a"));
  TestWatch watch = this->watch(std::string(kMaps) + "?watch=true");
  post(kMaps, config_map("b"));
  EXPECT_EQ(next(watch), "ADDED a");
  EXPECT_EQ(next(watch), "ADDED b");
}

TEST_F(WatchTest, MarksTheEndOfTheInitialEvents) {
  post(kMaps, config_map("a"));
  TestWatch watch = this->watch(std::string(kMaps) +
                                "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                                "&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(next(watch), "ADDED a");
  const json::object mark = next_event(watch);
  EXPECT_EQ(find_text(mark, "type"), "BOOKMARK");
  const json::object* marks = find_object(mark, "object.metadata.annotations");
  ASSERT_TRUE(marks);
  EXPECT_EQ(find_text(*marks, "k8s.io/initial-events-end"), "");
  EXPECT_TRUE(marks->contains("k8s.io/initial-events-end"));
}

TEST_F(WatchTest, ShowsItsNamespaceAndKindOnly) {
  TestWatch watch = this->watch(from_now());
  post("/api/v1/namespaces/agenttier/configmaps", config_map("elsewhere"));
  post(kSecrets, config_map("other-kind"));
  post(kMaps, config_map("a"));
  EXPECT_EQ(next(watch), "ADDED a");
}

TEST_F(WatchTest, AnObjectThatBeginsOrCeasesToMatchIsAddedOrDeleted) {
  TestWatch watch = this->watch(from_now("&labelSelector=x%3Dyes"));
  post(kMaps, config_map("a"));
  merge(kMaps / "a", label("yes"));
  merge(kMaps / "a", {{"data", {{"k", "v"}}}});
  const Reply left = merge(kMaps / "a", label("no"));
  remove(kMaps / "a");
  post(kMaps, config_map("b", label("yes")));
  EXPECT_EQ(next(watch), "ADDED a");
  EXPECT_EQ(next(watch), "MODIFIED a");
  const json::object gone = next_event(watch);
  EXPECT_EQ(find_text(gone, "type"), "DELETED");
  EXPECT_EQ(find_text(gone, "object.metadata.labels.x"), "yes");
  EXPECT_EQ(find_text(gone, "object.metadata.resourceVersion"), left.version());
  EXPECT_EQ(next(watch), "ADDED b");
}

TEST_F(WatchTest, SelectsByFields) {
  TestWatch watch = this->watch("/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1");
  post(kPods, pod("a"));
  post(kPods, pod("b", {{"nodeName", "n1"}}));
  merge(kPods / "a", {{"spec", {{"nodeName", "n1"}}}});
  EXPECT_EQ(next(watch), "ADDED b");
  EXPECT_EQ(next(watch), "ADDED a");
}

TEST_F(WatchTest, OneObjectIsWatchedByItsName) {
  TestWatch watch = this->watch(std::string(kMaps) + "?watch=true&fieldSelector=metadata.name%3Db");
  post(kMaps, config_map("a"));
  post(kMaps, config_map("b"));
  EXPECT_EQ(next(watch), "ADDED b");
  EXPECT_EQ(get(kMaps / "b" + "?watch=true").at("kind"), "ConfigMap");
}

TEST_F(WatchTest, CanLeaveOutWhatIsThere) {
  post(kMaps, config_map("a"));
  TestWatch watch = this->watch(
      std::string(kMaps) + "?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
  post(kMaps, config_map("b"));
  EXPECT_EQ(next(watch), "ADDED b");
}

TEST_F(WatchTest, TheEndOfTheLastFinalizerIsOneEvent) {
  post(kMaps, config_map("a", {{"metadata", {{"finalizers", {"a.b/c"}}}}}));
  TestWatch watch = this->watch(std::string(kMaps) + "?watch=true");
  EXPECT_EQ(next(watch), "ADDED a");
  remove(kMaps / "a");
  merge(kMaps / "a", {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_EQ(next(watch), "MODIFIED a");
  EXPECT_EQ(next(watch), "DELETED a");
}

TEST_F(WatchTest, OfAPodTheMarkIsToldBeforeTheEnd) {
  post(kPods, pod("a"));
  TestWatch watch = this->watch(std::string(kPods) + "?watch=true");
  EXPECT_EQ(next(watch), "ADDED a");
  const Reply reply = remove(kPods / "a");
  EXPECT_EQ(reply.at("kind"), "Pod");
  EXPECT_NE(reply.at("metadata.deletionTimestamp"), "");
  EXPECT_EQ(next(watch), "MODIFIED a");
  EXPECT_EQ(next(watch), "DELETED a");
}

TEST_F(WatchTest, AWriteWithoutChangeIsNoEvent) {
  post(kMaps, config_map("a", {{"data", {{"k", "v"}}}}));
  TestWatch watch = this->watch(from_now());
  merge(kMaps / "a", {{"data", {{"k", "v"}}}});
  post(kMaps, config_map("b"));
  EXPECT_EQ(next(watch), "ADDED b");
}

TEST_F(WatchTest, AVersionThatIsForgottenIsGone) {
  reopen({.watch_events_max = 3});
  const std::string start = from_now();
  for (const char* name : {"a", "b", "c", "d"}) post(kMaps, config_map(name));
  const Reply reply = get(start);
  EXPECT_EQ(reply.status, 410);
  EXPECT_EQ(reply.at("reason"), "Expired");
}

TEST_F(WatchTest, ManyEventsOfOneKindDoNotExpireTheWatchesOfAnother) {
  reopen({.watch_events_max = 3});
  const std::string start =
      std::string(kSecrets) + "?watch=true&resourceVersion=" + get(kSecrets).version();
  for (const char* name : {"a", "b", "c", "d"}) post(kMaps, config_map(name));
  TestWatch watch = this->watch(start);
  post(kSecrets, config_map("s"));
  EXPECT_EQ(next(watch), "ADDED s");
}

TEST_F(WatchTest, AReaderThatIsTooSlowIsToldToListAgain) {
  reopen({.watch_events_max = 3});
  TestWatch watch = this->watch(from_now());
  for (const char* name : {"a", "b", "c", "d"}) post(kMaps, config_map(name));
  const json::object event = next_event(watch);
  EXPECT_EQ(find_text(event, "type"), "ERROR");
  EXPECT_EQ(find_text(event, "object.reason"), "Expired");
  EXPECT_EQ(next(watch), "end");
}

TEST_F(WatchTest, TheHistoryIsBoundedByBytesToo) {
  reopen({.watch_bytes_max = 10'000});
  const std::string start = from_now();
  for (const char* name : {"a", "b", "c"}) {
    post(kMaps, config_map(name, {{"data", {{"k", std::string(5000, 'x')}}}}));
  }
  EXPECT_EQ(get(start).status, 410);
}

TEST_F(WatchTest, AfterARestartOnlyTheCurrentVersionIsKnown) {
  const std::string old = from_now();
  post(kMaps, config_map("a"));
  const std::string current = from_now();
  reopen();
  EXPECT_EQ(get(old).status, 410);
  TestWatch watch = this->watch(current);
  post(kMaps, config_map("b"));
  EXPECT_EQ(next(watch), "ADDED b");
}

TEST_F(WatchTest, AVersionOfTheFutureIsGone) {
  EXPECT_EQ(get(std::string(kMaps) + "?watch=true&resourceVersion=999999").status, 410);
}

TEST_F(WatchTest, BookmarksCarryTheVersionForwardWhileNothingHappens) {
  reopen({.bookmark_interval = std::chrono::milliseconds(5)});
  TestWatch watch = this->watch(from_now("&allowWatchBookmarks=true"));
  const Reply other = post(kSecrets, config_map("s"));
  json::object event = next_event(watch);
  while (find_text(event, "object.metadata.resourceVersion") != other.version()) {
    ASSERT_EQ(find_text(event, "type"), "BOOKMARK");
    event = next_event(watch);
  }
  EXPECT_EQ(find_text(event, "object.kind"), "ConfigMap");
}

TEST_F(WatchTest, EndsAfterItsTime) {
  TestWatch watch = this->watch(from_now("&timeoutSeconds=1"));
  EXPECT_EQ(next(watch), "end");
}

TEST_F(WatchTest, EndsWhenTheStoreCloses) {
  TestWatch watch = this->watch(from_now());
  post(kMaps, config_map("a"));
  close();
  EXPECT_EQ(next(watch), "ADDED a");
  EXPECT_EQ(next(watch), "end");
}

TEST_F(WatchTest, TooManyAreRefused) {
  reopen({.watches_max = 1});
  {
    TestWatch watch = this->watch(from_now());
    EXPECT_EQ(get(from_now()).status, 429);
  }
  TestWatch watch = this->watch(from_now());
}

}  // namespace
}  // namespace agenttier::store
