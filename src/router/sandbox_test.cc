// Sandboxes through the whole router, against the embedded store; the test plays the controller.

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/names.h"
#include "router/merge_patch.h"
#include "router/sandbox_routes.h"
#include "router/testing.h"

namespace agenttier::router {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

std::string at(const json::object& object, std::string_view pointer) {
  boost::system::error_code error;
  const json::value whole(object);
  const json::value* found = whole.find_pointer(pointer, error);
  if (found == nullptr) return "(none)";
  return found->is_string() ? std::string(found->get_string()) : json::serialize(*found);
}

struct SandboxTest : testing::Test {
  SandboxTest() { plane.add_template("minimal"); }

  Reply make(std::string body, std::string query = "") {
    return plane.post("/sandboxes" + query, alice, std::move(body));
  }
  std::string desired(std::string_view name = "demo") {
    return at(plane.stored(name), "/spec/desiredState");
  }
  std::string action(std::string_view name = "demo") {
    return at(plane.stored(name), "/metadata/annotations/agenttier.io~1action");
  }
  void make_running(std::string_view name = "demo") {
    plane.create(name, alice);
    plane.set_running(name);
  }

  TestPlane plane;
  std::string alice = plane.key_of("alice");
  std::string bob = plane.key_of("bob");
  std::string root = plane.key_of("root");
};

constexpr const char* kDemo =
    R"({"name":"demo","namespace":"default","templateRef":{"name":"minimal","kind":"ClusterSandboxTemplate"}})";

TEST_F(SandboxTest, IsMadeAsOneObjectThatBelongsToItsMaker) {
  const Reply made = make(kDemo);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.text("sandboxId"), "demo");
  EXPECT_EQ(made.text("name"), "demo");
  EXPECT_EQ(made.text("namespace"), "default");
  EXPECT_EQ(made.text("status"), "Creating");
  EXPECT_EQ(made.text("templateRef"), "minimal");

  const json::object stored = plane.stored("demo");
  EXPECT_EQ(at(stored, "/spec/createdBy/sub"), "alice");
  EXPECT_EQ(at(stored, "/spec/desiredState"), "Running");
  EXPECT_EQ(at(stored, "/spec/mode"), "code");
  EXPECT_EQ(at(stored, "/spec/templateRef/kind"), "ClusterSandboxTemplate");
  EXPECT_EQ(at(stored, "/metadata/finalizers/0"), api::names::kSandboxFinalizer);
}

TEST_F(SandboxTest, IsFoundAndListedRightAfterItWasMade) {
  make(kDemo);
  EXPECT_EQ(plane.get("/sandboxes/demo", alice).status, 200);
  EXPECT_EQ(plane.get("/sandboxes", alice).json().at("sandboxes").as_array().size(), 1U);
}

TEST_F(SandboxTest, KeepsTheFieldsOfItsRequest) {
  const Reply made = make(R"({"name":"demo","templateRef":{"name":"minimal"},"timeout":"8h",
      "idleTimeout":"30m","storage":{"size":"5Gi"},"image":{"repository":"python:3"},
      "resources":{"limits":{"cpu":"2","memory":"1Gi"}},"env":[{"name":"A","value":"b"}],
      "mode":"agent","labels":{"team":"red"},"autoResume":true})");
  ASSERT_EQ(made.status, 201) << made.body;
  const json::object stored = plane.stored("demo");
  EXPECT_EQ(at(stored, "/spec/timeout"), "8h");
  EXPECT_EQ(at(stored, "/spec/idleTimeout"), "30m");
  EXPECT_EQ(at(stored, "/spec/storage/size"), "5Gi");
  EXPECT_EQ(at(stored, "/spec/image/repository"), "python:3");
  EXPECT_EQ(at(stored, "/spec/resources/limits/cpu"), "2");
  EXPECT_EQ(at(stored, "/spec/env/0/name"), "A");
  EXPECT_EQ(at(stored, "/spec/mode"), "agent");
  EXPECT_EQ(at(stored, "/metadata/labels/team"), "red");
  EXPECT_EQ(made.text("mode"), "agent");
}

struct BadCreate {
  const char* body;
  int status;
  const char* words;  // in the sentence
};

