// Lists: order, selectors, pages of one snapshot.

#include <gtest/gtest.h>

#include "store/testing.h"

namespace agenttier::store {
namespace {

using Names = std::vector<std::string>;

json::object labelled(std::string_view name, json::object labels) {
  return {{"metadata", {{"name", name}, {"labels", std::move(labels)}}}};
}

class ListTest : public StoreTest {
 protected:
  Names names(const std::string& query) { return get(std::string(kMaps) + query).item_names(); }
  void create(const Names& maps) {
    for (const std::string& name : maps) ASSERT_EQ(post(kMaps, config_map(name)).status, 201);
  }
};

TEST_F(ListTest, ShowsTheObjectsOfANamespaceInOrder) {
  create({"c", "a", "b"});
  post("/api/v1/namespaces/agenttier/configmaps", config_map("other"));
  const Reply list = get(kMaps);
  EXPECT_EQ(list.at("kind"), "ConfigMapList");
  EXPECT_EQ(list.item_names(), (Names{"a", "b", "c"}));
  EXPECT_EQ(get("/api/v1/configmaps").item_names(), (Names{"other", "a", "b", "c"}));
}

TEST_F(ListTest, HasTheVersionOfTheLastWrite) {
  const Reply created = post(kMaps, config_map("a"));
  EXPECT_EQ(get(kMaps).version(), created.version());
}

TEST_F(ListTest, IsEmptyWhereNothingIs) {
  EXPECT_EQ(get("/api/v1/namespaces/nowhere/pods").item_names(), Names{});
}

TEST_F(ListTest, SelectsByLabels) {
  post(kMaps, labelled("a", {{"team", "red"}, {"tier", "web"}}));
  post(kMaps, labelled("b", {{"team", "blue"}}));
  post(kMaps, labelled("c", {{"tier", "db"}}));
  EXPECT_EQ(names("?labelSelector=team%3Dred"), Names{"a"});
  EXPECT_EQ(names("?labelSelector=team!%3Dred"), (Names{"b", "c"}));
  EXPECT_EQ(names("?labelSelector=tier%20in%20(web,db)"), (Names{"a", "c"}));
  EXPECT_EQ(names("?labelSelector=tier%20notin%20(db),team"), (Names{"a", "b"}));
  EXPECT_EQ(names("?labelSelector=!team"), Names{"c"});
  EXPECT_EQ(names("?labelSelector="), (Names{"a", "b", "c"}));
}

TEST_F(ListTest, SelectsByFields) {
  create({"a", "b"});
  EXPECT_EQ(names("?fieldSelector=metadata.name%3Db"), Names{"b"});
  EXPECT_EQ(names("?fieldSelector=metadata.name!%3Db"), Names{"a"});
  EXPECT_EQ(names("?fieldSelector=metadata.namespace%3Dagenttier"), Names{});
}

TEST_F(ListTest, SelectsPodsByNodeAndPhase) {
  post(kPods, pod("a", {{"nodeName", "n1"}}));
  post(kPods, pod("b"));
  merge(kPods / "a" + "/status", {{"status", {{"phase", "Running"}}}});
  const std::string pods = "/api/v1/pods?fieldSelector=";
  EXPECT_EQ(get(pods + "spec.nodeName%3Dn1").item_names(), Names{"a"});
  EXPECT_EQ(get(pods + "spec.nodeName%3D").item_names(), Names{"b"});
  EXPECT_EQ(get(pods + "status.phase%3DRunning,spec.nodeName%3Dn1").item_names(), Names{"a"});
  EXPECT_EQ(get(pods + "status.phase!%3DRunning").item_names(), Names{"b"});
}

TEST_F(ListTest, SelectsEventsByTheirSubject) {
  const json::object subject{{"kind", "Sandbox"}, {"name", "x"}, {"namespace", "default"}};
  post("/api/v1/namespaces/default/events", config_map("e", {{"involvedObject", subject}}));
  const std::string events = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.";
  EXPECT_EQ(get(events + "name%3Dx").item_names(), Names{"e"});
  EXPECT_EQ(get(events + "name%3Dy").item_names(), Names{});
}

TEST_F(ListTest, GivesPagesThatTogetherAreAll) {
  create({"a", "b", "c", "d", "e"});
  const Reply first = get(std::string(kMaps) + "?limit=2");
  EXPECT_EQ(first.item_names(), (Names{"a", "b"}));
  const Reply second =
      get(std::string(kMaps) + "?limit=2&continue=" + first.at("metadata.continue"));
  EXPECT_EQ(second.item_names(), (Names{"c", "d"}));
  const Reply third =
      get(std::string(kMaps) + "?limit=2&continue=" + second.at("metadata.continue"));
  EXPECT_EQ(third.item_names(), Names{"e"});
  EXPECT_EQ(third.at("metadata.continue"), "");
}

TEST_F(ListTest, APageThatHoldsTheRestHasNoContinuation) {
  create({"a", "b"});
  EXPECT_EQ(get(std::string(kMaps) + "?limit=2").at("metadata.continue"), "");
}

TEST_F(ListTest, LaterPagesShowTheStateOfTheFirst) {
  create({"a", "b", "c", "d"});
  merge(kMaps / "d", {{"data", {{"k", "old"}}}});
  const Reply first = get(std::string(kMaps) + "?limit=1");
  remove(kMaps / "b");
  create({"bb"});
  merge(kMaps / "d", {{"data", {{"k", "new"}}}});
  merge(kMaps / "d", {{"data", {{"k", "newer"}}}});
  remove(kMaps / "c");
  create({"c"});
  const Reply rest = get(std::string(kMaps) + "?limit=9&continue=" + first.at("metadata.continue"));
  EXPECT_EQ(rest.item_names(), (Names{"b", "c", "d"}));
  EXPECT_EQ(rest.version(), first.version());
  EXPECT_NE(rest.text.find("\"old\""), std::string::npos);
  EXPECT_EQ(names(""), (Names{"a", "bb", "c", "d"}));
}

TEST_F(ListTest, PagesGoThroughAllNamespaces) {
  create({"a", "b"});
  post("/api/v1/namespaces/agenttier/configmaps", config_map("z"));
  const Reply first = get("/api/v1/configmaps?limit=2");
  EXPECT_EQ(first.item_names(), (Names{"z", "a"}));
  const Reply rest = get("/api/v1/configmaps?limit=2&continue=" + first.at("metadata.continue"));
  EXPECT_EQ(rest.item_names(), Names{"b"});
}

TEST_F(ListTest, AContinuationThatIsTooOldIsGone) {
  reopen({.watch_events_max = 3});
  create({"a", "b", "c"});
  const Reply first = get(std::string(kMaps) + "?limit=1");
  create({"d", "e", "f", "g"});
  const Reply rest = get(std::string(kMaps) + "?limit=1&continue=" + first.at("metadata.continue"));
  EXPECT_EQ(rest.status, 410);
  EXPECT_EQ(rest.at("reason"), "Expired");
}

TEST_F(ListTest, AContinuationOfAnotherNamespaceIsRefused) {
  create({"a", "b"});
  const Reply first = get(std::string(kMaps) + "?limit=1");
  const Reply other =
      get("/api/v1/namespaces/agenttier/configmaps?continue=" + first.at("metadata.continue"));
  EXPECT_EQ(other.status, 400);
}

TEST_F(ListTest, CanShowTheStateOfAnEarlierVersion) {
  create({"a"});
  const std::string then = get(kMaps).version();
  create({"b"});
  EXPECT_EQ(names("?resourceVersion=" + then + "&resourceVersionMatch=Exact"), Names{"a"});
  EXPECT_EQ(names("?resourceVersion=" + then + "&resourceVersionMatch=NotOlderThan"),
            (Names{"a", "b"}));
}

TEST_F(ListTest, AVersionOfTheFutureIsWorthAnotherTry) {
  const Reply reply = get(std::string(kMaps) + "?resourceVersion=999999");
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(reply.at("reason"), "Timeout");
  EXPECT_EQ(reply.at("details.retryAfterSeconds"), "1");
}

TEST_F(ListTest, APageSaysHowManyAreLeft) {
  create({"a", "b", "c"});
  EXPECT_EQ(get(std::string(kMaps) + "?limit=1").at("metadata.remainingItemCount"), "2");
  EXPECT_EQ(get(std::string(kMaps) + "?limit=3").at("metadata.remainingItemCount"), "");
}

TEST_F(ListTest, ParametersThatDoNotGoTogetherAreRefused) {
  for (const std::string query :
       {"resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Nearly", "sendInitialEvents=true",
        "watch=true&sendInitialEvents=true", "watch=true&resourceVersionMatch=NotOlderThan"}) {
    const Reply reply = get(std::string(kMaps) + "?" + query);
    EXPECT_EQ(reply.status, 422) << query;
    EXPECT_EQ(reply.at("details.kind"), "ListOptions") << query;
  }
  create({"a", "b"});
  const std::string token = get(std::string(kMaps) + "?limit=1").at("metadata.continue");
  EXPECT_EQ(get(std::string(kMaps) + "?resourceVersion=1&continue=" + token).status, 400);
}

TEST_F(ListTest, AListOfManyMegabytesIsWhole) {
  const std::string big(500'000, 'x');
  for (int i = 0; i < 12; ++i) {
    post(kMaps, config_map("m" + std::to_string(i), {{"data", {{"k", big}}}}));
  }
  const Reply list = get(kMaps);
  EXPECT_GT(list.text.size(), 6'000'000U);
  EXPECT_EQ(list.item_names().size(), 12U);
}

}  // namespace
}  // namespace agenttier::store
