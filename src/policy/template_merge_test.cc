#include "policy/template_merge.h"

#include <gtest/gtest.h>

#include <map>

namespace agenttier::policy {
namespace {

// Templates by key text; a small language for chains.
class Templates {
 public:
  api::SandboxTemplateSpec& cluster(const std::string& name) {
    return specs_["ClusterSandboxTemplate " + name];
  }
  api::SandboxTemplateSpec& in(const std::string& ns, const std::string& name) {
    return specs_["SandboxTemplate " + ns + "/" + name];
  }
  base::Result<ResolvedTemplate> resolve(api::TemplateReference reference,
                                         std::vector<std::string> shared = {}) const {
    return resolve_template(reference,
                            {.sandbox_namespace = "team-a", .shared_namespaces = std::move(shared)},
                            [this](const TemplateKey& key) -> std::optional<TemplateRecord> {
                              const auto found = specs_.find(key.text());
                              if (found == specs_.end()) return std::nullopt;
                              return TemplateRecord{.spec = found->second, .resource_version = "7"};
                            });
  }

 private:
  std::map<std::string, api::SandboxTemplateSpec> specs_;
};

api::TemplateReference to_cluster(const std::string& name) {
  api::TemplateReference reference;
  reference.name = name;
  reference.kind = "ClusterSandboxTemplate";
  return reference;
}

api::TemplateReference to_namespaced(const std::string& name, const std::string& ns = "") {
  api::TemplateReference reference;
  reference.name = name;
  if (!ns.empty()) reference.ns = ns;
  return reference;
}

api::ImageSpec image(const std::string& repository) {
  api::ImageSpec spec;
  spec.repository = repository;
  return spec;
}

api::EnvVar variable(const std::string& name, const std::string& value) {
  api::EnvVar env;
  env.name = name;
  env.value = value;
  return env;
}

TEST(ResolveTemplate, GivesTheTemplateThatWasNamed) {
  Templates templates;
  templates.cluster("minimal").image = image("debian:12");
  const auto resolved = templates.resolve(to_cluster("minimal"));
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->spec.image->repository, "debian:12");
  EXPECT_EQ(resolved->key.text(), "ClusterSandboxTemplate minimal");
  EXPECT_EQ(resolved->resource_version, "7");
}

TEST(ResolveTemplate, ReferenceWithoutKindMeansTheSandboxsNamespace) {
  Templates templates;
  templates.in("team-a", "python").image = image("python:3");
  const auto resolved = templates.resolve(to_namespaced("python"));
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->key.text(), "SandboxTemplate team-a/python");
}

TEST(ResolveTemplate, ChildsFieldsWinOverItsAncestors) {
  Templates templates;
  templates.cluster("root").image = image("root");
  templates.cluster("root").mode = "agent";
  templates.cluster("root").service_account = "of-root";
  templates.cluster("middle").inherits_from = to_cluster("root");
  templates.cluster("middle").timeout = "2h";
  templates.cluster("leaf").inherits_from = to_cluster("middle");
  templates.cluster("leaf").image = image("leaf");
  templates.cluster("leaf").service_account = "of-leaf";
  const auto resolved = templates.resolve(to_cluster("leaf"));
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->spec.image->repository, "leaf");
  EXPECT_EQ(resolved->spec.mode, "agent");
  EXPECT_EQ(resolved->spec.timeout, "2h");
  EXPECT_EQ(resolved->spec.service_account, "of-leaf");
  EXPECT_FALSE(resolved->spec.inherits_from);
  EXPECT_EQ(resolved->chain.size(), 3U);
}

TEST(ResolveTemplate, AncestorWithoutNamespaceIsLookedUpBesideItsChild) {
  Templates templates;
  templates.in("shared", "base").image = image("right");
  templates.in("team-a", "base").image = image("wrong");
  templates.in("shared", "python").inherits_from = to_namespaced("base");
  const auto resolved = templates.resolve(to_namespaced("python", "shared"), {"shared"});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->spec.image->repository, "right");
}

