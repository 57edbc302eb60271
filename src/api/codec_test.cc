#include "api/codec.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "api/container.h"
#include "api/network_policy.h"
#include "api/pod.h"
#include "api/rest_exec.h"
#include "api/rest_sandbox.h"
#include "api/sandbox.h"

namespace agenttier::api {
namespace {

boost::json::value parsed(std::string_view text) {
  return boost::json::parse(text);
}

template <class T>
base::Error error_of(std::string_view text, Decode mode) {
  auto result = T::from_json(parsed(text), "", mode);
  EXPECT_FALSE(result.has_value()) << text;
  return result ? base::Error() : result.error();
}

TEST(Codec, NamesTheFieldAndItsPathInAnObject) {
  const auto error = error_of<Sandbox>(
      R"({"spec": {"env": [{"name": "A"}, {"name": "B"}, {"name": 7}]}})", Decode::kLenient);
  EXPECT_EQ(error.code, base::ErrorCode::kInvalid);
  ASSERT_EQ(error.causes.size(), 1u);
  EXPECT_EQ(error.causes[0].field, "spec.env[2].name");
  EXPECT_EQ(error.causes[0].message, "must be a string, not a number");
  EXPECT_EQ(error.message, "spec.env[2].name: must be a string, not a number");
}

TEST(Codec, PutsTheGivenPathBeforeTheField) {
  auto result = EnvVar::from_json(parsed(R"({"value": "x"})"), "items[3]");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "items[3].name: is required");
}

TEST(Codec, ReportsEveryWrongFieldAtOnce) {
  const auto error = error_of<CreateSandboxRequest>(
      R"({"name": "Bad_Name!", "templateRef": {"kind": "Other"}, "timeout": "1x", "colour": 1})",
      Decode::kStrict);
  std::vector<std::string> fields;
  for (const auto& cause : error.causes) fields.push_back(cause.field);
  EXPECT_EQ(fields, (std::vector<std::string>{"name", "templateRef.name", "templateRef.kind",
                                              "timeout", "colour"}));
  EXPECT_NE(error.message.find("colour: is unknown; known here: name, namespace, templateRef"),
            std::string::npos)
      << error.message;
}

TEST(Codec, ListsAtMostTwentyFaults) {
  std::string text = R"({"name": "a", "templateRef": {"name": "t"})";
  for (int i = 0; i < 1000; ++i) text += ", \"x" + std::to_string(i) + "\": 1";
  const auto error = error_of<CreateSandboxRequest>(text + "}", Decode::kStrict);
  EXPECT_EQ(error.causes.size(), codec::Problems::kCausesMax);
}

TEST(Codec, CutsAHostileValueInItsMessage) {
  const std::string long_text(100000, 'x');
  const auto error = error_of<CreateSandboxRequest>(
      R"({"name": "a", "templateRef": {"name": "t", "kind": ")" + long_text + R"("}})",
      Decode::kStrict);
  EXPECT_LT(error.message.size(), 300u);
}

TEST(Codec, IgnoresUnknownFieldsOfObjectsOfTheApi) {
  const auto pod = Pod::from_json(parsed(
      R"({"spec": {"containers": [{"name": "c", "later": true}], "newer": {}}, "other": [1]})"));
  ASSERT_TRUE(pod.has_value()) << pod.error().message;
  EXPECT_EQ(pod->spec.containers[0].name, "c");
}

TEST(Codec, TakesNullForAbsent) {
  const auto sandbox = Sandbox::from_json(
      parsed(R"({"metadata": {"name": "a", "labels": null}, "spec": {"image": null}})"));
  ASSERT_TRUE(sandbox.has_value()) << sandbox.error().message;
  EXPECT_FALSE(sandbox->spec.image.has_value());
  EXPECT_EQ(error_of<EnvVar>(R"({"name": null})", Decode::kLenient).message, "name: is required");
}

TEST(Codec, RefusesAnotherKind) {
  EXPECT_EQ(error_of<Pod>(R"({"apiVersion": "v1", "kind": "Secret", "spec": {"containers": []}})",
                          Decode::kLenient)
                .message,
            "kind: must be Pod, not 'Secret'");
  EXPECT_EQ(error_of<Sandbox>(R"({"apiVersion": "agenttier.io/v2"})", Decode::kLenient).message,
            "apiVersion: must be agenttier.io/v1alpha1, not 'agenttier.io/v2'");
}

TEST(Codec, SaysWhatARootIsThatIsNoObject) {
  EXPECT_EQ(error_of<ExecRequest>("[1]", Decode::kStrict).message,
            "the JSON must be an object, not a list");
}

TEST(Codec, LeavesOutWhatIsEmpty) {
  Sandbox sandbox;
  sandbox.metadata.name = "demo";
  EXPECT_EQ(boost::json::value(sandbox.to_json()),
            parsed(R"({"apiVersion": "agenttier.io/v1alpha1", "kind": "Sandbox",
                       "metadata": {"name": "demo"}, "spec": {}})"));
}

TEST(Codec, ReadsQuantitiesThatAreNumbers) {
  const auto resources = ResourceRequirements::from_json(
      parsed(R"({"limits": {"cpu": 2, "memory": "1Gi", "pids": 0.5}})"), "", Decode::kStrict);
  ASSERT_TRUE(resources.has_value()) << resources.error().message;
  EXPECT_EQ(resources->limits.at("cpu"), "2");
  EXPECT_EQ(resources->limits.at("pids"), "0.5");
}

TEST(Codec, NamesTheKeyOfABadQuantity) {
  const auto error =
      error_of<ResourceRequirements>(R"({"limits": {"memory": "1 Gb"}})", Decode::kStrict);
  ASSERT_EQ(error.causes.size(), 1u);
  EXPECT_EQ(error.causes[0].field, "limits[memory]");
  EXPECT_NE(error.message.find("for example 500m"), std::string::npos) << error.message;
}

TEST(Codec, KeepsPortNumbersNumbersAndPortNamesNames) {
  const std::string_view text =
      R"({"podSelector": {}, "ingress": [{"ports": [{"port": 80}, {"port": "http"}]}]})";
  const auto spec = NetworkPolicySpec::from_json(parsed(text));
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->ingress[0].ports[0].port, "80");
  EXPECT_EQ(boost::json::value(spec->to_json()), parsed(text));
}

