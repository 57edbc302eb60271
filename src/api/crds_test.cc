#include "api/crds.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string>

namespace agenttier::api {
namespace {

boost::json::value schema_of(std::string_view kind) {
  const KindInfo* info = find_kind(kind);
  return info == nullptr ? boost::json::value() : boost::json::parse(info->schema);
}

TEST(Crds, KnowsEveryKindOnce) {
  std::set<std::string_view> kinds;
  for (const KindInfo& info : all_kinds()) EXPECT_TRUE(kinds.insert(info.type.kind).second);
  EXPECT_EQ(kinds, (std::set<std::string_view>{
                       "Sandbox", "SandboxTemplate", "ClusterSandboxTemplate", "Pod",
                       "PersistentVolumeClaim", "NetworkPolicy", "Secret", "ConfigMap", "Event",
                       "Namespace", "Node", "Lease", "Service"}));
  EXPECT_EQ(find_kind("Deployment"), nullptr);
}

TEST(Crds, OnlyOurKindsHaveASchema) {
  for (const KindInfo& info : all_kinds()) {
    EXPECT_EQ(!info.schema.empty(), info.type.group == "agenttier.io") << info.type.kind;
  }
}

// A default here would be stamped on a child template and win over its parent's value.
TEST(Crds, NothingThatATemplateInheritsHasADefault) {
  for (const std::string_view kind : {"Sandbox", "SandboxTemplate", "ClusterSandboxTemplate"}) {
    const boost::json::value schema = schema_of(kind);
    const auto& spec = schema.at("properties").at("spec").at("properties");
    EXPECT_FALSE(spec.at("mode").as_object().contains("default"));
    for (const auto& field : spec.at("storage").at("properties").as_object()) {
      EXPECT_FALSE(field.value().as_object().contains("default")) << field.key();
    }
    if (kind != "Sandbox") {
      const auto& harness = spec.at("harness").at("properties").as_object();
      EXPECT_FALSE(harness.at("shell").as_object().contains("default"));
    }
  }
}

TEST(Crds, ASandboxIsShownWithPhaseTemplateAndAge) {
  const KindInfo* info = find_kind("Sandbox");
  ASSERT_NE(info, nullptr);
  EXPECT_TRUE(info->has_status);
  EXPECT_EQ(info->list_kind, "SandboxList");
  ASSERT_EQ(info->columns.size(), 3u);
  EXPECT_EQ(info->columns[0].json_path, ".status.phase");
  EXPECT_EQ(info->columns[1].json_path, ".status.resolvedTemplate");
  EXPECT_EQ(info->columns[2].type, "date");
}

TEST(Crds, ASandboxNameLongerThanALabelIsRefused) {
  const boost::json::value schema = schema_of("Sandbox");
  const auto& name = schema.at("properties").at("metadata").at("properties").at("name");
  EXPECT_EQ(name.at("maxLength").as_int64(), 63);
}

}  // namespace
}  // namespace agenttier::api
