// Creates, reads and updates, as a client sees them.

#include <gtest/gtest.h>

#include "store/testing.h"

namespace agenttier::store {
namespace {

using Causes = std::vector<std::string>;

TEST_F(StoreTest, GivesWhatWasCreated) {
  const Reply created = post(kMaps, config_map("a", {{"data", {{"k", "v"}}}}));
  ASSERT_EQ(created.status, 201) << created.text;
  const Reply got = get(kMaps / "a");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.object(), created.object());
  EXPECT_EQ(got.at("data.k"), "v");
}

TEST_F(StoreTest, FillsInTheIdentityOfANewObject) {
  const Reply created = post(kMaps, config_map("a"));
  EXPECT_EQ(created.at("apiVersion"), "v1");
  EXPECT_EQ(created.at("kind"), "ConfigMap");
  EXPECT_EQ(created.at("metadata.namespace"), "default");
  EXPECT_EQ(created.at("metadata.uid").size(), 36U);
  EXPECT_EQ(created.at("metadata.creationTimestamp"), "2030-01-01T00:00:00Z");
  EXPECT_FALSE(created.version().empty());
}

TEST_F(StoreTest, TakesNoServerFieldsFromAClient) {
  const json::object forged{{"uid", "mine"},
                            {"creationTimestamp", "1999-01-01T00:00:00Z"},
                            {"deletionTimestamp", "1999-01-01T00:00:00Z"},
                            {"generation", 77},
                            {"managedFields", json::array()}};
  const Reply created = post(kMaps, config_map("a", {{"metadata", forged}}));
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_NE(created.at("metadata.uid"), "mine");
  EXPECT_EQ(created.at("metadata.creationTimestamp"), "2030-01-01T00:00:00Z");
  EXPECT_EQ(created.at("metadata.deletionTimestamp"), "");
  EXPECT_EQ(created.at("metadata.managedFields"), "");
}

TEST_F(StoreTest, MakesANameFromGenerateName) {
  const json::object body{{"metadata", {{"generateName", "job-"}}}};
  const std::string first = post(kMaps, body).at("metadata.name");
  const std::string second = post(kMaps, body).at("metadata.name");
  EXPECT_TRUE(first.starts_with("job-"));
  EXPECT_EQ(first.size(), 9U);
  EXPECT_NE(first, second);
}

TEST_F(StoreTest, RefusesATakenName) {
  post(kMaps, config_map("a"));
  const Reply again = post(kMaps, config_map("a"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.at("reason"), "AlreadyExists");
  EXPECT_EQ(again.at("message"), "configmaps \"a\" already exists");
  EXPECT_EQ(again.at("details.kind"), "configmaps");
}

TEST_F(StoreTest, OneNameMayBeUsedInTwoNamespacesAndForTwoKinds) {
  EXPECT_EQ(post(kMaps, config_map("a")).status, 201);
  EXPECT_EQ(post(kSecrets, config_map("a")).status, 201);
  EXPECT_EQ(post("/api/v1/namespaces/agenttier/configmaps", config_map("a")).status, 201);
}

TEST_F(StoreTest, SaysThatAnObjectIsNotThere) {
  const Reply reply = get(kSandboxes / "none");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.at("reason"), "NotFound");
  EXPECT_EQ(reply.at("message"), "sandboxes.agenttier.io \"none\" not found");
  EXPECT_EQ(reply.at("details.group"), "agenttier.io");
}

TEST_F(StoreTest, SaysThatANamespaceIsNotThere) {
  const Reply reply = post("/api/v1/namespaces/nowhere/configmaps", config_map("a"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.at("message"), "namespaces \"nowhere\" not found");
}

TEST_F(StoreTest, RefusesANameThatIsNone) {
  const Reply reply = post(kMaps, config_map("Not_A_Name"));
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.at("reason"), "Invalid");
  ASSERT_EQ(reply.causes().size(), 1U);
  EXPECT_TRUE(
      reply.causes()[0].starts_with("metadata.name: Invalid value: \"Not_A_Name\": a lower"))
      << reply.causes()[0];
}

TEST_F(StoreTest, ARefusalOfANewObjectNamesIt) {
  const Reply reply = post(kSandboxes, sandbox("demo", {{"mode", 1}}));
  EXPECT_TRUE(
      reply.at("message").starts_with("Sandbox.agenttier.io \"demo\" is invalid: spec.mode"))
      << reply.text;
  EXPECT_EQ(reply.at("details.name"), "demo");
}

TEST_F(StoreTest, RefusesAnObjectWithoutName) {
  const Reply reply = post(kMaps, json::object());
  EXPECT_EQ(reply.causes(),
            Causes{"metadata.name: Required value: name or generateName is required"});
}

TEST_F(StoreTest, RefusesBadLabelsAndNamesThem) {
  const json::object labels{{"-bad-", "x"}, {"good", "not good"}};
  const Reply reply = post(kMaps, config_map("a", {{"metadata", {{"labels", labels}}}}));
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.causes().size(), 2U);
}

