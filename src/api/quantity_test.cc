#include "api/quantity.h"

#include <gtest/gtest.h>

#include <limits>

namespace agenttier::api {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Quantity, ReadsWholeAmounts) {
  EXPECT_EQ(parse_bytes("0").value(), 0);
  EXPECT_EQ(parse_bytes("10").value(), 10);
  EXPECT_EQ(parse_bytes("1Ki").value(), 1024);
  EXPECT_EQ(parse_bytes("512Mi").value(), 536870912);
  EXPECT_EQ(parse_bytes("1.5Gi").value(), 1610612736);
  EXPECT_EQ(parse_bytes("1k").value(), 1000);
  EXPECT_EQ(parse_bytes("2G").value(), 2000000000);
  EXPECT_EQ(parse_bytes("1E").value(), 1000000000000000000);
  EXPECT_EQ(parse_bytes("1Ei").value(), std::int64_t{1} << 60);
  EXPECT_EQ(parse_bytes("1e3").value(), 1000);
  EXPECT_EQ(parse_bytes("5E-1").value(), 1);
  EXPECT_EQ(parse_bytes("+7").value(), 7);
  EXPECT_EQ(parse_bytes(".5Ki").value(), 512);
  EXPECT_EQ(parse_bytes("1.").value(), 1);
}

TEST(Quantity, ReadsThousandths) {
  EXPECT_EQ(parse_millis("250m").value(), 250);
  EXPECT_EQ(parse_millis("2").value(), 2000);
  EXPECT_EQ(parse_millis("0.1").value(), 100);
  EXPECT_EQ(parse_millis("1e-3").value(), 1);
}

TEST(Quantity, RoundsUpWhatDoesNotComeOutWhole) {
  EXPECT_EQ(parse_bytes("1m").value(), 1);
  EXPECT_EQ(parse_bytes("1500m").value(), 2);
  EXPECT_EQ(parse_millis("100u").value(), 1);
  EXPECT_EQ(parse_millis("1n").value(), 1);
  EXPECT_EQ(parse_bytes("0.0000000000000000000000000001").value(), 1);
  EXPECT_EQ(parse_bytes("-1500m").value(), -2);
}

TEST(Quantity, TakesTheLargestThatFitsAndRefusesTheNext) {
  EXPECT_EQ(parse_bytes("9223372036854775807").value(), kMax);
  EXPECT_EQ(parse_bytes("9223372036854775807000m").value(), kMax);
  for (const char* text :
       {"9223372036854775808", "8Ei", "10E", "1e30", "9999999999999999999999Ei"}) {
    EXPECT_FALSE(parse_bytes(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_millis("9223372036854775807").has_value());
}

TEST(Quantity, SaysWhatIsWrongAndWhatWouldBeRight) {
  for (const char* text : {"", " 1", "1 Gi", "1GB", "Gi", "1..2", "1e", "1e+", "0x10", "1ki", "--1",
                           "1e1000", "NaN", "1e99999999999"}) {
    const auto result = parse_bytes(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code, base::ErrorCode::kInvalid);
    EXPECT_NE(result.error().message.find("write for example 500m"), std::string::npos);
  }
  EXPECT_EQ(parse_bytes("1GB").error().message,
            "'1GB' is not a quantity: 'GB' is no suffix; write for example 500m, 2, 512Mi or 10Gi");
  EXPECT_FALSE(parse_bytes(std::string(100000, '9')).has_value());
}

TEST(Quantity, ANegativeAmountIsNoAmountOfResources) {
  EXPECT_FALSE(check_quantity("-1").has_value());
  EXPECT_TRUE(check_quantity("0").has_value());
}

TEST(Quantity, WritesTheShortestExactText) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000},
                                   std::int64_t{1024}, std::int64_t{1} << 60, kMax}) {
    EXPECT_EQ(parse_bytes(format_bytes(bytes)).value(), bytes);
  }
  EXPECT_EQ(format_bytes(1073741824), "1Gi");
  EXPECT_EQ(format_bytes(1500), "1500");
  EXPECT_EQ(format_millis(2000), "2");
  EXPECT_EQ(format_millis(250), "250m");
}

}  // namespace
}  // namespace agenttier::api
