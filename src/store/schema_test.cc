#include "store/schema.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "store/kind_schemas.h"

namespace agenttier::store {
namespace {

using Names = std::vector<std::string>;

json::object parse(std::string_view text) {
  return parse_json(text).value().as_object();
}

Schema of_spec(std::string_view spec) {
  return Schema::parse(
             parse("{\"type\":\"object\",\"properties\":{\"spec\":" + std::string(spec) + "}}"))
      .value();
}

Names faults(std::string_view spec_schema, std::string_view spec) {
  Names list;
  for (const base::FieldCause& cause :
       of_spec(spec_schema).validate(parse("{\"spec\":" + std::string(spec) + "}"))) {
    list.push_back(cause.field + ": " + cause.message);
  }
  return list;
}

TEST(Schema, AcceptsWhatIsRight) {
  constexpr const char* kSchema = R"({"type":"object","required":["n"],"properties":{
      "n":{"type":"integer","minimum":1,"maximum":9},
      "s":{"type":"string","enum":["a","b"]},
      "l":{"type":"array","items":{"type":"string"},"maxItems":2},
      "m":{"type":"object","additionalProperties":{"type":"boolean"}},
      "q":{"x-kubernetes-int-or-string":true}}})";
  EXPECT_EQ(faults(kSchema, R"({"n":9,"s":"b","l":["x"],"m":{"k":true},"q":5})"), Names{});
  EXPECT_EQ(faults(kSchema, R"({"n":2.0,"q":"5Gi"})"), Names{});
}

TEST(Schema, NamesTheFieldAndTheRule) {
  EXPECT_EQ(faults(R"({"type":"object","required":["a"]})", "{}"), Names{"spec.a: Required value"});
  EXPECT_EQ(faults(R"({"type":"integer","minimum":1})", "0"),
            Names{"spec: Invalid value: 0: spec in body should be greater than or equal to 1"});
  EXPECT_EQ(faults(R"({"type":"string","pattern":"^a+$"})", "\"b\""),
            Names{"spec: Invalid value: \"b\": spec in body should match '^a+$'"});
  EXPECT_EQ(faults(R"({"type":"string","maxLength":2})", "\"abc\""),
            Names{"spec: Too long: may not be more than 2 characters"});
  EXPECT_EQ(faults(R"({"type":"array","maxItems":1})", "[1,2]"),
            Names{"spec: Too many: 2: must have at most 1 items"});
  EXPECT_EQ(faults(R"({"type":"array","items":{"type":"object","properties":{
                "port":{"type":"integer"}}}})",
                   R"([{"port":1},{"port":"x"}])"),
            Names{"spec[1].port: Invalid value: \"string\": spec[1].port in body must be of type "
                  "integer: \"string\""});
}

TEST(Schema, CountsCharactersNotBytes) {
  EXPECT_EQ(faults(R"({"type":"string","maxLength":3})", "\"äöü\""), Names{});
}

TEST(Schema, ChecksFormats) {
  EXPECT_EQ(faults(R"({"type":"string","format":"duration"})", "\"1h30m\""), Names{});
  EXPECT_EQ(faults(R"({"type":"string","format":"duration"})", "\"soon\"").size(), 1U);
  EXPECT_EQ(faults(R"({"type":"string","format":"date-time"})", "\"2030-01-01\"").size(), 1U);
  EXPECT_EQ(faults(R"({"type":"integer","format":"int32"})", "3000000000").size(), 1U);
}

TEST(Schema, RefusesTwoElementsWithOneKey) {
  EXPECT_EQ(faults(R"({"type":"array","x-kubernetes-list-map-keys":["name"]})",
                   R"([{"name":"a"},{"name":"b"},{"name":"a"}])"),
            Names{R"(spec[2]: Duplicate value: {"name":"a"})"});
}

TEST(Schema, DoesNotMatchATextOfAnyLengthAgainstAPattern) {
  const std::string text = "\"" + std::string(1'000'000, 'a') + "\"";
  EXPECT_EQ(faults(R"({"type":"string","pattern":"^(a+)+$"})", text).size(), 1U);
}

TEST(Schema, ListsABoundedNumberOfFaults) {
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) list += i ? ",0" : "0";
  EXPECT_EQ(faults(R"({"type":"array","items":{"type":"string"}})", list + "]").size(), kCausesMax);
}

TEST(Schema, PrunesWhatItDoesNotKnow) {
  const Schema schema = of_spec(R"({"type":"object","properties":{
      "a":{"type":"object","properties":{"b":{"type":"string"}}},
      "l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}},
      "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
      "map":{"type":"object","additionalProperties":{"type":"string"}}}})");
  json::object object = parse(R"({"kind":"K","metadata":{"any":1},"extra":1,"spec":{
      "a":{"b":"1","c":2},"l":[{"x":"1","y":2}],"free":{"z":{"w":1}},"map":{"k":"v"},"o":null}})");
  EXPECT_EQ(schema.prune(object), (Names{"extra", "spec.a.c", "spec.l[0].y"}));
  EXPECT_EQ(json::serialize(object),
            R"({"kind":"K","metadata":{"any":1},"spec":{"a":{"b":"1"},"l":[{"x":"1"}],)"
            R"("free":{"z":{"w":1}},"map":{"k":"v"}}})");
}

TEST(Schema, FillsInDefaultsOfWhatIsThere) {
  const Schema schema = of_spec(R"({"type":"object","properties":{
      "a":{"type":"object","properties":{"kind":{"type":"string","default":"K"}}},
      "n":{"type":"integer","default":3}}})");
  json::object object = parse(R"({"spec":{"a":{}}})");
  schema.apply_defaults(object);
  EXPECT_EQ(json::serialize(object), R"({"spec":{"a":{"kind":"K"},"n":3}})");
  json::object without = parse(R"({"spec":{}})");
  schema.apply_defaults(without);
  EXPECT_EQ(json::serialize(without), R"({"spec":{"n":3}})");
}

TEST(Schema, RefusesAWordThatItWouldIgnore) {
  const auto refused = Schema::parse(parse(R"({"type":"object","oneOf":[]})"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("oneOf"), std::string::npos);
}

TEST(Schema, OfOurKindsIsUsable) {
  int found = 0;
  for (const Resource& resource : all_resources()) {
    EXPECT_EQ(find_schema(resource) != nullptr, resource.is_custom) << resource.type.kind;
    found += find_schema(resource) != nullptr;
  }
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace agenttier::store
