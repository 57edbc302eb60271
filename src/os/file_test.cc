#include "os/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/mount.h"
#include "os/testing.h"

namespace agenttier::os {
namespace {

using base::ErrorCode;

TEST(File, AtomicWriteReplacesContentAndLeavesNoTemporary) {
  TestFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "state", "one", 0600));
  ASSERT_TRUE(write_file_atomic(folder / "state", "two", 0600));
  EXPECT_EQ(*read_file(folder / "state", 100), "two");
  EXPECT_EQ(list_directory(folder.path()), std::vector<std::string>{"state"});
}

TEST(File, ReadRefusesWhatIsTooLarge) {
  TestFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "big", std::string(100, 'x'), 0600));
  EXPECT_EQ(read_file(folder / "big", 99).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(read_file(folder / "big", 100));
}

TEST(RemoveTree, RemovesLinksAndNotWhatTheyPointTo) {
  TestFolder folder;
  ASSERT_TRUE(make_directories(folder / "kept"));
  ASSERT_TRUE(write_file_atomic(folder / "kept/file", "x", 0600));
  ASSERT_TRUE(make_directories(folder / "tree/below"));
  ASSERT_EQ(::symlink((folder / "kept").c_str(), (folder / "tree/below/link").c_str()), 0);
  ASSERT_TRUE(remove_tree(folder / "tree"));
  EXPECT_FALSE(exists(folder / "tree"));
  EXPECT_TRUE(exists(folder / "kept/file"));
}

TEST(RemoveTree, RemovesATreeDeeperThanPathsAndDescriptorsReach) {
  TestFolder folder;
  ASSERT_TRUE(make_directories(folder / "tree"));
  Fd at = std::move(*open_directory(folder / "tree"));
  for (int depth = 0; depth < 1100; ++depth) {
    ASSERT_EQ(::mkdirat(at.get(), "directory", 0700), 0);
    at = Fd(::openat(at.get(), "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  at.reset();
  const auto removed = remove_tree(folder / "tree");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(exists(folder / "tree"));
}

TEST(RemoveTree, NeverEntersAMount) {
  if (const std::string reason = why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  TestFolder folder;
  ASSERT_TRUE(make_directories(folder / "tree/mounted"));
  ASSERT_TRUE(mount_tmpfs({.target = folder / "tree/mounted"}));
  ASSERT_TRUE(write_file_atomic(folder / "tree/mounted/file", "x", 0600));
  EXPECT_EQ(remove_tree(folder / "tree").error().code, ErrorCode::kConflict);
  EXPECT_TRUE(exists(folder / "tree/mounted/file"));
}

TEST(CopyTree, KeepsContentModesLinksAndOwners) {
  TestFolder folder;
  ASSERT_TRUE(make_directories(folder / "from/below", 0750));
  ASSERT_TRUE(write_file_atomic(folder / "from/below/run", "#!", 0755));
  ASSERT_EQ(::symlink("below/run", (folder / "from/link").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder / "from/fifo").c_str(), 0600), 0);
  const auto copied = copy_tree(folder / "from", folder / "to");
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(*read_file(folder / "to/link", 10), "#!");
  struct stat file, directory;
  ASSERT_EQ(::lstat((folder / "to/below/run").c_str(), &file), 0);
  ASSERT_EQ(::lstat((folder / "to/below").c_str(), &directory), 0);
  EXPECT_EQ(file.st_mode & 07777U, 0755U);
  EXPECT_EQ(directory.st_mode & 07777U, 0750U);
  EXPECT_FALSE(exists(folder / "to/fifo"));
}

TEST(OpenInRoot, KeepsAbsoluteLinksInside) {
  TestFolder folder;
  ASSERT_TRUE(make_directories(folder / "root/etc"));
  ASSERT_TRUE(write_file_atomic(folder / "root/etc/passwd", "inside", 0600));
  ASSERT_EQ(::symlink("/etc/passwd", (folder / "root/link").c_str()), 0);
  ASSERT_EQ(::symlink("../../../../etc/hostname", (folder / "root/climb").c_str()), 0);
  const Fd root = std::move(*open_directory(folder / "root"));
  const auto file = open_in_root(root.get(), "link", O_RDONLY);
  ASSERT_TRUE(file);
  char text[16] = {};
  EXPECT_EQ(::read(file->get(), text, sizeof text), 6);
  EXPECT_STREQ(text, "inside");
  EXPECT_EQ(open_in_root(root.get(), "climb", O_RDONLY).error().code, ErrorCode::kNotFound);
}

TEST(TreeUsage, CountsBytesAndEntries) {
  TestFolder folder;
  ASSERT_TRUE(make_directories(folder / "a/b"));
  ASSERT_TRUE(write_file_atomic(folder / "a/b/file", std::string(100000, 'x'), 0600));
  const auto usage = tree_usage(folder.path());
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->inodes, 3U);
  EXPECT_GE(usage->bytes, 100000U);
}

}  // namespace
}  // namespace agenttier::os