TEST_F(StoreTest, RefusesAWrongTypeInMetadata) {
  const Reply reply = post(kMaps, config_map("a", {{"metadata", {{"labels", {{"x", 1}}}}}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.at("message"), "metadata.labels: must be an object whose values are strings");
}

TEST_F(StoreTest, RefusesABodyThatIsNoJson) {
  const Reply reply = send("POST", kMaps, "{\"metadata\":", "application/json");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.at("message").find("invalid JSON at byte"), std::string::npos);
}

TEST_F(StoreTest, RefusesABodyOfAnotherKind) {
  const Reply reply = post(kMaps, sandbox("a"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.at("message").find("this path takes a v1 ConfigMap"), std::string::npos);
}

TEST_F(StoreTest, RefusesABodyOfAnotherNamespace) {
  const Reply reply = post(kMaps, config_map("a", {{"metadata", {{"namespace", "agenttier"}}}}));
  EXPECT_EQ(reply.status, 400);
}

TEST_F(StoreTest, RefusesAnUnknownMediaType) {
  EXPECT_EQ(send("POST", kMaps, "{}", "application/vnd.kubernetes.protobuf").status, 415);
}

TEST_F(StoreTest, RefusesABodyOverTheLimit) {
  reopen({.request_bytes_max = 1000});
  const Reply reply = post(kMaps, config_map("a", {{"data", {{"k", std::string(2000, 'x')}}}}));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.at("reason"), "RequestEntityTooLarge");
}

TEST_F(StoreTest, RefusesAnObjectThatPatchesMadeTooLarge) {
  reopen({.object_bytes_max = 3000});
  post(kMaps, config_map("a"));
  EXPECT_EQ(merge(kMaps / "a", {{"data", {{"k", std::string(2000, 'x')}}}}).status, 200);
  EXPECT_EQ(merge(kMaps / "a", {{"data", {{"l", std::string(2000, 'x')}}}}).status, 413);
  EXPECT_EQ(get(kMaps / "a").at("data.l"), "");
}

TEST_F(StoreTest, RefusesNestingThatItCouldNotReadAgain) {
  post(kPods, pod("a"));
  json::value deep = json::object();
  for (int i = 0; i < 40; ++i) deep = json::object{{"d", std::move(deep)}};
  const json::array add{json::object{{"op", "add"}, {"path", "/spec/x"}, {"value", deep}}};
  std::string place = "/spec/x";
  for (int i = 0; i < 40; ++i) place += "/d";
  const json::array both{add[0], json::object{{"op", "add"}, {"path", place}, {"value", deep}}};
  EXPECT_EQ(json_patch(kPods / "a", both).status, 400);
  EXPECT_EQ(get(kPods / "a").status, 200);
}

TEST_F(StoreTest, AnUpdateOfAStaleVersionIsAConflict) {
  const json::object old = post(kMaps, config_map("a")).object();
  json::object first = old;
  first["data"] = {{"k", "1"}};
  ASSERT_EQ(put(kMaps / "a", first).status, 200);
  json::object second = old;
  second["data"] = {{"k", "2"}};
  const Reply refused = put(kMaps / "a", second);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.at("reason"), "Conflict");
  EXPECT_EQ(get(kMaps / "a").at("data.k"), "1");
}

TEST_F(StoreTest, AnUpdateWithoutVersionWinsForKindsOfKubernetes) {
  post(kMaps, config_map("a"));
  EXPECT_EQ(put(kMaps / "a", config_map("a", {{"data", {{"k", "1"}}}})).status, 200);
}

TEST_F(StoreTest, AnUpdateOfOurKindsMustGiveItsVersion) {
  post(kSandboxes, sandbox("a"));
  const Reply reply = put(kSandboxes / "a", sandbox("a", {{"mode", "agent"}}));
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.causes()[0].substr(0, 24), "metadata.resourceVersion");
}

