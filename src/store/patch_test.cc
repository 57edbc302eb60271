#include "store/patch.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "store/api_error.h"

namespace agenttier::store {
namespace {

json::value parse(std::string_view text) {
  return parse_json(text).value();
}

// The patched value as text, or the error's HTTP status.
std::string patched(PatchType type, std::string_view target, std::string_view patch) {
  auto result = apply_patch(type, parse(target), parse(patch));
  return result ? json::serialize(*result) : std::to_string(status_code(result.error()));
}
std::string by_json(std::string_view target, std::string_view patch) {
  return patched(PatchType::kJson, target, patch);
}
std::string by_merge(std::string_view target, std::string_view patch) {
  return patched(PatchType::kMerge, target, patch);
}
std::string by_strategy(std::string_view target, std::string_view patch) {
  return patched(PatchType::kStrategicMerge, target, patch);
}

TEST(JsonPatch, AddsReplacesAndRemoves) {
  EXPECT_EQ(by_json(R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])"), R"({"a":1,"b":2})");
  EXPECT_EQ(by_json(R"({"a":1})", R"([{"op":"replace","path":"/a","value":2}])"), R"({"a":2})");
  EXPECT_EQ(by_json(R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])"), R"({"b":2})");
}

TEST(JsonPatch, InsertsIntoLists) {
  EXPECT_EQ(by_json("[1,3]", R"([{"op":"add","path":"/1","value":2}])"), "[1,2,3]");
  EXPECT_EQ(by_json("[1]", R"([{"op":"add","path":"/-","value":2}])"), "[1,2]");
  EXPECT_EQ(by_json("[1]", R"([{"op":"add","path":"/5","value":2}])"), "422");
  EXPECT_EQ(by_json("[1,2,3]", R"([{"op":"remove","path":"/1"}])"), "[1,3]");
  EXPECT_EQ(by_json("[1]", R"([{"op":"remove","path":"/01"}])"), "422");
}

TEST(JsonPatch, MovesAndCopies) {
  EXPECT_EQ(by_json(R"({"a":{"x":1}})", R"([{"op":"move","from":"/a/x","path":"/y"}])"),
            R"({"a":{},"y":1})");
  EXPECT_EQ(by_json(R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/b"}])"),
            R"({"a":1,"b":1})");
  EXPECT_EQ(by_json(R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])"), "400");
}

TEST(JsonPatch, StopsAtATestThatFails) {
  constexpr const char* kGuarded =
      R"([{"op":"test","path":"/a","value":1},{"op":"replace","path":"/a","value":5}])";
  EXPECT_EQ(by_json(R"({"a":1})", kGuarded), R"({"a":5})");
  EXPECT_EQ(by_json(R"({"a":2})", kGuarded), "422");
}

TEST(JsonPatch, ReadsEscapedNames) {
  EXPECT_EQ(by_json(R"({"a/b":1,"c~d":2})",
                    R"([{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/c~0d"}])"),
            "{}");
}

TEST(JsonPatch, RefusesWhatIsNoPatch) {
  for (const char* patch :
       {"{}", "[1]", R"([{"op":"add","path":"a","value":1}])", R"([{"op":"add","path":"/a"}])"}) {
    EXPECT_EQ(by_json("{}", patch), "400") << patch;
  }
  for (const char* patch : {R"([{"op":"add"}])", R"([{"op":"grow","path":"/a","value":1}])",
                            R"([{"op":"remove","path":"/a"}])"}) {
    EXPECT_EQ(by_json("{}", patch), "422") << patch;
  }
}

TEST(JsonPatch, CannotGrowWithoutBound) {
  std::string patch = R"([{"op":"add","path":"/a","value":[1,2,3,4,5,6,7,8,9,10]})";
  for (int i = 0; i < 40; ++i) patch += R"(,{"op":"copy","from":"/a","path":"/a/-"})";
  EXPECT_EQ(by_json("{}", patch + "]"), "400");
}

