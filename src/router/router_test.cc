// What every call has in common: who may call, request ids, limits, the shape of errors.

#include "router/router.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "api/routes.h"
#include "router/testing.h"

namespace agenttier::router {
namespace {

namespace json = boost::json;

// The route's path with things that are there.
std::string path_of(const api::Route& route) {
  std::string path(route.path);
  const auto put = [&](std::string_view variable, std::string_view value) {
    if (const auto at = path.find(variable); at != std::string::npos) {
      path.replace(at, variable.size(), value);
    }
  };
  put("{id}", "demo");
  put("{pid}", "p-0123456789abcdef");
  put("{path*}", "workspace/a");
  put("{port}", "8000");
  put("{name}", "minimal");
  put("{keyId}", "agenttier-apikey-none");
  return path;
}

bool is_public(const api::Route& route) {
  return route.who == api::Access::kPublic;
}

// A body that the route accepts.
std::string body_of(const api::Route& route) {
  if (route.operation == "createSandbox") {
    return R"({"name":"second","templateRef":{"name":"minimal"}})";
  }
  if (route.operation == "patchSandbox") return R"({"labels":{"team":"red"}})";
  if (route.operation == "exec") return R"({"command":"out hi"})";
  if (route.operation == "startProcess") return R"({"argv":["sleep","1"]})";
  if (route.operation == "signalProcess") return R"({"signal":"TERM"})";
  if (route.operation == "resizeProcess") return R"({"cols":80,"rows":24})";
  if (route.operation == "makeDirectory") return R"({"path":"/workspace/d"})";
  if (route.operation == "moveFile") return R"({"from":"/workspace/a","to":"/workspace/b"})";
  if (route.operation == "forwardPort") return R"({"port":8000})";
  if (route.operation == "createTemplate") return R"({"name":"other","spec":{}})";
  if (route.operation == "replaceTemplate") return R"({"spec":{}})";
  return "";
}

struct Callers {
  explicit Callers(TestPlane& plane)
      : alice(plane.key_of("alice")), bob(plane.key_of("bob")), root(plane.key_of("root")) {
    plane.add_template("minimal");
    plane.create("demo", alice);
    plane.set_running("demo");
    plane.runtime.files["/workspace/a"] = "content";
  }
  std::string alice, bob, root;
};

TEST(Router, LetsNobodyInWithoutAGoodCredential) {
  TestPlane plane;
  const Callers callers(plane);
  for (const api::Route& route : api::kRoutes) {
    if (is_public(route)) continue;
    const Reply none = plane.call_target(route.method, path_of(route), "", body_of(route));
    EXPECT_EQ(none.status, 401) << route.operation;
    EXPECT_EQ(none.code(), "missing_authorization") << route.operation;
    const Reply wrong =
        plane.call_target(route.method, path_of(route), "atk_wrong", body_of(route));
    EXPECT_EQ(wrong.status, 401) << route.operation;
    EXPECT_EQ(wrong.code(), "invalid_api_key") << route.operation;
  }
  EXPECT_TRUE(plane.runtime.seen.empty());
}

TEST(Router, AnswersPublicRoutesWithoutACredential) {
  TestPlane plane;
  for (const api::Route& route : api::kRoutes) {
    if (!is_public(route)) continue;
    EXPECT_EQ(plane.call_target(route.method, path_of(route), "").status, 200) << route.operation;
  }
}

TEST(Router, HidesASandboxFromEverybodyButItsCreatorAndAdmins) {
  TestPlane plane;
  const Callers callers(plane);
  for (const api::Route& route : api::kRoutes) {
    const bool about_sandbox = route.path.find("{id}") != std::string_view::npos;
    if (!about_sandbox) continue;
    const Reply other =
        plane.call_target(route.method, path_of(route), callers.bob, body_of(route));
    EXPECT_EQ(other.status, 404) << route.operation;
    EXPECT_EQ(other.error(), "there is no sandbox named demo") << route.operation;
  }
  EXPECT_TRUE(plane.runtime.seen.empty());
  EXPECT_EQ(plane.get("/sandboxes/demo", callers.root).status, 200);
}

TEST(Router, AnswersEachRouteWithItsOwnStatusToWhoMayCall) {
  for (const api::Route& route : api::kRoutes) {
    if (is_public(route) || route.operation == "revokeApiKey") continue;
    if (route.operation == "deleteTemplate" || route.operation == "resumeSandbox") continue;
    TestPlane plane;
    const Callers callers(plane);
    const std::string& key = route.who == api::Access::kAdmin ? callers.root : callers.alice;
    const Reply reply = plane.call_target(route.method, path_of(route), key, body_of(route));
    EXPECT_EQ(reply.status, route.success) << route.operation << ": " << reply.body;
  }
}

TEST(Router, KeepsAdminRoutesForAdmins) {
  TestPlane plane;
  const Callers callers(plane);
  for (const api::Route& route : api::kRoutes) {
    if (route.who != api::Access::kAdmin) continue;
    const Reply refused =
        plane.call_target(route.method, path_of(route), callers.alice, body_of(route));
    EXPECT_EQ(refused.status, 403) << route.operation;
    EXPECT_EQ(refused.error(), "only an administrator may do this") << route.operation;
    EXPECT_EQ(refused.code(), "admin_required") << route.operation;
  }
}

TEST(Router, OpensToABoundKeyOnlyWhatItsActionGroupsName) {
  TestPlane plane;
  const Callers callers(plane);
  const std::string reader = plane.bound_key_of("alice", "demo", {"files:read"});
  for (const api::Route& route : api::kRoutes) {
    if (is_public(route)) continue;
    const Reply reply = plane.call_target(route.method, path_of(route), reader, body_of(route));
    const bool open = route.scope == api::Scope::kFilesRead || route.scope == api::Scope::kBound;
    EXPECT_EQ(reply.status, open ? route.success : 403) << route.operation << ": " << reply.body;
  }
}

TEST(Router, KeepsABoundKeyToItsSandboxAndNotToItsName) {
  TestPlane plane;
  const Callers callers(plane);
  const std::string key = plane.bound_key_of("alice", "demo", {"run-command"});
  plane.create("other", callers.alice);
  plane.set_running("other");
  EXPECT_EQ(plane.post("/sandboxes/other/exec", key, R"({"command":"out x"})").status, 403);
  EXPECT_EQ(plane.post("/sandboxes/demo/exec", key, R"({"command":"out x"})").status, 200);

  EXPECT_EQ(plane.call("DELETE", "/sandboxes/demo", callers.alice).status, 204);
  plane.finish_delete("demo");
  plane.create("demo", callers.alice);
  const Reply reused = plane.post("/sandboxes/demo/exec", key, R"({"command":"out x"})");
  EXPECT_EQ(reused.status, 404);
  EXPECT_EQ(reused.error(), "there is no sandbox named demo");
}

TEST(Router, EchoesAValidRequestIdAndMakesOneElse) {
  TestPlane plane;
  const auto id_of = [&](std::string given) {
    http::Headers headers;
    if (!given.empty()) headers.set("X-Request-ID", std::move(given));
    const Reply reply = plane.call_target("GET", "/healthz", "", "", headers);
    return std::string(reply.headers.find("X-Request-ID").value_or(""));
  };
  EXPECT_EQ(id_of("abc-1.2_3:4"), "abc-1.2_3:4");
  EXPECT_EQ(id_of("").size(), 16U);
  EXPECT_EQ(id_of("has space").size(), 16U);
  EXPECT_EQ(id_of(std::string(129, 'a')).size(), 16U);
}

TEST(Router, PutsTheRequestIdIntoErrors) {
  TestPlane plane;
  http::Headers headers;
  headers.set("X-Request-ID", "mine");
  EXPECT_EQ(plane.call("GET", "/sandboxes", "", "", headers).text("requestId"), "mine");
}

TEST(Router, TellsTheMethodsOfAPath) {
  TestPlane plane;
  const Reply reply = plane.call("PUT", "/sandboxes", plane.key_of("alice"));
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.headers.find("Allow"), "GET, HEAD, POST");
  EXPECT_EQ(reply.error(), "this path does not have that method; it has GET, HEAD, POST");
}

TEST(Router, KnowsNoOtherPath) {
  TestPlane plane;
  const Reply reply = plane.call_target("GET", "/api/v1/nothing", "");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.error(), "there is no such path; GET /api/v1/openapi.json lists them");
}

