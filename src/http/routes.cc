#include "http/routes.h"

#include <optional>
#include <utility>

#include "base/assert.h"
#include "http/message.h"

namespace agenttier::http {

// A place in the tree of patterns. Names of variables belong to the routes, since two patterns may
// name the same segment differently.
struct RouteTable::Node {
  struct Route {
    std::size_t route;
    std::vector<std::string> names;  // in the order of the pattern
  };
  using Routes = std::map<std::string, Route, std::less<>>;  // by method

  std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
  std::unique_ptr<Node> variable;
  Routes here;
  Routes rest;
};

namespace {

using Values = std::vector<std::string_view>;

bool is_variable(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

// "a/b" gives "a" and leaves "b"; the last segment leaves nothing.
std::string_view next_segment(std::optional<std::string_view>& rest) {
  const auto slash = rest->find('/');
  const auto segment = rest->substr(0, slash);
  rest = slash == std::string_view::npos ? std::nullopt : std::optional(rest->substr(slash + 1));
  return segment;
}

}  // namespace

RouteTable::RouteTable() : root_(std::make_unique<Node>()) {}
RouteTable::~RouteTable() = default;
RouteTable::RouteTable(RouteTable&&) noexcept = default;
RouteTable& RouteTable::operator=(RouteTable&&) noexcept = default;

void RouteTable::add(std::string_view method, std::string_view pattern, std::size_t route) {
  AT_ASSERT(!method.empty() && !pattern.empty() && pattern.front() == '/');
  Node* node = root_.get();
  std::vector<std::string> names;
  std::optional<std::string_view> rest = pattern.substr(1);
  while (rest) {
    std::string_view segment = next_segment(rest);
    if (!is_variable(segment)) {
      AT_ASSERT(segment.find_first_of("{}") == std::string_view::npos);
      auto& child = node->literals[std::string(segment)];
      if (!child) child = std::make_unique<Node>();
      node = child.get();
      continue;
    }
    segment = segment.substr(1, segment.size() - 2);
    if (segment.ends_with("...")) {
      AT_ASSERT(!rest);
      names.emplace_back(segment.substr(0, segment.size() - 3));
      AT_ASSERT(node->rest.emplace(method, Node::Route{route, std::move(names)}).second);
      return;
    }
    names.emplace_back(segment);
    if (!node->variable) node->variable = std::make_unique<Node>();
    node = node->variable.get();
  }
  AT_ASSERT(node->here.emplace(method, Node::Route{route, std::move(names)}).second);
}

namespace {

template <class Routes>
const typename Routes::mapped_type* find_method(const Routes& routes, std::string_view method) {
  auto found = routes.find(method);
  if (found == routes.end() && method == "HEAD") found = routes.find("GET");
  return found == routes.end() ? nullptr : &found->second;
}

template <class Routes>
void note_methods(const Routes& routes, std::map<std::string, bool>& allowed) {
  for (const auto& [method, route] : routes) {
    allowed[method] = true;
    if (method == "GET") allowed["HEAD"] = true;
  }
}

// One walk through the tree: the first route with the method wins; methods of others are noted.
template <class Node, class Route>
class Search {
 public:
  explicit Search(std::string_view method) : method_(method) {}

  const Route* visit(const Node& node, std::optional<std::string_view> rest) {
    if (!rest) return finish(node.here);
    auto further = rest;
    const std::string_view segment = next_segment(further);
    if (const auto literal = node.literals.find(segment); literal != node.literals.end()) {
      if (const auto* route = visit(*literal->second, further)) return route;
    }
    if (node.variable && !segment.empty()) {
      values.push_back(segment);
      if (const auto* route = visit(*node.variable, further)) return route;
      values.pop_back();
    }
    values.push_back(*rest);
    if (const auto* route = finish(node.rest)) return route;
    values.pop_back();
    return nullptr;
  }

  Values values;
  std::map<std::string, bool> allowed;

 private:
  template <class Routes>
  const Route* finish(const Routes& routes) {
    note_methods(routes, allowed);
    return find_method(routes, method_);
  }

  std::string_view method_;
};

std::string allow_text(const std::map<std::string, bool>& allowed) {
  std::string text;
  for (const auto& [method, unused] : allowed) {
    if (!text.empty()) text += ", ";
    text += method;
  }
  return text;
}

}  // namespace

RouteResult RouteTable::match(std::string_view method, std::string_view path) const {
  if (path.empty() || path.front() != '/') return RouteNotFound();
  Search<Node, Node::Route> search(method);
  const auto* found = search.visit(*root_, path.substr(1));
  if (!found) {
    if (search.allowed.empty()) return RouteNotFound();
    return MethodNotAllowed{allow_text(search.allowed)};
  }
  RouteMatch match{found->route, {}};
  for (std::size_t i = 0; i < found->names.size(); ++i) {
    auto value = percent_decode(search.values[i]);
    if (!value) return BadPath{std::move(value).error().context(found->names[i])};
    match.variables[found->names[i]] = *std::move(value);
  }
  return match;
}

}  // namespace agenttier::http
