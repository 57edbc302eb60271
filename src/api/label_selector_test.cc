#include "api/label_selector.h"

#include <gtest/gtest.h>

namespace agenttier::api {
namespace {

bool selects(std::string_view text, const Labels& labels) {
  const auto query = parse_label_query(text);
  EXPECT_TRUE(query.has_value()) << text << ": " << query.error().message;
  return query.has_value() && query->matches(labels);
}

TEST(LabelSelector, AnEmptyOneSelectsAll) {
  EXPECT_TRUE(selects("", {}));
  EXPECT_TRUE(selects("  ", {{"a", "b"}}));
}

TEST(LabelSelector, EqualityMeansTheLabelIsThereAndEqual) {
  EXPECT_TRUE(selects("team=red", {{"team", "red"}}));
  EXPECT_TRUE(selects("team == red", {{"team", "red"}}));
  EXPECT_FALSE(selects("team=red", {{"team", "blue"}}));
  EXPECT_FALSE(selects("team=red", {}));
  EXPECT_TRUE(selects("team=", {{"team", ""}}));
  EXPECT_FALSE(selects("team=", {}));
}

TEST(LabelSelector, InequalityAlsoMeansTheLabelIsAbsent) {
  EXPECT_TRUE(selects("team!=red", {}));
  EXPECT_TRUE(selects("team notin (red,blue)", {}));
  EXPECT_FALSE(selects("team notin (red,blue)", {{"team", "blue"}}));
}

TEST(LabelSelector, SetsAndExistenceCombineWithAnd) {
  const std::string_view text = "env in (dev, test),example.com/owner,!old";
  EXPECT_TRUE(selects(text, {{"env", "test"}, {"example.com/owner", ""}}));
  EXPECT_FALSE(selects(text, {{"env", "test"}}));
  EXPECT_FALSE(selects(text, {{"env", "test"}, {"example.com/owner", ""}, {"old", "1"}}));
}

TEST(LabelSelector, WhatIsNotUnderstoodIsAnErrorAndNotEverything) {
  for (const char* text : {",", "a,", ",a", "a=b c=d", "a in b", "a in (b", "a in ()x", "a has b",
                           "=b", "a=b=c", "a b", "!", "a=(b)", "a>1", "a=b c", "A B", "a==="}) {
    EXPECT_FALSE(parse_label_query(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_label_query(std::string(kLabelQueryBytesMax + 1, 'a')).has_value());
}

TEST(LabelSelector, TextAndBackIsTheSame) {
  const auto query = parse_label_query("a=b,c!=d,e in (f,g),h notin (i,j),k,!l").value();
  EXPECT_EQ(query.text(), "a=b,c!=d,e in (f,g),h notin (i,j),k,!l");
  EXPECT_EQ(parse_label_query(query.text()).value(), query);
}

TEST(LabelSelector, TheObjectFormMeansTheSame) {
  LabelSelector selector;
  EXPECT_TRUE(matches(selector, {{"x", "y"}}));
  selector.match_labels["team"] = "red";
  selector.match_expressions.push_back({.key = "env", .operator_ = "In", .values = {"dev"}});
  selector.match_expressions.push_back({.key = "old", .operator_ = "DoesNotExist", .values = {}});
  EXPECT_TRUE(matches(selector, {{"team", "red"}, {"env", "dev"}}));
  EXPECT_FALSE(matches(selector, {{"team", "red"}, {"env", "prod"}}));
}

TEST(LabelSelector, AnUnknownOperatorSelectsNothing) {
  LabelSelector selector;
  selector.match_expressions.push_back({.key = "a", .operator_ = "Like", .values = {"x"}});
  EXPECT_FALSE(matches(selector, {{"a", "x"}}));
  selector.match_expressions = {{.key = "a", .operator_ = "In", .values = {}}};
  EXPECT_FALSE(matches(selector, {{"a", "x"}}));
  EXPECT_FALSE(to_label_query(selector).has_value());
}

}  // namespace
}  // namespace agenttier::api
