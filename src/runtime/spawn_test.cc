#include "runtime/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "os/fd.h"

namespace agenttier::runtime {
namespace {

SpawnPlan plan_of_true() {
  SpawnPlan plan;
  plan.argv = {"/bin/true"};
  plan.cwd = "/";
  plan.stdin_fd = STDIN_FILENO;
  plan.stdout_fd = STDOUT_FILENO;
  plan.stderr_fd = STDERR_FILENO;
  return plan;
}

// What a program that was started with these entrances to groups wrote to a pipe in their place.
std::string written_to_groups(std::size_t entrances) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const os::Fd read_end(ends[0]);
  os::Fd write_end(ends[1]);
  SpawnPlan plan = plan_of_true();
  plan.groups.assign(entrances, write_end.get());
  const auto pid = spawn(plan);
  EXPECT_TRUE(pid);
  int status = 1;
  EXPECT_EQ(waitpid(*pid, &status, 0), *pid);
  EXPECT_EQ(status, 0);
  write_end.reset();
  char buffer[16];
  const ssize_t count = read(read_end.get(), buffer, sizeof buffer);
  return {buffer, static_cast<std::size_t>(count)};
}

TEST(Spawn, AProgramEntersEachOfItsGroupsBeforeItRuns) {
  EXPECT_EQ(written_to_groups(0), "");
  EXPECT_EQ(written_to_groups(2), "00");
}

TEST(Spawn, AGroupThatCannotBeEnteredDoesNotKeepAProgramFromRunning) {
  SpawnPlan plan = plan_of_true();
  const os::Fd read_only(open("/dev/null", O_RDONLY | O_CLOEXEC));
  plan.groups = {read_only.get()};
  const auto pid = spawn(plan);
  ASSERT_TRUE(pid);
  int status = 1;
  ASSERT_EQ(waitpid(*pid, &status, 0), *pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace agenttier::runtime
