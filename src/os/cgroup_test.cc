#include "os/cgroup.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "os/file.h"

namespace agenttier::os {
namespace {

constexpr std::int64_t kTasksMax = 3;

// A group of this test, with an inner one; removed at the end.
class InnerGroup : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    auto found = Cgroups::detect();
    if (!found || !found->has("pids")) GTEST_SKIP() << "needs control groups with pids";
    cgroups_ = *std::move(found);
    auto made = cgroups_->make_inner(path_);
    ASSERT_TRUE(made) << made.error().message;
    entrances_ = *std::move(made);
    const auto limited = cgroups_->limit_inner(path_, kTasksMax);
    ASSERT_TRUE(limited) << limited.error().message;
  }
  void TearDown() override {
    if (!cgroups_) return;
    EXPECT_TRUE(cgroups_->kill_all(path_, std::chrono::seconds(5)));
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    EXPECT_TRUE(cgroups_->remove(path_));
  }

  // A child in the inner group forks until it may not, then exits with how often it could; those
  // that it made stay.
  int count_forks() const {
    const pid_t child = ::fork();
    if (child == 0) {
      for (const Fd& entrance : entrances_) (void)!::write(entrance.get(), "0", 1);
      int count = 0;
      while (count < 20 && ::fork() > 0) ++count;
      if (::getppid() != parent_) ::pause();
      _exit(count);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  }

  const pid_t parent_ = ::getpid();
  const std::string path_ = "/agenttier-cgroup-test-" + std::to_string(::getpid());
  std::optional<Cgroups> cgroups_;
  std::vector<Fd> entrances_;
};

TEST_F(InnerGroup, HoldsNoMoreTasksThanItsLimit) {
  EXPECT_EQ(count_forks(), kTasksMax - 1);
}

TEST_F(InnerGroup, CanBeEnteredWhenItIsFull) {
  EXPECT_EQ(count_forks(), kTasksMax - 1);
  ASSERT_TRUE(cgroups_->limit_inner(path_, 1));
  // Two are left of the first, which is one too many: another one enters, and cannot fork.
  EXPECT_EQ(count_forks(), 0);
}

TEST_F(InnerGroup, IsRemovedWithTheGroupAroundIt) {
  EXPECT_TRUE(cgroups_->remove(path_));
  EXPECT_TRUE(cgroups_->children(path_).empty());
}

}  // namespace
}  // namespace agenttier::os
