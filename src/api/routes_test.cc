#include "api/routes.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string>

#include "api/openapi.h"
#include "base/error.h"

namespace agenttier::api {
namespace {

template <class T>
concept CompilesWithoutWho = requires { T{.operation = "x", .method = "GET", .path = "/x"}; };
template <class T>
concept CompilesWithWho =
    requires { T{.operation = "x", .method = "GET", .path = "/x", .who = Access::kAny}; };
static_assert(!CompilesWithoutWho<Route>, "a row must say who may call it");
static_assert(CompilesWithWho<Route>);

TEST(Routes, OperationsAndPathsAreThereOnce) {
  std::set<std::string> seen;
  for (const Route& route : kRoutes) {
    EXPECT_TRUE(seen.insert(std::string(route.operation)).second) << route.operation;
    EXPECT_TRUE(seen.insert(std::string(route.method) + " " + std::string(route.path)).second)
        << route.path;
    EXPECT_EQ(find_route(route.operation), &route);
  }
  EXPECT_EQ(find_route("noSuchOperation"), nullptr);
}

TEST(Routes, OnlyWhatTellsNothingOfSandboxesIsPublic) {
  std::set<std::string_view> open;
  for (const Route& route : kRoutes) {
    if (route.who == Access::kPublic) open.insert(route.operation);
  }
  EXPECT_EQ(open,
            (std::set<std::string_view>{"healthz", "readyz", "metrics", "openapi", "version"}));
}

TEST(Routes, WhoeverReachesIntoASandboxOwnsIt) {
  for (const Route& route : kRoutes) {
    if (!route.path.starts_with("/api/v1/sandboxes/{id}")) continue;
    if (route.operation == "getSandbox") continue;
    EXPECT_EQ(route.who, Who(Access::kOwner)) << route.operation;
  }
}

TEST(Routes, AKeyForFilesRunsNothing) {
  for (const Route& route : kRoutes) {
    const bool runs = route.path.find("/exec") != std::string_view::npos ||
                      route.path.find("/processes") != std::string_view::npos;
    if (runs) {
      EXPECT_EQ(route.scope, Scope::kRunCommand) << route.operation;
    }
    if (route.scope != Scope::kNone) {
      EXPECT_TRUE(route.path.starts_with("/api/v1/sandboxes/{id}"))
          << route.operation << " admits a key that is bound to one sandbox";
    }
  }
}

TEST(Routes, ARequestHasALimitOfBytes) {
  for (const Route& route : kRoutes) {
    if (!route.request.empty()) {
      EXPECT_GT(route.body_bytes_max, 0u) << route.operation;
    }
  }
}

TEST(OpenApi, DescribesEveryRoute) {
  const boost::json::value document = boost::json::parse(openapi_json());
  EXPECT_EQ(document.at("openapi").as_string(), "3.1.0");
  for (const Route& route : kRoutes) {
    std::string path(route.path);
    if (const auto star = path.find('*'); star != std::string::npos) path.erase(star, 1);
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(c | 0x20);
    const auto& operation = document.at("paths").at(path).at(method);
    EXPECT_EQ(operation.at("operationId").as_string(), route.operation);
    EXPECT_TRUE(operation.at("responses").as_object().contains(std::to_string(route.success)));
  }
}

TEST(OpenApi, ItsErrorsAreThoseOfTheProgram) {
  const boost::json::value document = boost::json::parse(openapi_json());
  std::size_t rows = 0;
  for (const auto& row : document.at("x-agenttier-errors").as_array()) {
    const auto code = static_cast<base::ErrorCode>(rows++);
    EXPECT_EQ(row.at("code").as_string(), base::code_name(code));
    EXPECT_EQ(row.at("status").as_int64(), base::http_status(code));
    EXPECT_EQ(row.at("kubernetes").as_string(), base::kubernetes_reason(code));
  }
  EXPECT_EQ(rows, static_cast<std::size_t>(base::ErrorCode::kInternal) + 1);
}

}  // namespace
}  // namespace agenttier::api
