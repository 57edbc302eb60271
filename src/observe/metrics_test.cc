#include "observe/metrics.h"

#include <gtest/gtest.h>

namespace agenttier::observe {
namespace {

constexpr MetricsOptions kOptions{.series_max = 3};

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, ExposesEachSeriesAsText) {
  Metrics metrics(kOptions);
  metrics.counter("calls_total", "Calls answered", {{"route", "exec"}}).add(2);
  metrics.gauge("open", "Open connections").set(7);
  metrics.histogram("seconds", "Time", {0.1, 1}).observe(0.5);

  const std::string text = metrics.text();

  EXPECT_TRUE(has_line(text, "# HELP calls_total Calls answered"));
  EXPECT_TRUE(has_line(text, "# TYPE calls_total counter"));
  EXPECT_TRUE(has_line(text, "calls_total{route=\"exec\"} 2"));
  EXPECT_TRUE(has_line(text, "open 7"));
  EXPECT_TRUE(has_line(text, "seconds_bucket{le=\"0.1\"} 0"));
  EXPECT_TRUE(has_line(text, "seconds_bucket{le=\"1\"} 1"));
  EXPECT_TRUE(has_line(text, "seconds_bucket{le=\"+Inf\"} 1"));
}

TEST(Metrics, GivesTheSameSeriesForTheSameLabels) {
  Metrics metrics(kOptions);
  Counter& first = metrics.counter("calls_total", "Calls", {{"a", "1"}, {"b", "2"}});
  Counter& again = metrics.counter("calls_total", "Calls", {{"b", "2"}, {"a", "1"}});
  EXPECT_EQ(&first, &again);
  first.add();
  first.add(-5);
  EXPECT_EQ(again.value(), 1);
}

TEST(Metrics, BoundsTheNumberOfSeriesOfAName) {
  Metrics metrics(kOptions);
  for (int i = 0; i < 100; ++i) {
    metrics.counter("calls_total", "Calls", {{"user", std::to_string(i)}}).add();
  }
  EXPECT_EQ(metrics.counter("calls_total", "Calls", {{"user", "0"}}).value(), 1);
  EXPECT_EQ(metrics.counter("calls_total", "Calls", {{"user", "other"}}).value(), 97);
}

TEST(Metrics, EscapesLabelValues) {
  Metrics metrics(kOptions);
  metrics.gauge("open", "Open", {{"name", "a\"b\nc\\"}}).set(1);
  EXPECT_TRUE(has_line(metrics.text(), "open{name=\"a\\\"b\\nc\\\\\"} 1"));
}

}  // namespace
}  // namespace agenttier::observe
