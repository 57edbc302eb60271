#pragma once
// Metrics of one program: counters, gauges and histograms with labels, and their text form for
// Prometheus. There is no global registry: the object is made in main and passed around.
//
// A metric is asked for by name and labels; asking again gives the same one, so keep the reference
// where it is used often. References live as long as the Metrics object. The kind and help of a
// name are those of its first use; a name that is no Prometheus name is a bug (AT_ASSERT). Label
// values must come from a small set (a route, a status class), never from a caller's data: each
// makes a series, and beyond `series_max` the values of new ones are replaced by "other".
// Thread-safe, like the library below it.
//
// Example:
//   Counter& calls = metrics.counter("agenttier_calls_total", "Calls answered", {{"route",
//   "exec"}}); calls.add();

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agenttier::observe {

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(double amount = 1) = 0;  // a negative amount is ignored
  virtual double value() const = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value) = 0;
  virtual void add(double amount) = 0;
  virtual double value() const = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value) = 0;
};

struct MetricsOptions {
  std::size_t series_max;  // for each name
};

class Metrics {
 public:
  explicit Metrics(MetricsOptions options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter& counter(const std::string& name, const std::string& help, Labels labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, Labels labels = {});
  // `bounds` are the upper bounds of the buckets, rising; those of the first use count.
  Histogram& histogram(const std::string& name, const std::string& help,
                       const std::vector<double>& bounds, Labels labels = {});

  // The text exposition format, version 0.0.4.
  std::string text() const;

  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Seconds, from a tenth of a millisecond to ten seconds: for requests.
const std::vector<double>& latency_bounds();

}  // namespace agenttier::observe