TEST_F(StoreTest, AnUpdateOfAnotherIncarnationIsAConflict) {
  json::object object = post(kMaps, config_map("a")).object();
  remove(kMaps / "a");
  post(kMaps, config_map("a"));
  object["metadata"].as_object().erase("resourceVersion");
  EXPECT_EQ(put(kMaps / "a", object).status, 409);
}

TEST_F(StoreTest, AnUpdateCreatesNothing) {
  EXPECT_EQ(put(kMaps / "a", config_map("a")).status, 404);
}

TEST_F(StoreTest, AnUpdateKeepsIdentityAndCreationTime) {
  json::object object = post(kMaps, config_map("a")).object();
  const std::string uid(view(object["metadata"].at("uid").as_string()));
  clock_.advance(std::chrono::hours(5));
  object["metadata"].as_object()["creationTimestamp"] = "1999-01-01T00:00:00Z";
  object["metadata"].as_object()["generateName"] = "other";
  object["data"] = {{"k", "v"}};
  const Reply updated = put(kMaps / "a", object);
  EXPECT_EQ(updated.status, 200);
  EXPECT_EQ(updated.at("metadata.uid"), uid);
  EXPECT_EQ(updated.at("metadata.creationTimestamp"), "2030-01-01T00:00:00Z");
  EXPECT_EQ(updated.at("metadata.generateName"), "");
}

TEST_F(StoreTest, RefusesAnotherNameThanThatOfThePath) {
  post(kMaps, config_map("a"));
  EXPECT_EQ(put(kMaps / "a", config_map("b")).status, 400);
}

TEST_F(StoreTest, AWriteThatChangesNothingKeepsTheVersion) {
  const Reply created = post(kMaps, config_map("a", {{"data", {{"k", "v"}}}}));
  EXPECT_EQ(put(kMaps / "a", created.object()).version(), created.version());
  EXPECT_EQ(merge(kMaps / "a", {{"data", {{"k", "v"}}}}).version(), created.version());
}

TEST_F(StoreTest, VersionsGrowAcrossKinds) {
  const auto first = std::stoull(post(kMaps, config_map("a")).version());
  const auto second = std::stoull(post(kSecrets, config_map("a")).version());
  remove(kMaps / "a");
  const auto third = std::stoull(post(kMaps, config_map("a")).version());
  EXPECT_LT(first, second);
  EXPECT_LT(second + 1, third);
}

TEST_F(StoreTest, GenerationCountsChangesOfTheSpecOnly) {
  EXPECT_EQ(post(kSandboxes, sandbox("a")).at("metadata.generation"), "1");
  const json::object label{{"metadata", {{"labels", {{"x", "y"}}}}}};
  EXPECT_EQ(merge(kSandboxes / "a", label).at("metadata.generation"), "1");
  const json::object status{{"status", {{"phase", "Running"}}}};
  EXPECT_EQ(merge(kSandboxes / "a" + "/status", status).at("metadata.generation"), "1");
  const json::object spec{{"spec", {{"mode", "agent"}}}};
  EXPECT_EQ(merge(kSandboxes / "a", spec).at("metadata.generation"), "2");
}

TEST_F(StoreTest, TheMainPathIgnoresStatus) {
  json::object object = sandbox("a");
  object["status"] = {{"phase", "Running"}};
  EXPECT_EQ(post(kSandboxes, object).at("status"), "");
  merge(kSandboxes / "a" + "/status", {{"status", {{"phase", "Creating"}}}});
  json::object update = get(kSandboxes / "a").object();
  update["status"] = {{"phase", "Forged"}};
  update["spec"] = {{"mode", "agent"}};
  const Reply updated = put(kSandboxes / "a", update);
  EXPECT_EQ(updated.at("status.phase"), "Creating");
  EXPECT_EQ(updated.at("spec.mode"), "agent");
  EXPECT_EQ(merge(kSandboxes / "a", {{"status", nullptr}}).at("status.phase"), "Creating");
}

TEST_F(StoreTest, TheStatusPathIgnoresTheRest) {
  post(kSandboxes, sandbox("a", {{"mode", "code"}}));
  json::object update = get(kSandboxes / "a").object();
  update["status"] = {{"phase", "Running"}};
  update["spec"] = {{"mode", "agent"}};
  update["metadata"].as_object()["labels"] = {{"x", "y"}};
  const Reply updated = put(kSandboxes / "a" + "/status", update);
  EXPECT_EQ(updated.status, 200) << updated.text;
  EXPECT_EQ(updated.at("status.phase"), "Running");
  EXPECT_EQ(updated.at("spec.mode"), "code");
  EXPECT_EQ(updated.at("metadata.labels"), "");
}