TEST(MergePatch, FollowsTheRfc) {
  EXPECT_EQ(by_merge(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(by_merge(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(by_merge(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(by_merge(R"({"a":"c"})", R"({"a":["b"]})"), R"({"a":["b"]})");
  EXPECT_EQ(by_merge(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(by_merge(R"({})", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
  EXPECT_EQ(by_merge(R"({"e":null})", R"({"a":1})"), R"({"e":null,"a":1})");
  EXPECT_EQ(by_merge("{}", "[]"), "400");
}

TEST(StrategicMerge, MergesContainersByName) {
  EXPECT_EQ(by_strategy(R"({"containers":[{"name":"a","image":"x","tty":true},{"name":"b"}]})",
                        R"({"containers":[{"name":"a","image":"y"},{"name":"c"}]})"),
            R"({"containers":[{"name":"a","image":"y","tty":true},{"name":"c"},{"name":"b"}]})");
}

// As a kube-apiserver does: what the patch names in its order, the others where they were.
TEST(StrategicMerge, NewElementsComeFirst) {
  EXPECT_EQ(by_strategy(R"({"volumes":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
                        R"({"volumes":[{"name":"d"},{"name":"c"}]})"),
            R"({"volumes":[{"name":"d"},{"name":"a"},{"name":"b"},{"name":"c"}]})");
}

TEST(StrategicMerge, AnOrderHoldsOthersWhereTheyWere) {
  EXPECT_EQ(by_strategy(R"({"volumes":[{"name":"d"},{"name":"a"},{"name":"c"},{"name":"b"}]})",
                        R"({"$setElementOrder/volumes":[{"name":"b"},{"name":"e"},{"name":"a"}],)"
                        R"("volumes":[{"name":"e"}]})"),
            R"({"volumes":[{"name":"d"},{"name":"c"},{"name":"b"},{"name":"e"},{"name":"a"}]})");
}

TEST(StrategicMerge, MergesConditionsByType) {
  EXPECT_EQ(by_strategy(R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})",
                        R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"),
            R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
}

TEST(StrategicMerge, KnowsThePortsOfContainersAndOfServices) {
  EXPECT_EQ(by_strategy(R"({"ports":[{"containerPort":80,"name":"w"}]})",
                        R"({"ports":[{"containerPort":80,"protocol":"TCP"}]})"),
            R"({"ports":[{"containerPort":80,"name":"w","protocol":"TCP"}]})");
  EXPECT_EQ(by_strategy(R"({"ports":[{"port":80}]})", R"({"ports":[{"port":81}]})"),
            R"({"ports":[{"port":81},{"port":80}]})");
}

TEST(StrategicMerge, ReplacesOtherLists) {
  EXPECT_EQ(by_strategy(R"({"args":["a","b"]})", R"({"args":["c"]})"), R"({"args":["c"]})");
  EXPECT_EQ(by_strategy(R"({"tolerations":[{"key":"a"}]})", R"({"tolerations":[{"key":"b"}]})"),
            R"({"tolerations":[{"key":"b"}]})");
}

TEST(StrategicMerge, AddsFinalizersAndTakesThemAway) {
  EXPECT_EQ(by_strategy(R"({"finalizers":["a"]})", R"({"finalizers":["b","a"]})"),
            R"({"finalizers":["b","a"]})");
  EXPECT_EQ(by_strategy(R"({"finalizers":["a","b"]})",
                        R"({"$deleteFromPrimitiveList/finalizers":["a"]})"),
            R"({"finalizers":["b"]})");
}

TEST(StrategicMerge, FollowsItsDirectives) {
  EXPECT_EQ(by_strategy(R"({"env":[{"name":"a"},{"name":"b"}]})",
                        R"({"env":[{"name":"a","$patch":"delete"}]})"),
            R"({"env":[{"name":"b"}]})");
  EXPECT_EQ(
      by_strategy(R"({"env":[{"name":"a"}]})", R"({"env":[{"$patch":"replace"},{"name":"c"}]})"),
      R"({"env":[{"name":"c"}]})");
  EXPECT_EQ(by_strategy(R"({"m":{"a":1}})", R"({"m":{"b":2,"$patch":"replace"}})"),
            R"({"m":{"b":2}})");
  EXPECT_EQ(by_strategy(R"({"v":{"a":1,"b":2}})", R"({"v":{"$retainKeys":["b"]}})"),
            R"({"v":{"b":2}})");
  EXPECT_EQ(by_strategy(R"({"env":[{"name":"a"},{"name":"b"}]})",
                        R"({"$setElementOrder/env":[{"name":"b"},{"name":"a"}]})"),
            R"({"env":[{"name":"b"},{"name":"a"}]})");
}

TEST(StrategicMerge, RefusesAnElementWithoutItsKey) {
  EXPECT_EQ(by_strategy(R"({"containers":[]})", R"({"containers":[{"image":"x"}]})"), "400");
}

TEST(PatchType, IsThatOfTheMediaType) {
  EXPECT_EQ(patch_type_of("application/merge-patch+json; charset=utf-8"), PatchType::kMerge);
  EXPECT_EQ(patch_type_of("application/json-patch+json"), PatchType::kJson);
  EXPECT_EQ(patch_type_of("application/strategic-merge-patch+json"), PatchType::kStrategicMerge);
  EXPECT_FALSE(patch_type_of("application/apply-patch+yaml"));
  EXPECT_FALSE(patch_type_of("application/json"));
}

}  // namespace
}  // namespace agenttier::store
