#include "identity/bootstrap.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "identity/key_file.h"
#include "kube/testing_store.h"
#include "kube/typed.h"

namespace agenttier::identity {
namespace {

using base::ErrorCode;

struct Bench : kube::StoreFixture {
  async::BlockingPool blocking{1};
  ApiKeys keys{*client, loop.timers(), loop.random(), loop.executor(), {}};
  std::string path = directory.path() + "/admin.key";

  base::Result<AdminKey> ensure() {
    return loop.run(ensure_admin_key(keys, blocking, loop.random(), path));
  }
  std::string content() const {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string key() const {
    const std::string text = content();
    return text.substr(0, text.find('\n'));
  }
  void write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path, std::ios::trunc) << text;
    ::chmod(path.c_str(), mode);
  }
  std::size_t secrets() { return loop.run(kube::list_all<api::Secret>(*client))->items.size(); }
};

TEST(AdminKey, IsMadeOnceAndIsAnAdmins) {
  Bench bench;
  const auto made = bench.ensure();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->origin, AdminKeyOrigin::kMade);
  const auto claims = bench.loop.run(bench.keys.verify(bench.key()));
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims->is_admin);
  EXPECT_EQ(claims->sub, "admin");

  const std::string before = bench.content();
  const auto again = bench.ensure();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin, AdminKeyOrigin::kFound);
  EXPECT_EQ(again->id, made->id);
  EXPECT_EQ(bench.content(), before);
  EXPECT_EQ(bench.secrets(), 1U);
}

TEST(AdminKey, OnlyItsOwnerReadsTheFile) {
  Bench bench;
  ASSERT_TRUE(bench.ensure());
  struct stat info {};
  ASSERT_EQ(::stat(bench.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST(AdminKey, AMissingSecretIsMadeAgainFromTheFile) {
  Bench bench;
  const auto made = bench.ensure();
  ASSERT_TRUE(made);
  ASSERT_TRUE(bench.loop.run(kube::remove<api::Secret>(*bench.client, {"agenttier", made->id})));
  const auto again = bench.ensure();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, made->id);
  EXPECT_TRUE(bench.loop.run(bench.keys.verify(bench.key()))->is_admin);
}

TEST(AdminKey, ALostFileGivesANewKey) {
  Bench bench;
  ASSERT_TRUE(bench.ensure());
  const std::string first = bench.key();
  std::filesystem::remove(bench.path);
  const auto again = bench.ensure();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin, AdminKeyOrigin::kMade);
  EXPECT_NE(bench.key(), first);
  EXPECT_TRUE(bench.loop.run(bench.keys.verify(bench.key()))->is_admin);
}

TEST(AdminKey, AFailureBetweenFileAndSecretIsHealedByTheNextStart) {
  Bench bench;
  bench.faulty->fail_request(1, kube::FaultyClient::When::kBefore);
  EXPECT_FALSE(bench.ensure());
  const std::string first = bench.key();
  EXPECT_TRUE(looks_like_api_key(first));
  ASSERT_TRUE(bench.ensure());
  EXPECT_EQ(bench.key(), first);
  bench.faulty->fail_request(1, kube::FaultyClient::When::kAfter);
  EXPECT_FALSE(bench.ensure());
  EXPECT_TRUE(bench.ensure());
}

TEST(AdminKey, AFileThatIsNoKeyIsReportedAndKept) {
  Bench bench;
  for (const char* text : {"", "hello\n", "atk_short\n"}) {
    bench.write(text);
    const auto result = bench.ensure();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kConflict);
    EXPECT_EQ(result.error().message, "admin key: " + bench.path +
                                          ": does not hold an API key; remove it to get a new one");
    EXPECT_EQ(bench.content(), text);
  }
  EXPECT_EQ(bench.secrets(), 0U);
}

TEST(AdminKey, TheErrorNeverShowsTheFilesContent) {
  Bench bench;
  bench.write("atk_secret-but-short\n");
  EXPECT_EQ(bench.ensure().error().message.find("secret-but-short"), std::string::npos);
}

TEST(AdminKey, AFileThatOthersReadIsRefused) {
  Bench bench;
  ASSERT_TRUE(bench.ensure());
  ::chmod(bench.path.c_str(), 0644);
  const auto result = bench.ensure();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kDenied);
  EXPECT_NE(result.error().message.find("chmod 600"), std::string::npos);
}

TEST(AdminKey, NoLinkAndNoFifoIsFollowed) {
  Bench bench;
  std::filesystem::create_symlink("/etc/hostname", bench.path);
  EXPECT_EQ(bench.ensure().error().code, ErrorCode::kConflict);
  std::filesystem::remove(bench.path);
  ASSERT_EQ(::mkfifo(bench.path.c_str(), 0600), 0);
  EXPECT_EQ(bench.ensure().error().code, ErrorCode::kConflict);
}

TEST(AdminKey, AKeyOfAUserIsNotPromoted) {
  Bench bench;
  Claims ada;
  ada.sub = "ada";
  const auto minted = bench.loop.run(bench.keys.mint(ada, {.name = "x"}));
  ASSERT_TRUE(minted);
  bench.write(minted->key + "\n");
  EXPECT_EQ(bench.ensure().error().code, ErrorCode::kConflict);
  EXPECT_FALSE(bench.loop.run(bench.keys.verify(minted->key))->is_admin);
}

TEST(AdminKey, AMissingDirectoryIsNamed) {
  Bench bench;
  bench.path = bench.directory.path() + "/none/admin.key";
  const auto result = bench.ensure();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("/none/admin.key"), std::string::npos);
}

TEST(KeyFile, NeverReplacesAndLeavesNoTemporaryFile) {
  kube::TemporaryDirectory directory;
  const std::string path = directory.path() + "/key";
  ASSERT_TRUE(write_key_file(path, path + ".t", "one"));
  const auto second = write_key_file(path, path + ".t", "two");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kExists);
  EXPECT_EQ(**read_key_file(path), "one");
  const std::filesystem::directory_iterator files(directory.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(KeyFile, AFileOfAnySizeIsReadInBounds) {
  kube::TemporaryDirectory directory;
  const std::string path = directory.path() + "/key";
  ASSERT_TRUE(write_key_file(path, path + ".t", std::string(1 << 20, 'x')));
  EXPECT_EQ(read_key_file(path).error().code, ErrorCode::kConflict);
  EXPECT_FALSE(read_key_file(path + ".none")->has_value());
}

}  // namespace
}  // namespace agenttier::identity