TEST(Router, RefusesABodyOverTheLimit) {
  TestPlane plane;
  const std::string alice = plane.key_of("alice");
  const Reply reply = plane.post("/sandboxes", alice, std::string((1 << 20) + 1, ' '));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.error(), "the request body is larger than the limit of 1048576 bytes");
}

TEST(Router, RefusesWhatIsNoJsonObject) {
  TestPlane plane;
  const std::string alice = plane.key_of("alice");
  const Reply broken = plane.post("/sandboxes", alice, "{\"name\": ");
  EXPECT_EQ(broken.status, 400);
  EXPECT_TRUE(broken.error().starts_with("the request body is not valid JSON: "));
  EXPECT_EQ(plane.post("/sandboxes", alice, "[]").error(),
            "the request body must be a JSON object");
  EXPECT_EQ(plane.post("/sandboxes", alice, "\"\xff\"").error(),
            "the request body is not valid UTF-8");
}

TEST(Router, RefusesABrokenPath) {
  TestPlane plane;
  const std::string alice = plane.key_of("alice");
  EXPECT_EQ(plane.get("/sandboxes/demo/files/a%00b", alice).status, 400);
  EXPECT_EQ(plane.get("/sandboxes/%zz", alice).status, 400);
}

TEST(Router, TellsWhoTheCallerIs) {
  TestPlane plane;
  const Reply me = plane.get("/user/me", plane.key_of("root"));
  EXPECT_EQ(me.status, 200);
  EXPECT_EQ(me.text("sub"), "root");
  EXPECT_EQ(me.text("groups"), "[]");
  EXPECT_EQ(me.text("isAdmin"), "true");
}

TEST(Router, CountsRequestsByRouteAndSandboxesByPhase) {
  TestPlane plane;
  const Callers callers(plane);
  plane.get("/sandboxes/demo", callers.alice);
  const std::string text = plane.call_target("GET", "/metrics", "").body;
  EXPECT_NE(text.find("agenttier_http_requests_total{route=\"getSandbox\",status=\"200\"} 1"),
            std::string::npos);
  EXPECT_NE(text.find("agenttier_sandboxes{phase=\"Running\"} 1"), std::string::npos);
}

TEST(Router, SaysWhetherItIsReady) {
  TestPlane plane;
  EXPECT_EQ(plane.call_target("GET", "/readyz", "").body, "ok");
}

}  // namespace
}  // namespace agenttier::router
