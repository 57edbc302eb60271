#include "policy/effective_spec.h"

#include <gtest/gtest.h>

namespace agenttier::policy {
namespace {

using namespace std::chrono_literals;

api::ImageSpec image(const std::string& repository) {
  api::ImageSpec spec;
  spec.repository = repository;
  return spec;
}

SpecDefaults defaults() {
  SpecDefaults values;
  values.image = "default-image";
  return values;
}

EffectiveSpec effective(const api::SandboxSpec& sandbox, const api::SandboxTemplateSpec& merged) {
  auto spec = make_effective_spec(sandbox, merged, defaults());
  AT_ASSERT(spec.has_value());
  return *std::move(spec);
}

TEST(EffectiveSpec, EmptySandboxGetsDefaults) {
  const EffectiveSpec spec = effective({}, {});
  EXPECT_EQ(spec.image.repository, "default-image");
  EXPECT_EQ(spec.mode, "code");
  EXPECT_EQ(spec.storage.size, "10Gi");
  EXPECT_EQ(spec.storage.mount_path, "/workspace");
  EXPECT_EQ(spec.harness.shell, "/bin/bash");
  EXPECT_EQ(spec.resources.limits.count("memory"), 1U);
  EXPECT_FALSE(spec.timeout);
  EXPECT_FALSE(spec.privileged);
}

TEST(EffectiveSpec, SandboxWinsOverTemplate) {
  api::SandboxSpec sandbox;
  sandbox.image = image("mine");
  sandbox.runtime_class = "gvisor";
  api::SandboxTemplateSpec merged;
  merged.image = image("templates");
  merged.runtime_class = "runc";
  merged.mode = "agent";
  const EffectiveSpec spec = effective(sandbox, merged);
  EXPECT_EQ(spec.image.repository, "mine");
  EXPECT_EQ(spec.runtime_class, "gvisor");
  EXPECT_EQ(spec.mode, "agent");
}

TEST(EffectiveSpec, TemplatesTimeLimitsCount) {
  api::SandboxTemplateSpec merged;
  merged.timeout = "24h";
  merged.idle_timeout = "4h";
  const EffectiveSpec spec = effective({}, merged);
  EXPECT_EQ(spec.timeout, 24h);
  EXPECT_EQ(spec.idle_timeout, 4h);
}

TEST(EffectiveSpec, SandboxsTimeLimitReplacesTheTemplates) {
  api::SandboxSpec sandbox;
  sandbox.idle_timeout = "10m";
  api::SandboxTemplateSpec merged;
  merged.idle_timeout = "4h";
  EXPECT_EQ(effective(sandbox, merged).idle_timeout, 10min);
}

TEST(EffectiveSpec, ZeroInATemplateMeansNoLimit) {
  api::SandboxTemplateSpec merged;
  merged.timeout = "0s";
  EXPECT_FALSE(effective({}, merged).timeout);
}

TEST(EffectiveSpec, BadDurationNamesTheField) {
  api::SandboxSpec sandbox;
  sandbox.timeout = "30 minutes";
  const auto spec = make_effective_spec(sandbox, {}, defaults());
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message.find("spec.timeout"), std::string::npos);
}

TEST(EffectiveSpec, NoImageAtAllIsAnError) {
  const auto spec = make_effective_spec({}, {}, SpecDefaults{});
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, base::ErrorCode::kInvalid);
}

TEST(EffectiveSpec, SettingOneStorageFieldKeepsTheTemplatesOthers) {
  api::SandboxSpec sandbox;
  sandbox.storage.emplace().snapshot_on_stop = true;
  api::SandboxTemplateSpec merged;
  merged.storage.emplace().size = "50Gi";
  merged.storage->storage_class = "fast";
  const EffectiveSpec spec = effective(sandbox, merged);
  EXPECT_EQ(spec.storage.size, "50Gi");
  EXPECT_EQ(spec.storage.storage_class, "fast");
  EXPECT_TRUE(spec.storage.snapshot_on_stop);
}

TEST(EffectiveSpec, ListsOfTheTemplateComeFirst) {
  api::CredentialRef credential;
  credential.secret_name = "mine";
  api::SandboxSpec sandbox;
  sandbox.credentials = {credential};
  credential.secret_name = "templates";
  api::SandboxTemplateSpec merged;
  merged.credentials = {credential};
  const EffectiveSpec spec = effective(sandbox, merged);
  ASSERT_EQ(spec.credentials.size(), 2U);
  EXPECT_EQ(spec.credentials[0].secret_name, "templates");
}

TEST(SpecHash, IsTheSameForTheSameSpec) {
  api::SandboxSpec sandbox;
  sandbox.image = image("mine");
  EXPECT_EQ(spec_hash(effective(sandbox, {})), spec_hash(effective(sandbox, {})));
  EXPECT_EQ(spec_hash(effective(sandbox, {})).size(), 64U);
}

TEST(SpecHash, ChangesWithAnythingThePodIsMadeOf) {
  const std::string plain = spec_hash(effective({}, {}));
  api::SandboxSpec sandbox;
  sandbox.image = image("mine");
  EXPECT_NE(spec_hash(effective(sandbox, {})), plain);
  api::SandboxTemplateSpec merged;
  merged.init_scripts = {"true"};
  EXPECT_NE(spec_hash(effective({}, merged)), plain);
  merged = {};
  merged.runtime_class = "gvisor";
  EXPECT_NE(spec_hash(effective({}, merged)), plain);
}

TEST(SpecHash, IgnoresWhatActsOnARunningSandbox) {
  const std::string plain = spec_hash(effective({}, {}));
  api::SandboxSpec sandbox;
  sandbox.timeout = "1h";
  sandbox.network.emplace().allow_internet = true;
  EXPECT_EQ(spec_hash(effective(sandbox, {})), plain);
}

TEST(SpecHash, DoesNotDependOnWhereAFieldWasWritten) {
  api::SandboxSpec sandbox;
  sandbox.image = image("same");
  api::SandboxTemplateSpec merged;
  merged.image = image("same");
  EXPECT_EQ(spec_hash(effective(sandbox, {})), spec_hash(effective({}, merged)));
}

}  // namespace
}  // namespace agenttier::policy