TEST_F(SandboxTest, IsNotMadeFromABadRequest) {
  const BadCreate cases[] = {
      {R"({"templateRef":{"name":"minimal"}})", 400, "name: is required"},
      {R"({"name":"Bad_Name!","templateRef":{"name":"minimal"}})", 400, "name: "},
      {R"({"name":"ok"})", 400, "templateRef: is required"},
      {R"({"name":"ok","templateRef":{"name":"no-such"}})", 400, "no-such"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"timeout":"30 minutes"})", 400, "timeout"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"timeout":"-1h"})", 400, "timeout"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"timeout":"0"})", 400, "timeout"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"timeout":""})", 400, "timeout"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"idleTimeout":"9999999h"})", 400,
       "idleTimeout"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"storage":{"size":"ten"}})", 400,
       "storage.size"},
      {R"({"name":5,"templateRef":{"name":"minimal"}})", 400, "name: "},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"colour":"red"})", 400, "colour"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"createdBy":{"sub":"bob"}})", 400,
       "createdBy"},
      {R"({"name":"ok","namespace":"kube-system","templateRef":{"name":"minimal"}})", 400,
       "namespace: must be default, where the sandboxes of this server are"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"labels":{"agenttier.io/pooled":"true"}})",
       400, "labels[agenttier.io/pooled]: is written by the system alone; use a key of your own"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"annotations":{"x.agenttier.io/y":"1"}})",
       400, "annotations[x.agenttier.io/y]: is written by the system alone; use a key of your own"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"network":{"allowInternet":true}})", 403,
       "network: only an administrator may set this; leave it to the template"},
      {R"({"name":"ok","templateRef":{"name":"minimal"},"runtimeClass":"runc"})", 403,
       "runtimeClass: "},
      {R"({"name":"ok","templateRef":{"name":"minimal"},
           "env":[{"name":"T","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]})",
       403, "env.T.valueFrom: "},
  };
  for (const BadCreate& each : cases) {
    const Reply reply = make(each.body);
    EXPECT_EQ(reply.status, each.status) << each.body << reply.body;
    EXPECT_NE(reply.error().find(each.words), std::string::npos) << reply.error();
  }
  EXPECT_EQ(plane.get("/sandboxes", root).text("sandboxes"), "[]");
}

TEST_F(SandboxTest, MayBeGivenANetworkByAnAdministrator) {
  EXPECT_EQ(
      plane
          .post(
              "/sandboxes", root,
              R"({"name":"open","templateRef":{"name":"minimal"},"network":{"allowInternet":true}})")
          .status,
      201);
}

TEST_F(SandboxTest, HasANameOfItsOwn) {
  make(kDemo);
  const Reply second = make(kDemo);
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(second.error(), "a sandbox named demo exists already; choose another name");
  EXPECT_EQ(second.code(), "sandbox_exists");
}

TEST_F(SandboxTest, CanBeWaitedForUntilItRuns) {
  std::optional<Reply> reply;
  plane.start_call("POST", "/sandboxes?wait=running", alice, kDemo, reply);
  plane.loop.run_until_idle();
  EXPECT_FALSE(reply.has_value());
  plane.set_phase("demo", "Creating");
  EXPECT_FALSE(reply.has_value());
  plane.set_running("demo");
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->text("status"), "Running");
  EXPECT_EQ(reply->text("podIP"), "10.0.0.2");
}

TEST_F(SandboxTest, IsAnsweredWithItsErrorOrItsStateWhenTheWaitIsOver) {
  std::optional<Reply> failed;
  plane.start_call("POST", "/sandboxes?wait=running", alice, kDemo, failed);
  plane.loop.run_until_idle();
  plane.set_status("demo", {{"phase", "Error"}, {"message", "no such image"}});
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status, 201);
  EXPECT_EQ(failed->text("status"), "Error");
  EXPECT_EQ(failed->text("message"), "no such image");

  std::optional<Reply> slow;
  plane.start_call("POST", "/sandboxes?wait=running&waitSeconds=5", alice,
                   R"({"name":"slow","templateRef":{"name":"minimal"}})", slow);
  plane.loop.advance(6s);
  ASSERT_TRUE(slow.has_value());
  EXPECT_EQ(slow->status, 201);
  EXPECT_EQ(slow->text("status"), "Creating");
  EXPECT_EQ(make(kDemo, "?wait=forever").error(), "wait: must be running");
  EXPECT_EQ(make(kDemo, "?wait=running&waitSeconds=301").status, 400);
}

