#include "api/spec_hash.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace agenttier::api {
namespace {

std::string canonical(std::string_view text) {
  return canonical_json(boost::json::parse(text));
}

TEST(SpecHash, DependsOnWhatIsSaidAndNotOnHow) {
  EXPECT_EQ(canonical(R"({"b": [1, 2.0, {"y": 1, "x": null}], "a": "ä\n"})"),
            canonical("{\"a\":\"\\u00e4\\u000a\",\"b\":[1.0,2,{\"y\":1}]}"));
  EXPECT_EQ(canonical(R"({"b": 1, "a": {}})"), R"({"a":{},"b":1})");
}

TEST(SpecHash, DiffersWhenAnythingDiffers) {
  const std::string one = spec_hash(boost::json::parse(R"({"a": [1, 2]})"));
  for (const char* other : {R"({"a": [2, 1]})", R"({"a": ["1", 2]})", R"({"b": [1, 2]})",
                            R"({"a": [1, 2, null]})", R"({"a": [1, 2.5]})", R"({"a": {}})"}) {
    EXPECT_NE(spec_hash(boost::json::parse(other)), one) << other;
  }
}

TEST(SpecHash, IsASha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(spec_hash(boost::json::parse("{}")), sha256_hex("{}"));
}

}  // namespace
}  // namespace agenttier::api
