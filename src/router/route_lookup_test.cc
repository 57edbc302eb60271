#include "router/route_lookup.h"

#include <gtest/gtest.h>

#include "api/routes.h"

namespace agenttier::router {
namespace {

RouteMatch find(std::string_view method, std::string_view path) {
  const RouteLookup lookup(api::kRoutes);
  auto match = lookup.find(method, path);
  return match ? *std::move(match) : RouteMatch();
}

std::string operation(std::string_view method, std::string_view path) {
  const RouteMatch match = find(method, path);
  return match.route == nullptr ? "" : std::string(match.route->operation);
}

std::string parameter(const RouteMatch& match, std::string_view name) {
  const auto found = match.parameters.find(name);
  return found == match.parameters.end() ? "(none)" : found->second;
}

TEST(RouteLookup, FindsEveryRowByItsOwnPath) {
  for (const api::Route& route : api::kRoutes) {
    EXPECT_EQ(operation(route.method, route.path), route.operation);
  }
}

TEST(RouteLookup, IgnoresATrailingSlash) {
  EXPECT_EQ(operation("GET", "/api/v1/sandboxes/"), "listSandboxes");
  EXPECT_EQ(operation("GET", "/api/v1/sandboxes/demo/ports/"), "listPorts");
}

TEST(RouteLookup, KeepsTheRestOfAPathAsItWasWritten) {
  const RouteMatch file = find("PUT", "/api/v1/sandboxes/demo/files//workspace/a%20b/%C3%AF");
  EXPECT_EQ(file.route->operation, "writeFile");
  EXPECT_EQ(parameter(file, "path"), "/workspace/a b/\u00ef");
  EXPECT_EQ(parameter(find("GET", "/api/v1/sandboxes/demo/files/../../x"), "path"), "../../x");
  EXPECT_EQ(parameter(find("GET", "/api/v1/sandboxes/demo/files/"), "path"), "");
}

TEST(RouteLookup, DoesNotLetAnEncodedSlashMakeASegment) {
  const RouteMatch one = find("GET", "/api/v1/sandboxes/demo%2Fports");
  EXPECT_EQ(one.route->operation, "getSandbox");
  EXPECT_EQ(parameter(one, "id"), "demo/ports");
}

TEST(RouteLookup, TellsTheMethodsOfAPathThatHasOthers) {
  const RouteMatch none = find("POST", "/api/v1/sandboxes/demo");
  EXPECT_EQ(none.route, nullptr);
  EXPECT_EQ(none.allow, "DELETE, GET, HEAD, PATCH");
}

TEST(RouteLookup, KnowsNoPathOutsideTheTable) {
  for (const char* path :
       {"/", "/api/v1/nothing", "//api/v1/sandboxes", "/api/v1/sandboxes//ports"}) {
    EXPECT_EQ(find("GET", path).route, nullptr) << path;
    EXPECT_EQ(find("GET", path).allow, "") << path;
  }
}

TEST(RouteLookup, RefusesABrokenEscapeAndANul) {
  const RouteLookup lookup(api::kRoutes);
  EXPECT_FALSE(lookup.find("GET", "/api/v1/sandboxes/%zz"));
  EXPECT_FALSE(lookup.find("GET", "/api/v1/sandboxes/demo/files/a%00b"));
}

}  // namespace
}  // namespace agenttier::router