TEST_F(SandboxTest, ShowsTimesAsRfc3339AndNoNulls) {
  make_running();
  const Reply view = plane.get("/sandboxes/demo", alice);
  EXPECT_EQ(view.text("createdAt").size(), 20U);
  EXPECT_EQ(view.text("createdAt").back(), 'Z');
  EXPECT_EQ(view.body.find("null"), std::string::npos);
  for (const char* member : {"sandboxId", "name", "namespace", "status", "podName", "pvcName",
                             "templateRef", "mode", "message", "createdBy"}) {
    EXPECT_NE(view.text(member), "(none)") << member;
  }
  EXPECT_EQ(view.body.find("sub"), std::string::npos);
}

TEST_F(SandboxTest, IsListedForItsOwnerAndForAdmins) {
  make_running("a");
  make_running("b");
  plane.create("c", bob);
  const auto names = [&](std::string query, const std::string& key) {
    std::string text;
    const json::object page = plane.get("/sandboxes" + query, key).json();
    for (const json::value& each : page.at("sandboxes").as_array())
      text += each.at("name").as_string();
    return text;
  };
  EXPECT_EQ(names("", alice), "ab");
  EXPECT_EQ(names("", bob), "c");
  EXPECT_EQ(names("", root), "abc");
  EXPECT_EQ(names("?status=Creating", root), "c");
  EXPECT_EQ(names("?template=minimal", root), "abc");
  EXPECT_EQ(names("?template=other", root), "");
  EXPECT_EQ(names("?owner=bob", root), "c");
  EXPECT_EQ(names("?owner=alice@example.com", root), "ab");
  EXPECT_EQ(names("?namespace=default", alice), "ab");
  EXPECT_EQ(names("?namespace=other", alice), "");
}

TEST_F(SandboxTest, IsListedByLabel) {
  make(R"({"name":"a","templateRef":{"name":"minimal"},"labels":{"team":"red"}})");
  make(R"({"name":"b","templateRef":{"name":"minimal"}})");
  const Reply red = plane.get("/sandboxes?label=team%3Dred", alice);
  EXPECT_EQ(red.json().at("sandboxes").as_array().size(), 1U);
  EXPECT_EQ(plane.get("/sandboxes?label=team%3D%3D%3D", alice).status, 400);
}

TEST_F(SandboxTest, IsListedInPages) {
  for (const char* name : {"a", "b", "c"}) plane.create(name, alice);
  const Reply first = plane.get("/sandboxes?limit=2", alice);
  EXPECT_EQ(first.json().at("sandboxes").as_array().size(), 2U);
  const Reply last = plane.get("/sandboxes?limit=2&continue=" + first.text("continue"), alice);
  EXPECT_EQ(last.json().at("sandboxes").as_array().size(), 1U);
  EXPECT_EQ(last.text("continue"), "(none)");
  EXPECT_EQ(plane.get("/sandboxes?continue=%21", alice).error(),
            "continue: must be what the page before gave");
  EXPECT_EQ(plane.get("/sandboxes?limit=0", alice).status, 400);
}

TEST_F(SandboxTest, IsStoppedAndResumedByItsDesiredState) {
  make_running();
  const Reply stop = plane.post("/sandboxes/demo/stop", alice);
  EXPECT_EQ(stop.status, 200);
  EXPECT_EQ(stop.text("status"), "stopping");
  EXPECT_EQ(desired(), "Stopped");
  plane.set_phase("demo", "Stopped");

  const Reply resume = plane.post("/sandboxes/demo/resume", alice);
  EXPECT_EQ(resume.status, 200);
  EXPECT_EQ(resume.text("status"), "resuming");
  EXPECT_EQ(desired(), "Running");
  EXPECT_EQ(action(), "(none)");
}

TEST_F(SandboxTest, RunsAfterStopAndResumeBackToBack) {
  make_running();
  EXPECT_EQ(plane.post("/sandboxes/demo/stop", alice).status, 200);
  EXPECT_EQ(plane.post("/sandboxes/demo/stop", alice).status, 200);  // once more is harmless
  EXPECT_EQ(plane.post("/sandboxes/demo/resume", alice).status, 200);
  EXPECT_EQ(desired(), "Running");
  EXPECT_EQ(plane.post("/sandboxes/demo/stop", alice).status, 200);
  EXPECT_EQ(desired(), "Stopped");
}

