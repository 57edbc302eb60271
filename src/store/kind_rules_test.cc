// What kinds of Kubernetes fill in, refuse and answer, as a kube-apiserver does.

#include "store/testing.h"

namespace agenttier::store {
namespace {

using Causes = std::vector<std::string>;

constexpr Collection kServices{"/api/v1/namespaces/default/services"};
constexpr Collection kClaims{"/api/v1/namespaces/default/persistentvolumeclaims"};
constexpr Collection kPolicies{"/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"};
constexpr Collection kNamespaces{"/api/v1/namespaces"};

class KindRulesTest : public StoreTest {
 protected:
  // The first container of a new pod that has only this one.
  json::object container(json::object fields) {
    fields.emplace("name", "main");
    fields.emplace("image", "busybox");
    return post(kPods, pod("p", {{"containers", json::array{std::move(fields)}}})).object();
  }
  static const json::object& first(const json::object& pod) {
    return pod.at("spec").at("containers").at(0).get_object();
  }
  Causes faults(json::object fields) {
    fields.emplace("name", "main");
    fields.emplace("image", "busybox");
    return post(kPods, pod("p", {{"containers", json::array{std::move(fields)}}})).causes();
  }
};

TEST_F(KindRulesTest, AnImageThatMayMoveIsAlwaysPulled) {
  const std::pair<const char*, const char*> cases[] = {{"busybox", "Always"},
                                                       {"host:5000/busybox", "Always"},
                                                       {"busybox:latest", "Always"},
                                                       {"busybox:1", "IfNotPresent"},
                                                       {"busybox@sha256:0", "IfNotPresent"}};
  for (const auto& [image, policy] : cases) {
    const json::object made = container({{"image", image}});
    EXPECT_EQ(find_text(first(made), "imagePullPolicy"), policy) << image;
    remove(kPods / "p");
  }
}

TEST_F(KindRulesTest, AContainersPartsAreFilledIn) {
  const json::object made =
      container({{"ports", {{{"containerPort", 80}}}},
                 {"livenessProbe", {{"httpGet", {{"port", 80}}}}},
                 {"resources", {{"limits", {{"cpu", "1"}}}}},
                 {"env", {{{"name", "A"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "x"}}}}}}}}});
  EXPECT_EQ(first(made).at("ports").at(0).at("protocol"), "TCP");
  EXPECT_EQ(first(made).at("livenessProbe"),
            parse(R"({"httpGet":{"port":80,"path":"/","scheme":"HTTP"},"timeoutSeconds":1,)"
                  R"("periodSeconds":10,"successThreshold":1,"failureThreshold":3})"));
  EXPECT_EQ(first(made).at("resources").at("requests"), parse(R"({"cpu":"1"})"));
  EXPECT_EQ(first(made).at("env").at(0).at("valueFrom").at("fieldRef").at("apiVersion"), "v1");
  EXPECT_EQ(find_text(first(made), "terminationMessagePolicy"), "File");
}

TEST_F(KindRulesTest, APodsQualityFollowsFromWhatItAsksFor) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "BestEffort"},
      {R"({"requests":{"cpu":"1"}})", "Burstable"},
      {R"({"limits":{"cpu":"1"}})", "Burstable"},
      {R"({"limits":{"cpu":"1","memory":"1Gi"}})", "Guaranteed"},
      {R"({"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}})", "Burstable"}};
  for (const auto& [resources, quality] : cases) {
    const json::object made = container({{"resources", parse(resources)}});
    EXPECT_EQ(find_text(made, "status.qosClass"), quality) << resources;
    remove(kPods / "p");
  }
}

TEST_F(KindRulesTest, AContainersFaultsAreNamed) {
  EXPECT_EQ(faults({{"image", " x"}}),
            Causes{"spec.containers[0].image: Invalid value: \" x\": must not have leading or "
                   "trailing whitespace"});
  EXPECT_EQ(faults({{"ports", {{{"containerPort", 70000}}}}}),
            Causes{"spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be "
                   "between 1 and 65535, inclusive"});
  EXPECT_EQ(faults({{"env", {{{"value", "1"}}}}}),
            Causes{"spec.containers[0].env[0].name: Required value"});
  EXPECT_EQ(faults({{"imagePullPolicy", "Maybe"}}),
            Causes{"spec.containers[0].imagePullPolicy: Unsupported value: \"Maybe\": supported "
                   "values: \"Always\", \"IfNotPresent\", \"Never\""});
  EXPECT_EQ(faults({{"resources", {{"requests", {{"cpu", "2"}}}, {"limits", {{"cpu", "1"}}}}}}),
            Causes{"spec.containers[0].resources.requests: Invalid value: \"2\": must be less than "
                   "or equal to cpu limit of 1"});
}

TEST_F(KindRulesTest, AServicesPortsAreFilledIn) {
  const Reply made =
      post(kServices, {{"metadata", {{"name", "s"}}}, {"spec", {{"ports", {{{"port", 80}}}}}}});
  EXPECT_EQ(made.object().at("spec").at("ports"),
            parse(R"([{"port":80,"protocol":"TCP","targetPort":80}])"));
}

TEST_F(KindRulesTest, AClaimsModeAndSizeAreChecked) {
  const auto claim = [](const char* mode, const char* size) {
    return json::object{
        {"metadata", {{"name", "c"}}},
        {"spec", {{"accessModes", {mode}}, {"resources", {{"requests", {{"storage", size}}}}}}}};
  };
  EXPECT_EQ(post(kClaims, claim("Sideways", "1Gi")).causes().size(), 1U);
  EXPECT_EQ(post(kClaims, claim("ReadWriteOnce", "0")).causes(),
            Causes{"spec.resources[storage]: Invalid value: \"0\": must be greater than zero"});
  EXPECT_EQ(post(kClaims, claim("ReadWriteOnce", "1Gi")).status, 201);
}

