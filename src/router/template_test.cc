// Templates and API keys through the whole router, against the embedded store.

#include <gtest/gtest.h>

#include "router/testing.h"

namespace agenttier::router {
namespace {

struct TemplateTest : testing::Test {
  TestPlane plane;
  std::string alice = plane.key_of("alice");
  std::string root = plane.key_of("root");
};

TEST_F(TemplateTest, IsMadeShownReplacedAndDeleted) {
  const Reply made = plane.post(
      "/templates", root,
      R"({"name":"python","spec":{"description":"Python","image":{"repository":"python:3"}}})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.text("image"), "python:3");
  EXPECT_EQ(plane.get("/templates/python", alice).text("description"), "Python");
  EXPECT_EQ(plane.get("/templates", alice).json().at("templates").as_array().size(), 1U);

  const Reply replaced =
      plane.call("PUT", "/templates/python", root, R"({"spec":{"description":"new"}})");
  EXPECT_EQ(replaced.status, 200) << replaced.body;
  EXPECT_EQ(replaced.text("image"), "");
  EXPECT_EQ(plane.get("/templates/python", alice).text("description"), "new");

  EXPECT_EQ(plane.call("DELETE", "/templates/python", root).status, 204);
  const Reply gone = plane.get("/templates/python", alice);
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.error(), "there is no template named python");
}

TEST_F(TemplateTest, CanBeUsedRightAfterItWasMade) {
  plane.post("/templates", root, R"({"name":"python","spec":{"mode":"agent"}})");
  const Reply made =
      plane.post("/sandboxes", alice, R"({"name":"a","templateRef":{"name":"python"}})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.text("mode"), "agent");
}

TEST_F(TemplateTest, IsNotMadeTwiceOrFromABadSpecification) {
  plane.add_template("python");
  const Reply twice = plane.post("/templates", root, R"({"name":"python","spec":{}})");
  EXPECT_EQ(twice.status, 409);
  EXPECT_EQ(twice.error(), "a template named python exists already; replace it instead");
  const Reply unknown = plane.post("/templates", root, R"({"name":"x","spec":{"colour":"red"}})");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_NE(unknown.error().find("spec.colour"), std::string::npos);
}

TEST_F(TemplateTest, IsNotWrittenIfItDoesNotResolve) {
  const Reply orphan = plane.post(
      "/templates", root,
      R"({"name":"x","spec":{"inheritsFrom":{"name":"none","kind":"ClusterSandboxTemplate"}}})");
  EXPECT_EQ(orphan.status, 400);
  EXPECT_NE(orphan.error().find("none"), std::string::npos);
  const Reply circle = plane.post(
      "/templates", root,
      R"({"name":"x","spec":{"inheritsFrom":{"name":"x","kind":"ClusterSandboxTemplate"}}})");
  EXPECT_EQ(circle.status, 400);
}

TEST_F(TemplateTest, IsNotReplacedFromAnOldVersion) {
  plane.add_template("python");
  const std::string version = plane.get("/templates/python", alice).text("resourceVersion");
  plane.call("PUT", "/templates/python", root, R"({"spec":{"description":"a"}})");
  const Reply old =
      plane.call("PUT", "/templates/python", root,
                 R"({"spec":{"description":"b"},"resourceVersion":")" + version + "\"}");
  EXPECT_EQ(old.status, 409);
  EXPECT_EQ(plane.get("/templates/python", alice).text("description"), "a");
}

TEST_F(TemplateTest, IsNotDeletedWhileSomethingUsesIt) {
  plane.add_template("minimal");
  plane.create("demo", alice);
  plane.set_phase("demo", "Stopped");
  const Reply used = plane.call("DELETE", "/templates/minimal", root);
  EXPECT_EQ(used.status, 409);
  EXPECT_EQ(used.error(), "template minimal is used by sandbox demo; delete that first");
}

TEST_F(TemplateTest, OfANameThatIsNotThereIsNotFound) {
  EXPECT_EQ(plane.call("PUT", "/templates/none", root, R"({"spec":{}})").status, 404);
  EXPECT_EQ(plane.call("DELETE", "/templates/none", root).status, 404);
}

struct KeyTest : TemplateTest {
  KeyTest() {
    plane.add_template("minimal");
    plane.create("demo", alice);
  }
  Reply make(std::string body) { return plane.post("/user/api-keys", alice, std::move(body)); }
};

TEST_F(KeyTest, IsShownOnceAndWorksUntilItIsRevoked) {
  const Reply made = make(R"({"name":"laptop"})");
  EXPECT_EQ(made.status, 201) << made.body;
  const std::string key = made.text("key");
  EXPECT_EQ(made.text("actionGroups"), "[]");
  EXPECT_EQ(plane.get("/user/me", key).text("sub"), "alice");
  const Reply list = plane.get("/user/api-keys", alice);
  EXPECT_EQ(list.json().at("keys").as_array().size(), 2U);
  EXPECT_EQ(list.body.find(key), std::string::npos);

  const Reply revoked = plane.call("DELETE", "/user/api-keys/" + made.text("id"), alice);
  EXPECT_EQ(revoked.status, 200);
  EXPECT_EQ(revoked.text("status"), "revoked");
  EXPECT_EQ(plane.get("/user/me", key).status, 401);
}

TEST_F(KeyTest, IsLimitedByEitherNameOfItsGroups) {
  for (const char* field : {"scopes", "actionGroups"}) {
    const Reply made =
        make(R"({"sandboxId":"demo",")" + std::string(field) + R"(":["files:read"]})");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.text("actionGroups"), R"(["files:read"])");
    EXPECT_EQ(plane.post("/sandboxes/demo/exec", made.text("key"), R"({"command":"x"})").status,
              403);
  }
}

TEST_F(KeyTest, IsNotMadeFromABadRequest) {
  EXPECT_EQ(make(R"({"scopes":["files:read"]})").error(),
            "actionGroups: needs sandboxId: only a key of one sandbox is limited");
  EXPECT_EQ(make(R"({"sandboxId":"demo","scopes":["delete"]})").status, 400);
  EXPECT_EQ(make(R"({"colour":"red"})").status, 400);
  EXPECT_EQ(make(R"({"expiresIn":"-1h"})").status, 400);
  const Reply other = plane.post("/user/api-keys", plane.key_of("bob"), R"({"sandboxId":"demo"})");
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(other.error(), "there is no sandbox named demo");
}

TEST_F(KeyTest, IsRevokedByItsOwnerOnly) {
  const Reply made = make("");
  const Reply refused =
      plane.call("DELETE", "/user/api-keys/" + made.text("id"), plane.key_of("bob"));
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(plane.get("/user/me", made.text("key")).status, 200);
}

}  // namespace
}  // namespace agenttier::router