TEST_F(StoreTest, ANewPodIsPendingWhateverItClaims) {
  json::object object = pod("a");
  object["status"] = {{"phase", "Running"}};
  EXPECT_EQ(post(kPods, object).at("status.phase"), "Pending");
}

TEST_F(StoreTest, KindsWithoutStatusHaveNoStatusPath) {
  post(kMaps, config_map("a"));
  EXPECT_EQ(get(kMaps / "a" + "/status").status, 404);
}

TEST_F(StoreTest, ADryRunAnswersAsIfAndChangesNothing) {
  const Reply dry = post(std::string(kMaps) + "?dryRun=All", config_map("a"));
  EXPECT_EQ(dry.status, 201);
  EXPECT_EQ(get(kMaps / "a").status, 404);
  post(kMaps, config_map("a"));
  EXPECT_EQ(merge(kMaps / "a" + "?dryRun=All", {{"data", {{"k", "v"}}}}).at("data.k"), "v");
  EXPECT_EQ(get(kMaps / "a").at("data"), "");
  EXPECT_EQ(remove(kMaps / "a" + "?dryRun=All").status, 200);
  EXPECT_EQ(get(kMaps / "a").status, 200);
  EXPECT_EQ(post(std::string(kMaps) + "?dryRun=All", config_map("A")).status, 422);
}

TEST_F(StoreTest, ABadValueOfOurKindsIsNamedByItsField) {
  const json::object spec{{"mode", "magic"},
                          {"image", {{"pullPolicy", "Always"}}},
                          {"storage", {{"size", "much"}}},
                          {"env", "none"}};
  const Reply reply = post(kSandboxes, sandbox("a", spec));
  EXPECT_EQ(reply.status, 422);
  const Causes causes = reply.causes();
  ASSERT_EQ(causes.size(), 4U) << reply.text;
  EXPECT_EQ(causes[0],
            "spec.mode: Unsupported value: \"magic\": supported values: \"code\", \"agent\"");
  EXPECT_EQ(causes[1], "spec.image.repository: Required value");
  EXPECT_TRUE(causes[2].starts_with("spec.storage.size: Invalid value: \"much\"")) << causes[2];
  EXPECT_EQ(causes[3],
            "spec.env: Invalid value: \"string\": spec.env in body must be of type array: "
            "\"string\"");
  EXPECT_EQ(get(kSandboxes / "a").status, 404);
}

