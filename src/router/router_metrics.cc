#include "router/router_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <unordered_map>

namespace agenttier::router {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

struct RouteSeries {
  prometheus::Histogram* seconds = nullptr;
  std::map<int, prometheus::Counter*> by_status;
};

}  // namespace

struct RouterMetrics::State {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests = prometheus::BuildCounter()
                                                          .Name("agenttier_http_requests_total")
                                                          .Help("Requests answered.")
                                                          .Register(registry);
  prometheus::Family<prometheus::Histogram>& seconds =
      prometheus::BuildHistogram()
          .Name("agenttier_http_request_duration_seconds")
          .Help("Time from a request's head to its answer's head.")
          .Register(registry);
  prometheus::Family<prometheus::Gauge>& in_flight_family =
      prometheus::BuildGauge()
          .Name("agenttier_http_requests_in_flight")
          .Help("Requests that wait for their answer's head.")
          .Register(registry);
  prometheus::Gauge& in_flight = in_flight_family.Add({});
  prometheus::Family<prometheus::Gauge>& sandboxes = prometheus::BuildGauge()
                                                         .Name("agenttier_sandboxes")
                                                         .Help("Sandboxes in each phase.")
                                                         .Register(registry);
  prometheus::Family<prometheus::Gauge>& build = prometheus::BuildGauge()
                                                     .Name("agenttier_build_info")
                                                     .Help("1, with the version.")
                                                     .Register(registry);
  std::unordered_map<std::string_view, RouteSeries> routes;
};

RouterMetrics::RouterMetrics() : state_(std::make_unique<State>()) {
  state_->build.Add({{"version", AGENTTIER_VERSION}}).Set(1);
}
RouterMetrics::~RouterMetrics() = default;

void RouterMetrics::count(std::string_view route, int status, std::chrono::nanoseconds elapsed) {
  const std::string label(route);
  RouteSeries& series = state_->routes[route];
  if (series.seconds == nullptr) {
    series.seconds = &state_->seconds.Add({{"route", label}}, kSeconds);
  }
  prometheus::Counter*& counter = series.by_status[status];
  if (counter == nullptr) {
    counter = &state_->requests.Add({{"route", label}, {"status", std::to_string(status)}});
  }
  counter->Increment();
  series.seconds->Observe(std::chrono::duration<double>(elapsed).count());
}

void RouterMetrics::add_in_flight(int change) {
  state_->in_flight.Increment(change);
}

void RouterMetrics::set_sandboxes(const std::map<std::string, std::int64_t>& by_phase) {
  for (const auto& [phase, number] : by_phase) {
    state_->sandboxes.Add({{"phase", phase}}).Set(static_cast<double>(number));
  }
}

std::string RouterMetrics::text() const {
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace agenttier::router
