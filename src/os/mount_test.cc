#include "os/mount.h"

#include <gtest/gtest.h>

#include "os/cgroup.h"
#include "os/file.h"
#include "os/quota.h"
#include "os/testing.h"

namespace agenttier::os {
namespace {

TEST(Mounts, AreFoundDeepestFirstAndByWholeNames) {
  const std::string text =
      "22 1 8:1 / / rw - ext4 /dev/a rw\n"
      "23 22 0:5 / /state/merged rw - overlay overlay rw\n"
      "24 23 0:6 / /state/merged/with\\040space rw - tmpfs tmpfs rw\n"
      "25 22 0:7 / /state-other rw - tmpfs tmpfs rw\n";
  EXPECT_EQ(parse_mounts_below(text, "/state"),
            (std::vector<std::string>{"/state/merged/with space", "/state/merged"}));
}

TEST(Mounts, OverlayShowsTheLowerTreeAndKeepsItUnchanged) {
  if (const std::string reason = why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  TestFolder folder;
  for (const char* name : {"lower", "upper", "work", "merged"}) {
    ASSERT_TRUE(make_directories(folder / name));
  }
  ASSERT_TRUE(write_file_atomic(folder / "lower/file", "image", 0644));
  const auto mounted = mount_overlay({.lower = folder / "lower",
                                      .upper = folder / "upper",
                                      .work = folder / "work",
                                      .target = folder / "merged"});
  ASSERT_TRUE(mounted) << mounted.error().message;
  ASSERT_TRUE(write_file_atomic(folder / "merged/file", "changed", 0644));
  EXPECT_EQ(*read_file(folder / "lower/file", 100), "image");
  EXPECT_EQ(mounts_below(folder.path())->size(), 1U);
  ASSERT_TRUE(unmount_below(folder.path()));
  EXPECT_TRUE(mounts_below(folder.path())->empty());
  EXPECT_TRUE(unmount(folder / "merged")) << "unmounting twice is fine";
}

TEST(Mounts, MemoryHasItsSizeLimit) {
  if (const std::string reason = why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  TestFolder folder;
  ASSERT_TRUE(mount_tmpfs({.target = folder.path(), .bytes_max = 1 << 20, .mode = 0700}));
  EXPECT_EQ(file_system_usage(folder.path())->bytes_total, 1U << 20);
  const auto written = write_file_atomic(folder / "big", std::string(2 << 20, 'x'), 0600);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, base::ErrorCode::kExhausted);
  EXPECT_TRUE(list_directory(folder.path()).empty());
}

TEST(TreeQuota, SaysHowToGetItWhereTheFileSystemCannot) {
  if (const std::string reason = why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  TestFolder folder;
  ASSERT_TRUE(mount_tmpfs({.target = folder.path()}));
  const auto limited = set_tree_quota(folder.path(), 1 << 20);
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().code, base::ErrorCode::kUnimplemented);
  EXPECT_NE(limited.error().message.find("prjquota"), std::string::npos);
}

TEST(Cgroups, TellsTheThreeWaysApart) {
  const std::string v1 = "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  const std::string v2 = "31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(Cgroups::parse(v1)->mode(), CgroupMode::kV1);
  EXPECT_EQ(Cgroups::parse(v2)->mode(), CgroupMode::kV2);
  EXPECT_EQ(Cgroups::parse(v1 + v2)->mode(), CgroupMode::kHybrid);
  EXPECT_TRUE(Cgroups::parse(v1)->has("memory"));
  EXPECT_FALSE(Cgroups::parse("22 1 8:1 / / rw - ext4 /dev/a rw\n"));
}

TEST(Cgroups, AMissingGroupIsEmptyAndAlreadyRemoved) {
  const auto cgroups = Cgroups::detect();
  if (!cgroups) GTEST_SKIP() << "needs control groups: " << cgroups.error().message;
  EXPECT_TRUE(cgroups->processes("/agenttier-no-such-group").empty());
  EXPECT_TRUE(cgroups->remove("/agenttier-no-such-group"));
  EXPECT_EQ(cgroups->oom_kills("/agenttier-no-such-group"), 0U);
}

}  // namespace
}  // namespace agenttier::os