TEST_F(SandboxTest, CannotBeStoppedOrResumedInTheWrongPhase) {
  make_running();
  const Reply resume = plane.post("/sandboxes/demo/resume", alice);
  EXPECT_EQ(resume.status, 409);
  EXPECT_EQ(resume.error(),
            "sandbox demo: the sandbox is Running; resume needs it to be Stopped or Error");
  plane.post("/sandboxes/demo/stop", alice);
  plane.set_phase("demo", "Stopped");
  const Reply stop = plane.post("/sandboxes/demo/stop", alice);
  EXPECT_EQ(stop.status, 409);
  EXPECT_EQ(
      stop.error(),
      "sandbox demo: the sandbox is Stopped; stop needs it to be Creating or Running or Error");
}

TEST_F(SandboxTest, LeavesAnErrorByAWordToTheController) {
  make_running();
  plane.set_phase("demo", "Error");
  EXPECT_EQ(plane.post("/sandboxes/demo/resume", alice).status, 200);
  EXPECT_EQ(desired(), "Running");
  EXPECT_EQ(action(), "resume");
  EXPECT_EQ(plane.post("/sandboxes/demo/resume", alice).status, 200);  // twice is harmless
  EXPECT_EQ(plane.post("/sandboxes/demo/stop", alice).status, 200);
  EXPECT_EQ(action(), "(none)");
  EXPECT_EQ(plane.post("/sandboxes/demo/resume", alice).status, 200);
  EXPECT_EQ(action(), "resume");
}

TEST_F(SandboxTest, IsStoppedThoughOthersWriteItAtTheSameTime) {
  make_running();
  plane.meddler.writes = 3;
  EXPECT_EQ(plane.post("/sandboxes/demo/stop", alice).status, 200);
  EXPECT_EQ(desired(), "Stopped");
}

TEST_F(SandboxTest, IsDeletedOnceAndGoneWhenTheControllerIsDone) {
  make_running();
  EXPECT_EQ(plane.call("DELETE", "/sandboxes/demo", alice).status, 204);
  EXPECT_EQ(plane.get("/sandboxes/demo", alice).text("status"), "Deleting");
  EXPECT_EQ(plane.call("DELETE", "/sandboxes/demo", alice).status, 204);
  EXPECT_EQ(plane.post("/sandboxes/demo/stop", alice).error(), "sandbox demo is being deleted");
  EXPECT_EQ(plane.post("/sandboxes/demo/exec", alice, R"({"command":"out x"})").error(),
            "sandbox demo is Deleting, not Running; it is being deleted");
  plane.finish_delete("demo");
  const Reply gone = plane.get("/sandboxes/demo", alice);
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.code(), "sandbox_not_found");
}

TEST_F(SandboxTest, IsPatched) {
  make_running();
  const Reply reply = plane.call("PATCH", "/sandboxes/demo", alice,
                                 R"({"idleTimeout":"5m","labels":{"team":"red"},
                                     "resources":{"limits":{"cpu":"1"}}})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.text("sandboxId"), "demo");
  EXPECT_EQ(at(reply.json(), "/applied/idleTimeout"), "immediately");
  EXPECT_EQ(at(reply.json(), "/applied/resources"), "on-restart");
  EXPECT_EQ(reply.text("restartRequired"), "true");
  EXPECT_EQ(at(plane.stored("demo"), "/spec/idleTimeout"), "5m");

  plane.call("PATCH", "/sandboxes/demo", alice,
             R"({"labels":{"team":null},"resources":{"limits":{"memory":"1Gi"}}})");
  EXPECT_EQ(at(plane.stored("demo"), "/metadata/labels/team"), "(none)");
  EXPECT_EQ(at(plane.stored("demo"), "/spec/resources/limits/cpu"), "(none)");
  EXPECT_EQ(at(plane.stored("demo"), "/spec/resources/limits/memory"), "1Gi");
}

TEST_F(SandboxTest, IsNotPatchedWithNothingOrWithTheSystemsOwnKeys) {
  make_running();
  const auto patch = [&](std::string body) {
    return plane.call("PATCH", "/sandboxes/demo", alice, std::move(body));
  };
  EXPECT_EQ(patch("{}").error(),
            "nothing to change: give at least one of timeout, idleTimeout, resources, autoResume, "
            "labels, annotations");
  EXPECT_EQ(patch(R"({"idleTimeout":""})").status, 400);
  EXPECT_EQ(patch(R"({"labels":{}})").status, 200);
  EXPECT_EQ(patch(R"({"labels":{"agenttier.io/x":null}})").status, 400);
  EXPECT_EQ(patch(R"({"annotations":{"agenttier.io/action":"stop"}})").status, 400);
  EXPECT_EQ(patch(R"({"image":{"repository":"x"}})").status, 400);
  EXPECT_EQ(patch(R"({"idleTimeout":"soon"})").status, 400);
}

