#include "router/route_lookup.h"

#include <utility>
#include <variant>

namespace agenttier::router {
namespace {

// "{path*}" of the table is "{path...}" there.
std::string pattern_of(std::string_view path) {
  std::string pattern(path);
  if (pattern.ends_with("*}")) pattern.replace(pattern.size() - 2, 2, "...}");
  return pattern;
}

}  // namespace

RouteLookup::RouteLookup(std::span<const api::Route> routes) : routes_(routes) {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    table_.add(routes_[i].method, pattern_of(routes_[i].path), i);
  }
}

base::Result<RouteMatch> RouteLookup::find(std::string_view method, std::string_view path) const {
  http::RouteResult result = table_.match(method, path);
  if (std::holds_alternative<http::RouteNotFound>(result) && path.size() > 1 &&
      path.ends_with('/')) {
    result = table_.match(method, path.substr(0, path.size() - 1));
  }
  RouteMatch match;
  if (auto* bad = std::get_if<http::BadPath>(&result)) return std::move(bad->error);
  if (auto* other = std::get_if<http::MethodNotAllowed>(&result)) {
    match.allow = std::move(other->allow);
  }
  if (auto* found = std::get_if<http::RouteMatch>(&result)) {
    match.route = &routes_[found->route];
    match.parameters = std::move(found->variables);
  }
  return match;
}

}  // namespace agenttier::router
