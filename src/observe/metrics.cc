#include "observe/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <sstream>
#include <utility>

#include "base/assert.h"

namespace agenttier::observe {
namespace {

class WrappedCounter final : public Counter {
 public:
  explicit WrappedCounter(prometheus::Counter& inner) : inner_(inner) {}
  void add(double amount) override { inner_.Increment(amount); }
  double value() const override { return inner_.Value(); }

 private:
  prometheus::Counter& inner_;
};

class WrappedGauge final : public Gauge {
 public:
  explicit WrappedGauge(prometheus::Gauge& inner) : inner_(inner) {}
  void set(double value) override { inner_.Set(value); }
  void add(double amount) override { inner_.Increment(amount); }
  double value() const override { return inner_.Value(); }

 private:
  prometheus::Gauge& inner_;
};

class WrappedHistogram final : public Histogram {
 public:
  explicit WrappedHistogram(prometheus::Histogram& inner) : inner_(inner) {}
  void observe(double value) override { inner_.Observe(value); }

 private:
  prometheus::Histogram& inner_;
};

// All series of one name.
template <class Inner, class Outer>
struct Name {
  prometheus::Family<Inner>* family;
  std::vector<double> bounds;  // of a histogram
  std::map<Labels, std::unique_ptr<Outer>> series;
};

template <class Inner, class Outer>
using Names = std::map<std::string, Name<Inner, Outer>>;

void hide_values(Labels& labels) {
  for (auto& [label, value] : labels) value = "other";
}

// The series, made by `make` if it is new.
template <class Entry, class Make>
auto& find_or_make(Entry& entry, Labels labels, std::size_t series_max, Make make) {
  auto found = entry.series.find(labels);
  if (found == entry.series.end() && entry.series.size() >= series_max) {
    hide_values(labels);
    found = entry.series.find(labels);
  }
  if (found == entry.series.end()) {
    found = entry.series.emplace(labels, make(*entry.family, labels)).first;
  }
  return *found->second;
}

}  // namespace

struct Metrics::State {
  explicit State(MetricsOptions options_in) : options(options_in) {}

  template <class Inner, class Outer, class Build>
  Name<Inner, Outer>& name_entry(Names<Inner, Outer>& names, const std::string& name,
                                 const std::string& help, Build builder) {
    auto found = names.find(name);
    if (found == names.end()) {
      const std::size_t kinds = counters.count(name) + gauges.count(name) + histograms.count(name);
      AT_ASSERT(kinds == 0);
      auto& family = builder.Name(name).Help(help).Register(registry);
      found = names.emplace(name, Name<Inner, Outer>{&family, {}, {}}).first;
    }
    return found->second;
  }

  MetricsOptions options;
  mutable std::mutex mutex;
  prometheus::Registry registry;
  Names<prometheus::Counter, WrappedCounter> counters;
  Names<prometheus::Gauge, WrappedGauge> gauges;
  Names<prometheus::Histogram, WrappedHistogram> histograms;
};

Metrics::Metrics(MetricsOptions options) : state_(std::make_unique<State>(options)) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(const std::string& name, const std::string& help, Labels labels) {
  const std::scoped_lock lock(state_->mutex);
  auto& entry = state_->name_entry(state_->counters, name, help, prometheus::BuildCounter());
  return find_or_make(entry, std::move(labels), state_->options.series_max,
                      [](auto& family, const Labels& all) {
                        return std::make_unique<WrappedCounter>(family.Add(all));
                      });
}

Gauge& Metrics::gauge(const std::string& name, const std::string& help, Labels labels) {
  const std::scoped_lock lock(state_->mutex);
  auto& entry = state_->name_entry(state_->gauges, name, help, prometheus::BuildGauge());
  return find_or_make(entry, std::move(labels), state_->options.series_max,
                      [](auto& family, const Labels& all) {
                        return std::make_unique<WrappedGauge>(family.Add(all));
                      });
}

Histogram& Metrics::histogram(const std::string& name, const std::string& help,
                              const std::vector<double>& bounds, Labels labels) {
  AT_ASSERT(std::is_sorted(bounds.begin(), bounds.end()));
  const std::scoped_lock lock(state_->mutex);
  auto& entry = state_->name_entry(state_->histograms, name, help, prometheus::BuildHistogram());
  if (entry.series.empty()) entry.bounds = bounds;
  return find_or_make(entry, std::move(labels), state_->options.series_max,
                      [&entry](auto& family, const Labels& all) {
                        return std::make_unique<WrappedHistogram>(family.Add(all, entry.bounds));
                      });
}

std::string Metrics::text() const {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, state_->registry.Collect());
  return text.str();
}

const std::vector<double>& latency_bounds() {
  static const std::vector<double> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                              0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                              1,      2.5,     5,      10};
  return kBounds;
}

}  // namespace agenttier::observe