TEST(Codec, RefusesNumbersThatAreNotWholeOrTooLarge) {
  EXPECT_EQ(error_of<ExecRequest>(R"({"timeout": 1.5})", Decode::kStrict).message,
            "timeout: must be a whole number of at most 64 bits");
  EXPECT_EQ(error_of<ExecRequest>(R"({"timeout": 18446744073709551615})", Decode::kStrict).message,
            "timeout: must be a whole number of at most 64 bits");
  EXPECT_EQ(error_of<ExecRequest>(R"({"timeout": 86401})", Decode::kStrict).message,
            "timeout: must be from 0 to 86400");
  EXPECT_EQ(
      error_of<PodSpec>(R"({"containers": [], "priority": 3000000000})", Decode::kLenient).message,
      "priority: must fit in 32 bits");
  EXPECT_EQ(ExecRequest::from_json(parsed(R"({"timeout": 5.0})")).value().timeout, 5);
}

TEST(Codec, GivesTheDefaultOfAFieldThatIsNotSent) {
  EXPECT_EQ(ExecRequest::from_json(parsed(R"({"command": "true"})")).value().timeout, 30);
}

TEST(Codec, ChecksTheNamesOfVariables) {
  const auto error = error_of<ExecRequest>(R"({"env": {"A B": "1", "OK": "2"}})", Decode::kStrict);
  ASSERT_EQ(error.causes.size(), 1u);
  EXPECT_EQ(error.causes[0].field, "env[A B]");
}

TEST(Codec, TellsARemovedLabelFromAnAbsentOne) {
  const auto patch = PatchSandboxRequest::from_json(
      parsed(R"({"labels": {"old": null, "new": "1"}})"), "", Decode::kStrict);
  ASSERT_TRUE(patch.has_value()) << patch.error().message;
  EXPECT_EQ(patch->labels.at("old"), std::nullopt);
  EXPECT_EQ(patch->labels.at("new"), "1");
}

}  // namespace
}  // namespace agenttier::api
