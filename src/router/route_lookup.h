#pragma once
// RouteLookup finds the row of the route table (api/routes.h) for a method and a path.
//
// Matching is that of http::RouteTable, but a slash at the end of a path is ignored where the path
// has no route of its own. Variables are decoded after the path was split.
//
// Example:
//   AT_TRY(const RouteMatch match, lookup.find("GET", "/api/v1/sandboxes/demo"));
//   match.route->operation;   // "getSandbox"

#include <span>
#include <string>
#include <string_view>

#include "api/route.h"
#include "base/result.h"
#include "http/routes.h"

namespace agenttier::router {

struct RouteMatch {
  const api::Route* route = nullptr;
  http::RouteVariables parameters;
  std::string allow;  // without a route: the methods of this path, "GET, PUT"; empty: no such path
};

class RouteLookup {
 public:
  // `routes` must outlive this.
  explicit RouteLookup(std::span<const api::Route> routes);

  // `path` is encoded. kInvalid if a segment is not.
  base::Result<RouteMatch> find(std::string_view method, std::string_view path) const;

 private:
  std::span<const api::Route> routes_;
  http::RouteTable table_;
};

}  // namespace agenttier::router