TEST_F(StoreTest, ALongTextIsAFaultLikeAnyOther) {
  const json::object spec{{"storage", {{"size", std::string(1000, '1') + "x"}}}};
  EXPECT_EQ(post(kSandboxes, sandbox("a", spec)).status, 422);
  EXPECT_EQ(post(kSandboxes, sandbox(std::string(1000, 'a'))).status, 422);
  EXPECT_EQ(post(kSandboxes, sandbox(std::string(100'000, 'a'))).status, 422);
}

TEST_F(StoreTest, AnUnknownFieldOfOurKindsIsDroppedWithAWarning) {
  const Reply reply = post(kSandboxes, sandbox("a", {{"modes", "code"}}));
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.at("spec.modes"), "");
  const auto warning = reply.headers.find("Warning");
  ASSERT_TRUE(warning);
  EXPECT_EQ(*warning, "299 - \"unknown field \\\"spec.modes\\\"\"");
}

TEST_F(StoreTest, AnUnknownFieldCannotBreakTheWarningHeader) {
  const Reply reply = post(kSandboxes, sandbox("a", {{"a\r\nSet-Cookie: x\"", 1}}));
  EXPECT_EQ(*reply.headers.find("Warning"),
            "299 - \"unknown field \\\"spec.a??Set-Cookie: x\\\"\\\"\"");
}

TEST_F(StoreTest, AnUnknownFieldIsAnErrorInStrictMode) {
  const Reply reply =
      post(std::string(kSandboxes) + "?fieldValidation=Strict", sandbox("a", {{"modes", "code"}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.at("message"),
            "Sandbox in version \"v1alpha1\" cannot be handled as a Sandbox: strict decoding "
            "error: unknown field \"spec.modes\"");
}

TEST_F(StoreTest, KindsOfKubernetesKeepFieldsThatThisProgramDoesNotKnow) {
  const Reply reply = post(kPods, pod("a", {{"hostAliases", json::array()}, {"future", 1}}));
  EXPECT_EQ(reply.at("spec.future"), "1");
}

TEST_F(StoreTest, ASecretTakesPlainTextAndKeepsBase64) {
  const Reply reply = post(kSecrets, config_map("a", {{"stringData", {{"token", "hello"}}}}));
  EXPECT_EQ(reply.at("data.token"), "aGVsbG8=");
  EXPECT_EQ(reply.at("stringData"), "");
  EXPECT_EQ(reply.at("type"), "Opaque");
}

TEST_F(StoreTest, ASecretsFaultDoesNotShowItsValue) {
  const Reply reply = post(kSecrets, config_map("a", {{"data", {{"token", "p@ssword!"}}}}));
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.text.find("p@ss"), std::string::npos);
  EXPECT_EQ(reply.causes(), Causes{"data[token]: Invalid value: must be base64"});
}

TEST_F(StoreTest, AnImmutableSecretStaysAsItIs) {
  post(kSecrets, config_map("a", {{"immutable", true}, {"data", {{"k", "djE="}}}}));
  EXPECT_EQ(merge(kSecrets / "a", {{"data", {{"k", "djI="}}}}).status, 422);
  EXPECT_EQ(merge(kSecrets / "a", {{"immutable", false}}).status, 422);
  EXPECT_EQ(merge(kSecrets / "a", {{"metadata", {{"labels", {{"x", "y"}}}}}}).status, 200);
}

TEST_F(StoreTest, APodNeedsContainersWithNamesAndImages) {
  EXPECT_EQ(post(kPods, pod("a", {{"containers", json::array()}})).causes(),
            Causes{"spec.containers: Required value"});
  const json::object bad{{"name", "Main"}};
  const Reply reply = post(kPods, pod("a", {{"containers", json::array{bad, bad}}}));
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.causes().size(), 4U) << reply.text;
}

TEST_F(StoreTest, APodsMountNeedsItsVolume) {
  const json::object container{
      {"name", "main"},
      {"image", "busybox"},
      {"volumeMounts", json::array{json::object{{"name", "disk"}, {"mountPath", "/d"}}}}};
  EXPECT_EQ(post(kPods, pod("a", {{"containers", json::array{container}}})).causes(),
            Causes{"spec.containers[0].volumeMounts[0].name: Not found: \"disk\""});
}

TEST_F(StoreTest, APodsSpecIsFixedButForItsImageAndItsNode) {
  post(kPods, pod("a"));
  EXPECT_EQ(merge(kPods / "a", {{"spec", {{"hostNetwork", true}}}}).status, 422);
  EXPECT_EQ(merge(kPods / "a", {{"spec", {{"nodeName", "n1"}}}}).status, 200);
  EXPECT_EQ(merge(kPods / "a", {{"spec", {{"nodeName", "n2"}}}}).status, 422);
  const json::array image{
      json::object{{"op", "replace"}, {"path", "/spec/containers/0/image"}, {"value", "alpine"}}};
  EXPECT_EQ(json_patch(kPods / "a", image).status, 200);
}

TEST_F(StoreTest, ABindingPutsAPodOnANodeOnce) {
  post(kPods, pod("a"));
  const json::object binding{{"target", {{"kind", "Node"}, {"name", "n1"}}}};
  EXPECT_EQ(post(kPods / "a" + "/binding", binding).status, 201);
  EXPECT_EQ(get(kPods / "a").at("spec.nodeName"), "n1");
  EXPECT_EQ(post(kPods / "a" + "/binding", binding).status, 409);
}

TEST_F(StoreTest, AClaimsSpecIsFixedButForItsSize) {
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  const json::object spec{{"accessModes", json::array{"ReadWriteOnce"}},
                          {"resources", {{"requests", {{"storage", "1Gi"}}}}}};
  EXPECT_EQ(post(claims, config_map("a", {{"spec", spec}})).at("status.phase"), "Pending");
  const json::object bigger{{"spec", {{"resources", {{"requests", {{"storage", "2Gi"}}}}}}}};
  EXPECT_EQ(merge(claims + "/a", bigger).status, 200);
  const json::object modes{{"spec", {{"accessModes", json::array{"ReadWriteMany"}}}}};
  EXPECT_EQ(merge(claims + "/a", modes).status, 422);
}

TEST_F(StoreTest, ANetworkPolicyWithEgressRulesRestrictsBothDirections) {
  const json::object spec{{"egress", json::array()}};
  const Reply reply = post("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
                           config_map("a", {{"spec", spec}}));
  EXPECT_EQ(reply.at("spec.policyTypes"), "[\"Ingress\",\"Egress\"]");
}

TEST_F(StoreTest, ReachesEveryKindUnderItsPath) {
  const std::vector<std::pair<std::string, json::object>> cases{
      {"/apis/agenttier.io/v1alpha1/namespaces/default/sandboxtemplates", {}},
      {"/apis/agenttier.io/v1alpha1/clustersandboxtemplates", {}},
      {"/api/v1/namespaces/default/events", {{"involvedObject", {{"namespace", "default"}}}}},
      {"/api/v1/namespaces", {}},
      {"/api/v1/nodes", {}},
      {"/api/v1/namespaces/default/services", {{"spec", {{"ports", json::array()}}}}},
      {"/apis/coordination.k8s.io/v1/namespaces/agenttier/leases", {}}};
  for (const auto& [path, extra] : cases) {
    EXPECT_EQ(post(path, config_map("x", extra)).status, 201) << path;
    EXPECT_EQ(get(path + "/x").status, 200) << path;
    EXPECT_EQ(remove(path + "/x").status, 200) << path;
  }
}

TEST_F(StoreTest, SaysThatItIsWell) {
  for (const char* path : {"/healthz", "/livez", "/readyz"}) EXPECT_EQ(get(path).text, "ok");
}

TEST_F(StoreTest, KnowsNoOtherPaths) {
  for (const std::string path :
       {"/", "/health", "/api/v2/pods", "/api/v1/widgets", "/api/v1/pods/a",
        "/api/v1/namespaces/default/nodes", "/api/v1/namespaces/default/pods/a/b/c",
        "/apis/agenttier.io/v1alpha1/pods", "/api/v1/namespaces//pods"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
}

TEST_F(StoreTest, RefusesOtherMethods) {
  EXPECT_EQ(send("PUT", kMaps, "{}", "application/json").status, 405);
  EXPECT_EQ(send("POST", kMaps / "a", "{}", "application/json").status, 405);
  EXPECT_EQ(send("BREW", kMaps / "a", "", "").status, 405);
  EXPECT_EQ(send("POST", "/api/v1/configmaps", "{}", "application/json").status, 405);
}

TEST_F(StoreTest, RefusesParametersThatItDoesNotUnderstand) {
  for (const std::string query :
       {"limit=x", "watch=maybe", "resourceVersion=abc", "labelSelector=a==b==c",
        "fieldSelector=nonsense", "fieldSelector=spec.unknown%3Dx", "continue=!!!",
        "includeObject=Some"}) {
    EXPECT_EQ(get(std::string(kPods) + "?" + query).status, 400) << query;
  }
  EXPECT_EQ(get(std::string(kPods) + "?labelSelector=%zz").status, 400);
}

TEST_F(StoreTest, AFaultOfTheOptionsNamesThem) {
  const Reply create = post(std::string(kPods) + "?dryRun=Some", pod("a"));
  EXPECT_EQ(create.status, 422);
  EXPECT_EQ(create.at("reason"), "Invalid");
  EXPECT_EQ(create.at("details.kind"), "CreateOptions");
  EXPECT_EQ(create.causes(),
            Causes{R"(dryRun: Unsupported value: ["Some"]: supported values: "All")"});
  post(kPods, pod("a"));
  const Reply removal = remove(kPods / "a" + "?propagationPolicy=Sideways");
  EXPECT_EQ(removal.at("details.kind"), "DeleteOptions");
  const Reply twice =
      remove(kPods / "a", {{"propagationPolicy", "Orphan"}, {"orphanDependents", true}});
  EXPECT_EQ(twice.status, 422);
  const std::string long_name(129, 'x');
  EXPECT_EQ(post(std::string(kPods) + "?fieldManager=" + long_name, pod("b")).status, 422);
}

TEST_F(StoreTest, AMalformedRequestIsNotAboutAnObject) {
  EXPECT_EQ(send("PUT", kMaps / "a", "{", "application/json").at("details"), "");
  EXPECT_EQ(post("/api/v1/namespaces/absent/configmaps", config_map("a")).at("details.kind"),
            "namespaces");
}

}  // namespace
}  // namespace agenttier::store
