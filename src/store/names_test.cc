#include "store/names.h"

#include <gtest/gtest.h>

namespace agenttier::store {
namespace {

TEST(Names, SubdomainsMayHaveDots) {
  EXPECT_EQ(name_fault(NameRule::kSubdomain, "a.b-c.1"), "");
  EXPECT_EQ(name_fault(NameRule::kSubdomain, std::string(253, 'a')), "");
  for (const std::string bad : {"", "A", "a_b", "-a", "a-", ".a", "a..b", "a b", "ä", "a/b"}) {
    EXPECT_NE(name_fault(NameRule::kSubdomain, bad), "") << bad;
  }
  EXPECT_NE(name_fault(NameRule::kSubdomain, std::string(254, 'a')), "");
  EXPECT_NE(name_fault(NameRule::kSubdomain, std::string_view("a\0b", 3)), "");
}

TEST(Names, LabelsMayNotHaveDots) {
  EXPECT_EQ(name_fault(NameRule::kLabel, "1-a"), "");
  EXPECT_NE(name_fault(NameRule::kLabel, "a.b"), "");
  EXPECT_NE(name_fault(NameRule::kLabel, std::string(64, 'a')), "");
}

TEST(Names, ServicesStartWithALetter) {
  EXPECT_EQ(name_fault(NameRule::kServiceLabel, "a1"), "");
  EXPECT_NE(name_fault(NameRule::kServiceLabel, "1a"), "");
}

TEST(Names, KeysOfLabelsHaveAPrefix) {
  EXPECT_EQ(qualified_name_fault("agenttier.io/Sandbox_1"), "");
  EXPECT_EQ(qualified_name_fault("x"), "");
  for (const char* bad : {"", "/x", "a/", "a/b/c", "A.io/x", "-x", "x y"}) {
    EXPECT_NE(qualified_name_fault(bad), "") << bad;
  }
}

TEST(Names, ValuesOfLabelsMayBeEmpty) {
  EXPECT_EQ(label_value_fault(""), "");
  EXPECT_EQ(label_value_fault("A.b_c-1"), "");
  EXPECT_NE(label_value_fault("-"), "");
  EXPECT_NE(label_value_fault(std::string(64, 'a')), "");
}

TEST(Names, KeysOfSecretsAreFileNames) {
  EXPECT_EQ(data_key_fault(".dockerconfigjson"), "");
  for (const char* bad : {"", ".", "..", "a/b", "a b"}) EXPECT_NE(data_key_fault(bad), "") << bad;
}

}  // namespace
}  // namespace agenttier::store
