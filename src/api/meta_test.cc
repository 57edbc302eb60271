#include "api/meta.h"

#include <gtest/gtest.h>

#include "api/sandbox.h"

namespace agenttier::api {
namespace {

TEST(Meta, OwnershipIsByUidAndNotByName) {
  const ObjectMeta first = {.name = "demo", .uid = "uid-1"};
  const ObjectMeta second = {.name = "demo", .uid = "uid-2"};
  ObjectMeta pod;
  pod.owner_references.push_back(controller_reference(Sandbox::kType, first));
  EXPECT_TRUE(is_owned_by(pod, first.uid));
  EXPECT_FALSE(is_owned_by(pod, second.uid));
  EXPECT_FALSE(is_owned_by(pod, ""));
  ASSERT_NE(find_controller(pod), nullptr);
  EXPECT_EQ(find_controller(pod)->api_version, "agenttier.io/v1alpha1");
}

TEST(Meta, NobodyIsOwnedByAnEmptyUid) {
  ObjectMeta pod;
  pod.owner_references.push_back({.api_version = "v1", .kind = "Pod", .name = "x", .uid = ""});
  EXPECT_FALSE(is_owned_by(pod, ""));
}

TEST(Meta, AFinalizerIsThereOnce) {
  ObjectMeta meta;
  add_finalizer(meta, "a/b");
  add_finalizer(meta, "a/b");
  EXPECT_EQ(meta.finalizers.size(), 1u);
  remove_finalizer(meta, "a/b");
  EXPECT_FALSE(has_finalizer(meta, "a/b"));
}

TEST(Meta, AConditionKeepsItsTimeWhileItsStatusStays) {
  std::vector<Condition> conditions;
  Condition ready{.type = "Ready",
                  .status = "False",
                  .observed_generation = {},
                  .last_transition_time = "2026-01-01T00:00:00Z",
                  .reason = "Pending",
                  .message = ""};
  EXPECT_TRUE(set_condition(conditions, ready));
  ready.last_transition_time = "2026-01-02T00:00:00Z";
  EXPECT_FALSE(set_condition(conditions, ready));
  EXPECT_EQ(conditions[0].last_transition_time, "2026-01-01T00:00:00Z");
  ready.status = "True";
  EXPECT_TRUE(set_condition(conditions, ready));
  EXPECT_EQ(conditions[0].last_transition_time, "2026-01-02T00:00:00Z");
  EXPECT_EQ(conditions.size(), 1u);
}

}  // namespace
}  // namespace agenttier::api
