#pragma once
// A table of routes: which handler answers a method and a path.
//
// A pattern is a path of segments: a literal, `{name}` for one segment, or a last `{name...}` for
// the rest, which may be empty and may hold slashes, also several in a row. Literals win over
// variables, variables over rests, segment by segment from the left. Values are percent-decoded,
// after the path was split: an encoded slash in a segment stays within it. A route of GET also
// answers HEAD. The table knows nothing of handlers: a route is a number that the caller chose.
//
// Example:
//   RouteTable routes;
//   routes.add("GET", "/api/v1/sandboxes/{id}/files/{path...}", kReadFile);
//   auto match = routes.match("GET", "/api/v1/sandboxes/demo/files/src//main.c");

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace agenttier::http {

using RouteVariables = std::map<std::string, std::string, std::less<>>;

struct RouteMatch {
  std::size_t route = 0;
  RouteVariables variables;
};
struct RouteNotFound {};
struct MethodNotAllowed {
  std::string allow;  // for the Allow header: "GET, HEAD, POST"
};
// A broken percent escape or a NUL in a variable.
struct BadPath {
  base::Error error;
};
using RouteResult = std::variant<RouteMatch, RouteNotFound, MethodNotAllowed, BadPath>;

class RouteTable {
 public:
  RouteTable();
  ~RouteTable();
  RouteTable(RouteTable&&) noexcept;
  RouteTable& operator=(RouteTable&&) noexcept;

  // A malformed pattern, or one that is there already with this method, is a bug (AT_ASSERT).
  void add(std::string_view method, std::string_view pattern, std::size_t route);
  // `path` is still encoded and has no query (Target::path). A slash at its end matters.
  RouteResult match(std::string_view method, std::string_view path) const;

 private:
  struct Node;
  std::unique_ptr<Node> root_;
};

}  // namespace agenttier::http
