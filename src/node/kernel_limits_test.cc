#include "node/kernel_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/file.h"
#include "os/testing.h"

namespace agenttier::node {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class KernelLimits : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"fs/inotify", "fs/epoll", "kernel"}) {
      ASSERT_TRUE(os::make_directories(folder_ / folder, 0755));
    }
  }
  void set(const std::string& name, const std::string& value) const {
    ASSERT_TRUE(os::write_file_unsynced(folder_ / name, value, 0644));
  }
  std::string get(const std::string& name) const { return *os::read_file(folder_ / name, 64); }

  const os::TestFolder folder_;
};

TEST_F(KernelLimits, AreRaisedWhereTheyAreLow) {
  set("fs/inotify/max_user_instances", "128\n");
  set("kernel/pid_max", "32768\n");
  (void)raise_kernel_limits(folder_.path());
  EXPECT_EQ(get("fs/inotify/max_user_instances"), std::to_string(1U << 30U));
  EXPECT_EQ(get("kernel/pid_max"), std::to_string(1U << 22U));
}

TEST_F(KernelLimits, AreNeverLowered) {
  set("kernel/pid_max", "4194304\n");
  set("fs/epoll/max_user_watches", "9999999999\n");
  set("fs/pipe-user-pages-soft", "0\n");
  (void)raise_kernel_limits(folder_.path());
  EXPECT_EQ(get("kernel/pid_max"), "4194304\n");
  EXPECT_EQ(get("fs/epoll/max_user_watches"), "9999999999\n");
  EXPECT_EQ(get("fs/pipe-user-pages-soft"), "0\n");
}

TEST_F(KernelLimits, OfPipesIsTakenAway) {
  set("fs/pipe-user-pages-soft", "16384\n");
  (void)raise_kernel_limits(folder_.path());
  EXPECT_EQ(get("fs/pipe-user-pages-soft"), "0");
}

TEST_F(KernelLimits, ThatCannotBeRaisedAreNamedWithWhatToDo) {
  set("kernel/pid_max", "not a number");
  EXPECT_THAT(raise_kernel_limits(folder_.path()),
              Contains(AllOf(HasSubstr("process numbers"), HasSubstr("set kernel/pid_max to"))));
}

TEST_F(KernelLimits, ThatTheKernelLacksAreNoMatter) {
  EXPECT_THAT(raise_kernel_limits(folder_.path()), Not(Contains(HasSubstr("sysctl"))));
}

}  // namespace
}  // namespace agenttier::node
