#pragma once
// RouterMetrics counts what the router does, for Prometheus: requests by route and status, their
// time, what is in flight, and how many sandboxes are in each phase.
//
// Labels come from the route table and from HTTP statuses, never from a request, so that callers
// cannot make series. Not thread-safe.
//
// Example:
//   metrics.count("GET /sandboxes/{id}", 200, elapsed);
//   metrics.set_sandboxes({{"Running", 12}});
//   reply_text(200, metrics.text());

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace agenttier::router {

class RouterMetrics {
 public:
  RouterMetrics();
  ~RouterMetrics();

  // `route` must be of static storage: it is a key.
  void count(std::string_view route, int status, std::chrono::nanoseconds elapsed);
  void add_in_flight(int change);
  void set_sandboxes(const std::map<std::string, std::int64_t>& by_phase);
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace agenttier::router
