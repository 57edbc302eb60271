#include "base/time_format.h"

#include <gtest/gtest.h>

namespace agenttier::base {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsWhatGoWrites) {
  EXPECT_EQ(parse_duration("30s").value(), 30s);
  EXPECT_EQ(parse_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_duration("1.5h").value(), 90min);
  EXPECT_EQ(parse_duration("-2ms").value(), -2ms);
  EXPECT_EQ(parse_duration("0").value(), 0s);
}

TEST(Duration, RefusesWhatIsNotOne) {
  for (const char* text : {"", "-", "30", "30 minutes", "h", "1x", "9999999h", "1h-2m", "..s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Duration, PrintsAsGoDoes) {
  EXPECT_EQ(format_duration(90s), "1m30s");
  EXPECT_EQ(format_duration(2h), "2h0m0s");
  EXPECT_EQ(format_duration(1500ms), "1.5s");
  EXPECT_EQ(format_duration(250us), "250\u00b5s");
  EXPECT_EQ(format_duration(-3s), "-3s");
  EXPECT_EQ(format_duration(0s), "0s");
}

TEST(Rfc3339, RoundTrips) {
  const auto time = parse_rfc3339("2026-07-22T16:29:45.250+02:00").value();
  EXPECT_EQ(format_rfc3339(time), "2026-07-22T14:29:45Z");
  EXPECT_EQ(format_rfc3339_micros(time), "2026-07-22T14:29:45.250000Z");
}

TEST(Rfc3339, RefusesWhatIsNotATime) {
  for (const char* text : {"", "2026-07-22", "2026-02-30T00:00:00Z", "2026-07-22T25:00:00Z",
                           "2026-07-22T16:29:45", "2026-07-22T16:29:45.Z", "2026-07-22 16:29:45Z",
                           "0226-01-31T12:00:00Z", "9999-01-31T12:00:00Z"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

}  // namespace
}  // namespace agenttier::base