TEST_F(KindRulesTest, AClaimDoesNotShrinkBelowWhatItHas) {
  post(kClaims, {{"metadata", {{"name", "c"}}},
                 {"spec",
                  {{"accessModes", {"ReadWriteOnce"}},
                   {"resources", {{"requests", {{"storage", "2Gi"}}}}}}}});
  merge(kClaims / "c" + "/status", {{"status", {{"capacity", {{"storage", "2Gi"}}}}}});
  const auto resize = [&](const char* size) {
    return merge(kClaims / "c", {{"spec", {{"resources", {{"requests", {{"storage", size}}}}}}}});
  };
  EXPECT_EQ(resize("1Gi").causes().front(),
            "spec.resources.requests.storage: Forbidden: field can not be less than "
            "status.capacity");
  EXPECT_EQ(resize("3Gi").status, 200);
}

TEST_F(KindRulesTest, APolicysTypesAndBlocksAreChecked) {
  const auto policy = [](json::object spec) {
    spec.emplace("podSelector", json::object());
    return json::object{{"metadata", {{"name", "p"}}}, {"spec", std::move(spec)}};
  };
  EXPECT_EQ(post(kPolicies, policy({{"policyTypes", {"Sideways"}}})).causes(),
            Causes{"spec.policyTypes[0]: Unsupported value: \"Sideways\": supported values: "
                   "\"Ingress\", \"Egress\""});
  const Reply block =
      post(kPolicies, policy({{"egress", {{{"to", {{{"ipBlock", {{"cidr", "all"}}}}}}}}}}));
  EXPECT_EQ(block.causes().size(), 1U) << block.text;
}

TEST_F(KindRulesTest, AKeyIsInOneOfAConfigMapsParts) {
  const Reply reply =
      post(kMaps, config_map("a", {{"data", {{"k", "v"}}}, {"binaryData", {{"k", "eA=="}}}}));
  EXPECT_EQ(reply.causes(),
            Causes{"data[k]: Invalid value: \"k\": duplicate of key present in binaryData"});
}

TEST_F(KindRulesTest, LabelsOfAPodGoWithItsStatusAndThoseOfASandboxDoNot) {
  post(kPods, pod("a"));
  post(kSandboxes, sandbox("a"));
  const json::object labels{{"metadata", {{"labels", {{"x", "1"}}}}}};
  EXPECT_EQ(merge(kPods / "a" + "/status", labels).at("metadata.labels.x"), "1");
  EXPECT_EQ(merge(kSandboxes / "a" + "/status", labels).at("metadata.labels"), "");
}

TEST_F(KindRulesTest, AnOwnerIsKeptOnce) {
  const std::string uid = post(kMaps, config_map("owner")).at("metadata.uid");
  const json::object owner{
      {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "owner"}, {"uid", uid}};
  const Reply reply =
      post(kMaps, config_map("a", {{"metadata", {{"ownerReferences", {owner, owner}}}}}));
  EXPECT_EQ(reply.object().at("metadata").at("ownerReferences").get_array().size(), 1U);
  EXPECT_TRUE(reply.headers.find("Warning"));
}

TEST_F(KindRulesTest, AFinalizerOfAKindOfKubernetesIsQualified) {
  const json::object finalizers{{"metadata", {{"finalizers", {"plain"}}}}};
  EXPECT_EQ(post(kMaps, config_map("a", finalizers)).status, 422);
  json::object ours = sandbox("a");
  ours["metadata"].as_object()["finalizers"] = json::array{"plain"};
  EXPECT_EQ(post(kSandboxes, ours).status, 201);
}

TEST_F(KindRulesTest, ADryRunGivesNoVersion) {
  const Reply reply = post(std::string(kMaps) + "?dryRun=All", config_map("a"));
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.version(), "");
}

TEST_F(KindRulesTest, AGeneratedNameIsALabel) {
  const std::string prefix(80, 'x');
  const Reply reply = post(kMaps, {{"metadata", {{"generateName", prefix}}}});
  EXPECT_EQ(reply.at("metadata.name").size(), 63U);
}

TEST_F(KindRulesTest, NamespacesAreDeletedOneByOne) {
  EXPECT_EQ(send("DELETE", kNamespaces, "", "").status, 405);
  post(kNamespaces, {{"metadata", {{"name", "n"}}}});
  EXPECT_EQ(remove(kNamespaces / "n").at("status.phase"), "Terminating");
  EXPECT_EQ(get(kNamespaces / "n").status, 404);
}

TEST_F(KindRulesTest, APreconditionThatDoesNotHoldIsExplained) {
  post(kMaps, config_map("a"));
  const Reply reply = remove(kMaps / "a", {{"preconditions", {{"uid", "other"}}}});
  EXPECT_EQ(reply.status, 409);
  EXPECT_EQ(reply.at("details.kind"), "ConfigMap");
  EXPECT_NE(reply.at("message").find("the UID in the precondition (other) does not match"),
            std::string::npos);
}

TEST_F(KindRulesTest, AnEventsSourceCanBeSelected) {
  const std::string events = "/api/v1/namespaces/default/events";
  post(events, {{"metadata", {{"name", "e"}}}, {"source", {{"component", "node"}}}});
  EXPECT_EQ(get(events + "?fieldSelector=source%3Dnode").item_names(), Causes{"e"});
  EXPECT_EQ(get(events + "?fieldSelector=source%3Dother").item_names(), Causes{});
}

}  // namespace
}  // namespace agenttier::store
