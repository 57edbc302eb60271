#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"

namespace agenttier::base {
namespace {

TEST(Base64, RoundTripsEveryLength) {
  SeededRandom random(7);
  for (std::size_t size = 0; size < 70; ++size) {
    const std::string raw = random.bytes(size);
    EXPECT_EQ(from_base64(to_base64(raw)).value(), raw);
    EXPECT_EQ(from_base64(to_base64url(raw)).value(), raw);
  }
}

TEST(Base64, RefusesOtherText) {
  EXPECT_FALSE(from_base64("a"));
  EXPECT_FALSE(from_base64("ab!d"));
}

TEST(Utf8, ReplacesOnlyWhatIsBroken) {
  EXPECT_EQ(to_valid_utf8("h\u00e9llo \u4e16"), "h\u00e9llo \u4e16");
  EXPECT_EQ(to_valid_utf8("a\xff"
                          "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(to_valid_utf8("\xe4\xb8"), "\uFFFD\uFFFD");
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));
}

TEST(ErrorTable, EveryCodeHasItsOwnName) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    const auto typed = static_cast<ErrorCode>(code);
    EXPECT_GE(http_status(typed), 400);
    EXPECT_FALSE(kubernetes_reason(typed).empty());
    if (typed != ErrorCode::kExists) {
      EXPECT_EQ(code_from_http_status(http_status(typed)), typed);
    }
  }
}

TEST(Random, TokensAreLongAndUnlike) {
  SystemRandom random;
  EXPECT_EQ(random.token().size(), 43U);
  EXPECT_NE(random.token(), random.token());
  EXPECT_EQ(random.uuid().size(), 36U);
}

}  // namespace
}  // namespace agenttier::base