TEST(ResolveTemplate, MissingTemplateIsNamed) {
  const auto resolved = Templates().resolve(to_cluster("nope"));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(resolved.error().reason, "template_not_found");
  EXPECT_EQ(resolved.error().message,
            "template ClusterSandboxTemplate nope: ClusterSandboxTemplate nope does not exist");
}

TEST(ResolveTemplate, MissingParentNamesTheChain) {
  Templates templates;
  templates.cluster("leaf").inherits_from = to_cluster("gone");
  const auto resolved = templates.resolve(to_cluster("leaf"));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().message,
            "template ClusterSandboxTemplate leaf -> ClusterSandboxTemplate gone: "
            "ClusterSandboxTemplate gone does not exist");
}

TEST(ResolveTemplate, ForgottenKindIsHinted) {
  Templates templates;
  templates.cluster("minimal").image = image("debian:12");
  const auto resolved = templates.resolve(to_namespaced("minimal"));
  ASSERT_FALSE(resolved);
  EXPECT_NE(resolved.error().message.find("set kind: ClusterSandboxTemplate"), std::string::npos);
}

TEST(ResolveTemplate, CycleIsAnErrorThatShowsIt) {
  Templates templates;
  templates.cluster("a").inherits_from = to_cluster("b");
  templates.cluster("b").inherits_from = to_cluster("a");
  const auto resolved = templates.resolve(to_cluster("a"));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().reason, "template_cycle");
  EXPECT_EQ(resolved.error().message,
            "template ClusterSandboxTemplate a -> ClusterSandboxTemplate b -> "
            "ClusterSandboxTemplate a: it inherits from itself");
}

TEST(ResolveTemplate, TemplateThatInheritsFromItselfIsACycle) {
  Templates templates;
  templates.in("team-a", "a").inherits_from = to_namespaced("a", "team-a");
  const auto resolved = templates.resolve(to_namespaced("a"));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().reason, "template_cycle");
}

Templates chain_of(std::size_t length) {
  Templates templates;
  for (std::size_t i = 1; i < length; ++i) {
    templates.cluster("t" + std::to_string(i)).inherits_from =
        to_cluster("t" + std::to_string(i + 1));
  }
  templates.cluster("t" + std::to_string(length)).image = image("root");
  return templates;
}

TEST(ResolveTemplate, TenTemplatesInARowAreTheMost) {
  EXPECT_TRUE(chain_of(10).resolve(to_cluster("t1")));
  const auto resolved = chain_of(11).resolve(to_cluster("t1"));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().reason, "template_too_deep");
}

TEST(ResolveTemplate, UnknownKindIsRefused) {
  api::TemplateReference reference = to_cluster("minimal");
  reference.kind = "Pod";
  const auto resolved = Templates().resolve(reference);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().reason, "template_invalid");
}

TEST(ResolveTemplate, ForeignNamespaceIsClosedUnlessShared) {
  Templates templates;
  templates.in("team-b", "secret").env = {variable("KEY", "of team b")};
  const auto closed = templates.resolve(to_namespaced("secret", "team-b"));
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, base::ErrorCode::kDenied);
  EXPECT_EQ(closed.error().message.find("of team b"), std::string::npos);
  EXPECT_TRUE(templates.resolve(to_namespaced("secret", "team-b"), {"team-b"}));
}

TEST(ResolveTemplate, ForeignAncestorIsClosedToo) {
  Templates templates;
  templates.in("team-a", "mine").inherits_from = to_namespaced("secret", "team-b");
  templates.in("team-b", "secret").env = {variable("KEY", "of team b")};
  EXPECT_FALSE(templates.resolve(to_namespaced("mine")));
}

