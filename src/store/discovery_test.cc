// What kubectl asks for: discovery and tables.

#include <gtest/gtest.h>

#include "store/table_view.h"
#include "store/testing.h"

namespace agenttier::store {
namespace {

constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

class DiscoveryTest : public StoreTest {
 protected:
  Reply get_table(std::string target) {
    http::Request request = StoreTest::request("GET", std::move(target), nullptr);
    request.headers.set("Accept", kTable);
    return send(std::move(request));
  }
};

TEST_F(DiscoveryTest, NamesGroupsVersionsAndKinds) {
  EXPECT_EQ(get("/api").at("versions"), "[\"v1\"]");
  EXPECT_NE(get("/apis").text.find("\"agenttier.io/v1alpha1\""), std::string::npos);
  EXPECT_EQ(get("/apis/agenttier.io").at("preferredVersion.version"), "v1alpha1");
  const Reply ours = get("/apis/agenttier.io/v1alpha1");
  EXPECT_EQ(ours.at("kind"), "APIResourceList");
  EXPECT_NE(ours.text.find("\"sandboxes/status\""), std::string::npos);
  EXPECT_NE(get("/api/v1").text.find("\"pods/binding\""), std::string::npos);
  EXPECT_EQ(get("/version").at("major"), "1");
  EXPECT_EQ(get("/apis/none.io/v1").status, 404);
}

TEST_F(DiscoveryTest, SaysThatFieldsAreValidatedHere) {
  EXPECT_NE(get("/openapi/v3").text.find("apis/agenttier.io/v1alpha1"), std::string::npos);
  const json::object ours = get("/openapi/v3/apis/agenttier.io/v1alpha1").object();
  const json::object& paths = ours.at("paths").as_object();
  const json::object& sandbox =
      paths.at("/apis/agenttier.io/v1alpha1/namespaces/{namespace}/sandboxes/{name}").as_object();
  EXPECT_EQ(sandbox.at("patch").at("parameters").at(2).at("name"), "fieldValidation");
  EXPECT_EQ(get("/openapi/v3/api/v1").status, 200);
  EXPECT_EQ(get("/openapi/v3/api/v2").status, 404);
  EXPECT_EQ(get("/openapi/v2").status, 404);
}

TEST_F(DiscoveryTest, PrintsObjectsAsRows) {
  post(kSandboxes, sandbox("a"));
  merge(kSandboxes / "a" + "/status",
        {{"status", {{"phase", "Running"}, {"resolvedTemplate", "minimal"}}}});
  clock_.advance(std::chrono::minutes(90));
  const Reply table = get_table(kSandboxes);
  EXPECT_EQ(table.at("kind"), "Table");
  const json::object value = table.object();
  EXPECT_EQ(value.at("rows").at(0).at("cells"), (json::array{"a", "Running", "minimal", "90m"}));
  EXPECT_EQ(get_table(kSandboxes / "a").at("kind"), "Table");
}

TEST_F(DiscoveryTest, WatchesRowsToo) {
  http::Request request = StoreTest::request("GET", std::string(kMaps) + "?watch=1", nullptr);
  request.headers.set("Accept", kTable);
  post(kMaps, config_map("a"));
  TestWatch watch = this->watch(std::move(request));
  const json::object event = next_event(watch);
  EXPECT_EQ(find_text(event, "object.kind"), "Table");
}

TEST(Age, ReadsAsPeopleSayIt) {
  using std::chrono::seconds;
  EXPECT_EQ(format_age(seconds(-5)), "0s");
  EXPECT_EQ(format_age(seconds(119)), "119s");
  EXPECT_EQ(format_age(seconds(192)), "3m12s");
  EXPECT_EQ(format_age(seconds(3600)), "60m");
  EXPECT_EQ(format_age(seconds(4 * 3600 + 60)), "4h1m");
  EXPECT_EQ(format_age(seconds(5 * 86400 + 7200)), "5d2h");
  EXPECT_EQ(format_age(seconds(800LL * 86400)), "2y70d");
}

}  // namespace
}  // namespace agenttier::store