TEST_F(SandboxTest, IsClonedWithItsDiskForWhoAsks) {
  make_running();
  const Reply clone = plane.post("/sandboxes/demo/clone", root, R"({"name":"copy"})");
  EXPECT_EQ(clone.status, 202) << clone.body;
  EXPECT_EQ(clone.text("name"), "copy");
  EXPECT_EQ(clone.text("clonedFrom"), "demo");
  EXPECT_EQ(clone.text("phase"), "Pending");
  const json::object copy = plane.stored("copy");
  EXPECT_EQ(at(copy, "/spec/createdBy/sub"), "root");
  EXPECT_EQ(at(copy, "/spec/cloneFromSnapshot"), "PersistentVolumeClaim/demo-workspace");
  EXPECT_EQ(at(copy, "/spec/templateRef/name"), "minimal");
  EXPECT_EQ(at(copy, "/metadata/labels/agenttier.io~1cloned-from"), "demo");
  EXPECT_EQ(plane.post("/sandboxes/demo/clone", alice, R"({"name":"copy"})").status, 409);
  EXPECT_TRUE(plane.post("/sandboxes/demo/clone", alice).text("name").starts_with("demo-clone-"));
}

TEST_F(SandboxTest, CannotBeClonedBeforeItHasADisk) {
  plane.create("demo", alice);
  const Reply clone = plane.post("/sandboxes/demo/clone", alice, R"({"name":"copy"})");
  EXPECT_EQ(clone.status, 400);
  EXPECT_EQ(clone.error(), "sandbox demo has no disk to clone yet; wait until it is Running");
}

TEST_F(SandboxTest, ShowsTheLogOfItsMainProcess) {
  make_running();
  const Reply log = plane.get("/sandboxes/demo/logs?tail=5&follow=true", alice);
  EXPECT_EQ(log.status, 200);
  EXPECT_EQ(log.body, "line 1\nline 2\n");
  EXPECT_EQ(
      plane.meddler.last_log_target,
      "/api/v1/namespaces/default/pods/demo-pod/log?container=sandbox&tailLines=5&follow=true");
  plane.set_status("demo", {{"phase", "Stopped"}, {"podName", nullptr}});
  const Reply none = plane.get("/sandboxes/demo/logs", alice);
  EXPECT_EQ(none.status, 409);
  EXPECT_EQ(none.error(), "sandbox demo has no pod whose log could be read");
}

TEST_F(SandboxTest, ForwardsPorts) {
  make_running();
  const Reply made =
      plane.post("/sandboxes/demo/ports", alice, R"({"port":8000,"protocol":"http"})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.text("port"), "8000");
  EXPECT_EQ(made.text("protocol"), "http");
  EXPECT_EQ(made.text("internalUrl"), "http://10.0.0.2:8000");
  EXPECT_EQ(plane.get("/sandboxes/demo/ports", alice).json().at("ports").as_array().size(), 1U);
  EXPECT_EQ(plane.call("DELETE", "/sandboxes/demo/ports/8000", alice).status, 204);
  EXPECT_EQ(plane.call("DELETE", "/sandboxes/demo/ports/8000", alice).status, 204);
  EXPECT_EQ(plane.get("/sandboxes/demo/ports", alice).text("ports"), "[]");
  for (const char* body : {R"({"port":0})", R"({"port":65536})", R"({"port":"x"})", "{}"}) {
    EXPECT_EQ(plane.post("/sandboxes/demo/ports", alice, body).status, 400) << body;
  }
  EXPECT_EQ(plane.post("/sandboxes/demo/ports", alice, R"({"port":9000})").error(),
            "port: is the port of the sandbox's runtime; choose another");
  EXPECT_EQ(plane.call("DELETE", "/sandboxes/demo/ports/x", alice).status, 400);
}

TEST(MergePatch, IsTheDifference) {
  const json::object before = {{"a", 1}, {"b", {{"c", 1}, {"d", 2}}}, {"e", json::array{1}}};
  const json::object after = {{"a", 1}, {"b", {{"c", 1}, {"d", 3}}}, {"f", "x"}};
  EXPECT_EQ(json::serialize(merge_patch_between(before, after)),
            R"({"b":{"d":3},"f":"x","e":null})");
  EXPECT_TRUE(merge_patch_between(before, before).empty());
}

}  // namespace
}  // namespace agenttier::router
