#include "node/image_store.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "node/testing.h"
#include "os/file.h"

namespace agenttier::node {
namespace {

TEST(ImageReference, IsMadeWhole) {
  EXPECT_EQ(parse_image_reference("alpine")->text(), "docker.io/library/alpine:latest");
  EXPECT_EQ(parse_image_reference("acme/tool:1")->text(), "docker.io/acme/tool:1");
  EXPECT_EQ(parse_image_reference("ghcr.io/a/b")->text(), "ghcr.io/a/b:latest");
  EXPECT_EQ(parse_image_reference("localhost:5000/a")->text(), "localhost:5000/a:latest");
  const std::string digest = "sha256:" + std::string(64, 'a');
  EXPECT_EQ(parse_image_reference("a@" + digest)->pull_text(), "docker.io/library/a@" + digest);
  EXPECT_EQ(parse_image_reference("agenttier/minimal")->local_name(), "agenttier/minimal");
}

TEST(ImageReference, RefusesWhatIsNoImageOfARegistry) {
  for (const char* text :
       {"", "UPPER/case", "docker-archive:/etc/passwd", "oci:/tmp/x", "a:", "a@sha256:short",
        "../etc", "a//b", "a b", "-x/y", "ghcr../a", "-a.io/x", "a-.io/x", "h:/a", "h:1x/a",
        "169.254.169.254/latest/meta-data", "a:tag:more"}) {
    const auto reference = parse_image_reference(text);
    EXPECT_FALSE(reference) << text << " became " << reference->text();
  }
}

TEST(ImageRecord, SurvivesItsFile) {
  ImageRecord record;
  record.name = "docker.io/library/alpine:3";
  record.digest = "sha256:" + std::string(64, 'a');
  record.remote_digest = "sha256:" + std::string(64, 'b');
  record.origin = ImageOrigin::kImported;
  record.auths = {"", "hash"};
  record.compressed_bytes = 5;
  record.created = "2030-01-01T00:00:00Z";
  EXPECT_EQ(*parse_image_record(format_image_record(record)), record);
}

TEST(ImageConfig, IsReadFromTheImage) {
  const auto config = parse_image_config(
      R"({"config":{"Env":["A=b"],"Entrypoint":["/e"],"Cmd":["c"],"User":"node","WorkingDir":"/w"}})");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->user, "node");
  EXPECT_EQ(*parse_image_config(format_image_config(*config)), *config);
}

TEST(PullSecrets, AreMerged) {
  const auto merged =
      merge_docker_configs({R"({"auths":{"a":{"auth":"x"}}})", R"({"auths":{"b":{"auth":"y"}}})"});
  EXPECT_EQ(*merged, R"({"auths":{"a":{"auth":"x"},"b":{"auth":"y"}}})");
  EXPECT_EQ(*merge_docker_configs({}), "");
}

class ImageStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TestNode::why_not(); !why.empty()) GTEST_SKIP() << why;
    node.emplace();
    node->start();
  }
  std::string layout() { return TestNode::busybox_layout(); }
  std::optional<TestNode> node;
};

TEST_F(ImageStoreTest, AnImportedImageIsThereUnderItsNameAndAfterARestart) {
  const auto imported =
      node->run(node->agent().images().import_image("acme/box:1", "oci:" + layout() + ":latest"));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_TRUE(os::exists(imported->rootfs + "/bin/busybox"));
  node->stop();
  node->start();
  const auto found = node->agent().images().find({.name = "acme/box:1"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->digest, imported->digest);
}

TEST_F(ImageStoreTest, ManyWhoAskAtOnceShareOneFetch) {
  constexpr int kAskers = 8;
  std::vector<std::optional<base::Result<Image>>> results(kAskers);
  const auto ask = [](ImageStore* images,
                      std::optional<base::Result<Image>>* out) -> async::Task<void> {
    out->emplace(co_await images->get({.name = "agenttier/busybox"}));
  };
  for (auto& result : results) node->spawn(ask(&node->agent().images(), &result));
  ASSERT_TRUE(node->wait_until([&] {
    return std::all_of(results.begin(), results.end(), [](auto& one) { return one.has_value(); });
  }));
  for (auto& result : results) ASSERT_TRUE(result->has_value());
  EXPECT_EQ(os::list_directory(node->paths().image_roots()).size(), 1U);
  EXPECT_TRUE(os::list_directory(node->paths().tmp()).empty());
}

TEST_F(ImageStoreTest, AHalfUnpackedImageIsNotTakenForOne) {
  const std::string half = node->paths().image_root("sha256:" + std::string(64, 'c'));
  node->stop();
  ASSERT_TRUE(os::make_directories(half + "/rootfs/bin"));
  node->start();
  EXPECT_FALSE(os::exists(half));
}

TEST_F(ImageStoreTest, GarbageIsWhatNoNameAndNoContainerUses) {
  const auto image =
      node->run(node->agent().images().import_image("acme/box:1", "oci:" + layout() + ":latest"));
  ASSERT_TRUE(image);
  ASSERT_TRUE(node->run(node->agent().images().remove("acme/box:1")));
  const std::string digest = image->digest;
  ASSERT_TRUE(node->run(node->agent().images().collect_garbage(
      [digest] { return std::set<std::string>{digest}; }, 0)));
  EXPECT_TRUE(os::exists(image->rootfs));
  ASSERT_TRUE(
      node->run(node->agent().images().collect_garbage([] { return std::set<std::string>{}; }, 0)));
  EXPECT_FALSE(os::exists(image->rootfs));
}

TEST_F(ImageStoreTest, AnImageThatIsNotHereAndMayNotBePulledIsSaidSo) {
  const auto image =
      node->run(node->agent().images().get({.name = "acme/none:1", .policy = PullPolicy::kNever}));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().reason, "ErrImageNeverPull");
}

}  // namespace
}  // namespace agenttier::node