TEST(MergeTemplate, ReplacesBlocksAsAWhole) {
  api::SandboxTemplateSpec parent;
  parent.image = image("parent");
  parent.image->pull_secret = "parents-registry";
  parent.network.emplace().allow_internet = true;
  api::SandboxTemplateSpec child;
  child.image = image("child");
  child.network.emplace().allow_peer_sandboxes = true;
  const auto merged = merge_template(parent, child);
  EXPECT_FALSE(merged.image->pull_secret);
  EXPECT_FALSE(merged.network->allow_internet);
}

TEST(MergeTemplate, OverlaysStorageFieldByField) {
  api::SandboxTemplateSpec parent;
  parent.storage.emplace().size = "20Gi";
  parent.storage->mount_path = "/work";
  api::SandboxTemplateSpec child;
  child.storage.emplace().snapshot_on_stop = true;
  const auto merged = merge_template(parent, child);
  EXPECT_EQ(merged.storage->size, "20Gi");
  EXPECT_EQ(merged.storage->mount_path, "/work");
  EXPECT_EQ(merged.storage->snapshot_on_stop, true);
}

TEST(MergeTemplate, MergesVariablesByNameInTheParentsOrder) {
  api::SandboxTemplateSpec parent;
  parent.env = {variable("A", "1"), variable("B", "2")};
  api::SandboxTemplateSpec child;
  child.env = {variable("C", "3"), variable("A", "9")};
  const auto merged = merge_template(parent, child);
  ASSERT_EQ(merged.env.size(), 3U);
  EXPECT_EQ(merged.env[0], variable("A", "9"));
  EXPECT_EQ(merged.env[1], variable("B", "2"));
  EXPECT_EQ(merged.env[2], variable("C", "3"));
}

TEST(MergeTemplate, MergesFilesByPath) {
  api::FileSpec file;
  file.path = "/workspace/a";
  file.content = "parent";
  api::SandboxTemplateSpec parent;
  parent.files = {file};
  file.content = "child";
  api::SandboxTemplateSpec child;
  child.files = {file};
  const auto merged = merge_template(parent, child);
  ASSERT_EQ(merged.files.size(), 1U);
  EXPECT_EQ(merged.files[0].content, "child");
}

TEST(MergeTemplate, AppendsWhatAddsUp) {
  api::Container container;
  container.name = "proxy";
  api::SandboxTemplateSpec parent;
  parent.sidecars = {container};
  parent.init_scripts = {"one"};
  container.name = "cache";
  api::SandboxTemplateSpec child;
  child.sidecars = {container};
  child.init_scripts = {"two"};
  const auto merged = merge_template(parent, child);
  ASSERT_EQ(merged.sidecars.size(), 2U);
  EXPECT_EQ(merged.sidecars[1].name, "cache");
  EXPECT_EQ(merged.init_scripts, (std::vector<std::string>{"one", "two"}));
}

TEST(MergeTemplate, MergesTheHarnessDeep) {
  api::SandboxTemplateSpec parent;
  parent.harness.emplace().command = {"serve"};
  parent.harness->shell = "/bin/zsh";
  parent.harness->agent.emplace().entrypoint = {"agent"};
  parent.harness->agent->env = {variable("A", "1")};
  api::SandboxTemplateSpec child;
  child.harness.emplace().args = {"--fast"};
  child.harness->agent.emplace().env = {variable("A", "2")};
  const auto merged = merge_template(parent, child);
  EXPECT_EQ(merged.harness->command, std::vector<std::string>{"serve"});
  EXPECT_EQ(merged.harness->args, std::vector<std::string>{"--fast"});
  EXPECT_EQ(merged.harness->shell, "/bin/zsh");
  EXPECT_EQ(merged.harness->agent->entrypoint, std::vector<std::string>{"agent"});
  EXPECT_EQ(merged.harness->agent->env[0].value, "2");
}

TEST(MergeTemplate, ChildWithoutAModeKeepsTheParents) {
  api::SandboxTemplateSpec parent;
  parent.mode = "agent";
  EXPECT_EQ(merge_template(parent, {}).mode, "agent");
}

}  // namespace
}  // namespace agenttier::policy
