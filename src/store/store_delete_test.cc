// Deletions: preconditions, finalizers, graceful pods, owners, namespaces, expiry.

#include <gtest/gtest.h>

#include "store/testing.h"

namespace agenttier::store {
namespace {

using Names = std::vector<std::string>;

class DeleteTest : public StoreTest {
 protected:
  json::object owned(std::string_view name, const Reply& owner, bool blocks = false) {
    json::object reference{{"apiVersion", owner.at("apiVersion")},
                           {"kind", owner.at("kind")},
                           {"name", owner.at("metadata.name")},
                           {"uid", owner.at("metadata.uid")}};
    if (blocks) reference["blockOwnerDeletion"] = true;
    return {{"metadata", {{"name", name}, {"ownerReferences", json::array{std::move(reference)}}}}};
  }
  json::object with_finalizer(std::string_view name) {
    return config_map(name, {{"metadata", {{"finalizers", json::array{"agenttier.io/x"}}}}});
  }
  json::object no_finalizers() { return {{"metadata", {{"finalizers", nullptr}}}}; }
};

TEST_F(DeleteTest, RemovesAndSaysSo) {
  const Reply created = post(kMaps, config_map("a"));
  const Reply removed = remove(kMaps / "a");
  EXPECT_EQ(removed.status, 200);
  EXPECT_EQ(removed.at("status"), "Success");
  EXPECT_EQ(removed.at("details.uid"), created.at("metadata.uid"));
  EXPECT_EQ(get(kMaps / "a").status, 404);
  EXPECT_EQ(remove(kMaps / "a").status, 404);
}

TEST_F(DeleteTest, ANewObjectOfTheNameIsAnotherOne) {
  const std::string first = post(kMaps, config_map("a")).at("metadata.uid");
  remove(kMaps / "a");
  EXPECT_NE(post(kMaps, config_map("a")).at("metadata.uid"), first);
}

TEST_F(DeleteTest, RefusesAnotherUidOrVersionThanAsked) {
  const Reply created = post(kMaps, config_map("a"));
  const json::object uid{{"preconditions", {{"uid", "other"}}}};
  EXPECT_EQ(remove(kMaps / "a", uid).status, 409);
  const json::object version{{"preconditions", {{"resourceVersion", "1"}}}};
  EXPECT_EQ(remove(kMaps / "a", version).status, 409);
  const json::object right{{"preconditions", {{"uid", created.at("metadata.uid")}}}};
  EXPECT_EQ(remove(kMaps / "a", right).status, 200);
}

TEST_F(DeleteTest, AFinalizerHoldsTheObjectUntilItIsTakenAway) {
  post(kMaps, with_finalizer("a"));
  const Reply marked = remove(kMaps / "a");
  EXPECT_EQ(marked.at("metadata.deletionTimestamp"), "2030-01-01T00:00:00Z");
  EXPECT_EQ(get(kMaps / "a").status, 200);
  EXPECT_EQ(merge(kMaps / "a", no_finalizers()).status, 200);
  EXPECT_EQ(get(kMaps / "a").status, 404);
}

TEST_F(DeleteTest, TheMarkAndTheEndOfAHeldDeletionAreEvents) {
  post(kMaps, with_finalizer("a"));
  TestWatch watch =
      this->watch(std::string(kMaps) + "?watch=true&resourceVersion=" + get(kMaps).version());
  remove(kMaps / "a");
  remove(kMaps / "a");
  merge(kMaps / "a", no_finalizers());
  EXPECT_EQ(next(watch), "MODIFIED a");
  EXPECT_EQ(next(watch), "DELETED a");
}

TEST_F(DeleteTest, NoFinalizerCanBeAddedWhileDeleting) {
  post(kMaps, with_finalizer("a"));
  remove(kMaps / "a");
  const json::object more{{"metadata", {{"finalizers", json::array{"agenttier.io/x", "b.c/y"}}}}};
  const Reply refused = merge(kMaps / "a", more);
  EXPECT_EQ(refused.status, 422);
  EXPECT_TRUE(refused.causes()[0].starts_with("metadata.finalizers: Forbidden"));
}

TEST_F(DeleteTest, TheMarkOfDeletionCannotBeTakenBack) {
  post(kMaps, with_finalizer("a"));
  remove(kMaps / "a");
  merge(kMaps / "a", {{"metadata", {{"deletionTimestamp", nullptr}}}});
  EXPECT_EQ(get(kMaps / "a").at("metadata.deletionTimestamp"), "2030-01-01T00:00:00Z");
}

TEST_F(DeleteTest, ThePhaseOfDeletionIsANewGeneration) {
  json::object object = sandbox("a");
  object["metadata"].as_object()["finalizers"] = json::array{"agenttier.io/x"};
  post(kSandboxes, object);
  EXPECT_EQ(remove(kSandboxes / "a").at("metadata.generation"), "2");
}

TEST_F(DeleteTest, APodOnANodeGetsTimeAndIsRemovedByItsNode) {
  post(kPods, pod("a", {{"nodeName", "n1"}, {"terminationGracePeriodSeconds", 5}}));
  const Reply marked = remove(kPods / "a");
  EXPECT_EQ(marked.at("metadata.deletionTimestamp"), "2030-01-01T00:00:05Z");
  EXPECT_EQ(marked.at("metadata.deletionGracePeriodSeconds"), "5");
  EXPECT_EQ(get(kPods / "a").status, 200);
  EXPECT_EQ(remove(kPods / "a", json::object{{"gracePeriodSeconds", 0}}).status, 200);
  EXPECT_EQ(get(kPods / "a").status, 404);
}

TEST_F(DeleteTest, TheTimeOfAPodCanOnlyBecomeShorter) {
  post(kPods, pod("a", {{"nodeName", "n1"}}));
  remove(kPods / "a" + "?gracePeriodSeconds=10");
  EXPECT_EQ(
      remove(kPods / "a" + "?gracePeriodSeconds=60").at("metadata.deletionGracePeriodSeconds"),
      "10");
  EXPECT_EQ(remove(kPods / "a" + "?gracePeriodSeconds=2").at("metadata.deletionGracePeriodSeconds"),
            "2");
}

TEST_F(DeleteTest, APodWithoutNodeOrThatEndedGoesAtOnce) {
  post(kPods, pod("a"));
  remove(kPods / "a");
  EXPECT_EQ(get(kPods / "a").status, 404);
  post(kPods, pod("b", {{"nodeName", "n1"}}));
  merge(kPods / "b" + "/status", {{"status", {{"phase", "Failed"}}}});
  remove(kPods / "b");
  EXPECT_EQ(get(kPods / "b").status, 404);
}

TEST_F(DeleteTest, DependentsFollowTheirOwner) {
  const Reply owner = post(kSandboxes, sandbox("a"));
  const Reply child = post(kMaps, owned("child", owner));
  post(kSecrets, owned("grandchild", child));
  post(kMaps, config_map("other"));
  remove(kSandboxes / "a");
  EXPECT_EQ(get(kMaps).item_names(), Names{"other"});
  EXPECT_EQ(get(kSecrets).item_names(), Names{});
}

TEST_F(DeleteTest, OwnershipIsByUidNotByName) {
  const Reply first = post(kSandboxes, sandbox("a"));
  const Reply second = post(kSandboxes, sandbox("b"));
  json::object object = owned("child", first);
  object["metadata"].as_object()["ownerReferences"].as_array()[0].as_object()["name"] = "b";
  post(kMaps, object);
  remove(kSandboxes / "b");
  EXPECT_EQ(get(kMaps / "child").status, 200);
  remove(kSandboxes / "a");
  EXPECT_EQ(get(kMaps / "child").status, 404);
}

TEST_F(DeleteTest, ADependentOfTwoOwnersStaysWithTheOther) {
  const Reply first = post(kSandboxes, sandbox("a"));
  const Reply second = post(kSandboxes, sandbox("b"));
  json::object object = owned("child", first);
  const json::object other = owned("child", second);
  object["metadata"].as_object()["ownerReferences"].as_array().push_back(
      other.at("metadata").at("ownerReferences").at(0));
  post(kMaps, object);
  remove(kSandboxes / "a");
  const Reply left = get(kMaps / "child");
  EXPECT_EQ(left.at("metadata.ownerReferences").find(first.at("metadata.uid")), std::string::npos);
  EXPECT_NE(left.at("metadata.ownerReferences").find(second.at("metadata.uid")), std::string::npos);
  remove(kSandboxes / "b");
  EXPECT_EQ(get(kMaps / "child").status, 404);
}

TEST_F(DeleteTest, OrphansStayWithoutTheReference) {
  const Reply owner = post(kSandboxes, sandbox("a"));
  post(kMaps, owned("child", owner));
  remove(kSandboxes / "a" + "?propagationPolicy=Orphan");
  EXPECT_EQ(get(kSandboxes / "a").status, 404);
  EXPECT_EQ(get(kMaps / "child").status, 200);
  EXPECT_EQ(get(kMaps / "child").at("metadata.ownerReferences"), "");
}

TEST_F(DeleteTest, InTheForegroundTheOwnerWaitsForTheDependentsThatBlockIt) {
  const Reply owner = post(kSandboxes, sandbox("a"));
  json::object child = owned("child", owner, true);
  child["metadata"].as_object()["finalizers"] = json::array{"agenttier.io/x"};
  post(kMaps, child);
  remove(kSandboxes / "a", json::object{{"propagationPolicy", "Foreground"}});
  EXPECT_NE(get(kSandboxes / "a").at("metadata.finalizers").find("foregroundDeletion"),
            std::string::npos);
  EXPECT_NE(get(kMaps / "child").at("metadata.deletionTimestamp"), "");
  merge(kMaps / "child", no_finalizers());
  EXPECT_EQ(get(kMaps / "child").status, 404);
  EXPECT_EQ(get(kSandboxes / "a").status, 404);
}

TEST_F(DeleteTest, InTheForegroundAnOwnerWithoutDependentsGoesAtOnce) {
  post(kSandboxes, sandbox("a"));
  remove(kSandboxes / "a", json::object{{"propagationPolicy", "Foreground"}});
  EXPECT_EQ(get(kSandboxes / "a").status, 404);
}

TEST_F(DeleteTest, AnObjectWhoseOwnerIsGoneDoesNotStay) {
  const Reply owner = post(kSandboxes, sandbox("a"));
  remove(kSandboxes / "a");
  EXPECT_EQ(post(kMaps, owned("late", owner)).status, 201);
  EXPECT_EQ(get(kMaps / "late").status, 404);
}

TEST_F(DeleteTest, AnOwnerOfAKindThatIsKeptElsewhereIsNotMissed) {
  json::object object = config_map("a");
  object["metadata"].as_object()["ownerReferences"] = json::array{
      json::object{{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"name", "r"}, {"uid", "u"}}};
  post(kMaps, object);
  EXPECT_EQ(get(kMaps / "a").status, 200);
}

TEST_F(DeleteTest, ALongChainOfOwnersGoesInOneStep) {
  Reply owner = post(kMaps, config_map("c0"));
  for (int i = 1; i < 300; ++i) owner = post(kMaps, owned("c" + std::to_string(i), owner));
  remove(kMaps / "c0");
  EXPECT_EQ(get(kMaps).item_names(), Names{});
}

TEST_F(DeleteTest, ACircleOfOwnersGoesTogether) {
  const Reply first = post(kMaps, config_map("a"));
  const Reply second = post(kMaps, owned("b", first));
  merge(kMaps / "a", owned("a", second));
  remove(kMaps / "a");
  EXPECT_EQ(get(kMaps).item_names(), Names{});
}

TEST_F(DeleteTest, ACollectionIsRemovedBySelector) {
  post(kMaps, config_map("a", {{"metadata", {{"labels", {{"x", "y"}}}}}}));
  post(kMaps, config_map("b"));
  const Reply removed = remove(std::string(kMaps) + "?labelSelector=x%3Dy");
  EXPECT_EQ(removed.status, 200);
  EXPECT_EQ(removed.item_names(), Names{"a"});
  EXPECT_EQ(get(kMaps).item_names(), Names{"b"});
}

TEST_F(DeleteTest, ANamespaceTakesItsContentWithIt) {
  post("/api/v1/namespaces", config_map("team"));
  post("/api/v1/namespaces/team/configmaps", config_map("a"));
  post("/api/v1/namespaces/team/secrets", with_finalizer("b"));
  remove("/api/v1/namespaces/team");
  EXPECT_EQ(get("/api/v1/namespaces/team").at("status.phase"), "Terminating");
  EXPECT_EQ(get("/api/v1/namespaces/team/configmaps").item_names(), Names{});
  const Reply refused = post("/api/v1/namespaces/team/configmaps", config_map("late"));
  EXPECT_EQ(refused.status, 403);
  merge("/api/v1/namespaces/team/secrets/b", no_finalizers());
  EXPECT_EQ(get("/api/v1/namespaces/team").status, 404);
}

TEST_F(DeleteTest, TheDefaultNamespaceStays) {
  EXPECT_EQ(remove("/api/v1/namespaces/default").status, 403);
}

TEST_F(DeleteTest, EventsExpire) {
  const Collection events{"/api/v1/namespaces/default/events"};
  const json::object subject{{"involvedObject", {{"namespace", "default"}}}};
  post(events, config_map("old", subject));
  clock_.advance(std::chrono::minutes(59));
  post(events, config_map("new", subject));
  EXPECT_EQ(get(events).item_names(), (Names{"new", "old"}));
  clock_.advance(std::chrono::minutes(1));
  EXPECT_EQ(get(events).item_names(), Names{"new"});
  EXPECT_EQ(get(events / "old").status, 404);
  TestWatch watch =
      this->watch(std::string(events) + "?watch=true&resourceVersion=" + get(events).version());
  post(kMaps, config_map("any-write"));
  EXPECT_EQ(next(watch), "DELETED old");
}

TEST_F(DeleteTest, AnUpdatedEventLivesLonger) {
  const Collection events{"/api/v1/namespaces/default/events"};
  post(events, config_map("e", {{"involvedObject", {{"namespace", "default"}}}}));
  clock_.advance(std::chrono::minutes(59));
  merge(events / "e", {{"count", 2}});
  clock_.advance(std::chrono::minutes(59));
  EXPECT_EQ(get(events).item_names(), Names{"e"});
}

}  // namespace
}  // namespace agenttier::store
