#include "os/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "async/blocking_pool.h"
#include "async/task_group.h"
#include "os/file.h"
#include "os/testing.h"

namespace agenttier::os {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

struct Loop {
  boost::asio::io_context context;
  async::BlockingPool blocking{2};
  std::unique_ptr<CommandRunner> runner = make_command_runner(blocking);
  async::TaskGroup tasks{context.get_executor(), {.name = "test", .tasks_max = 4}};

  static async::Task<void> store(CommandRunner* runner, Command command,
                                 std::optional<base::Result<CommandResult>>* result) {
    result->emplace(co_await runner->run(std::move(command)));
  }
  void start(Command command) { (void)tasks.spawn(store(runner.get(), std::move(command), &last)); }
  base::Result<CommandResult> run(Command command) {
    start(std::move(command));
    context.restart();
    context.run();
    return *last;
  }
  std::optional<base::Result<CommandResult>> last;
};

TEST(Command, GivesExitCodeAndBothStreams) {
  Loop loop;
  const auto result = loop.run({.argv = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->last_error_line(), "err");
}

TEST(Command, PassesStandardInputAndClosesIt) {
  Loop loop;
  const auto result = loop.run({.argv = {"cat"}, .stdin_text = "hello"});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "hello");
}

TEST(Command, KeepsOutputWithinItsLimitWithoutBlockingTheChild) {
  Loop loop;
  const auto result =
      loop.run({.argv = {"head", "-c", "3000000", "/dev/zero"}, .output_bytes_max = 1000});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->out.size(), 1000U);
}

TEST(Command, ThatTakesTooLongIsKilledWithItsChildren) {
  Loop loop;
  const auto result = loop.run({.argv = {"sh", "-c", "sleep 1000 & wait"}, .time_max = 50ms});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kDeadline);
  EXPECT_EQ(result.error().message, "sh: did not end within 50 ms and was killed");
}

TEST(Command, EndsWithTheChildThoughAGrandchildHoldsItsOutput) {
  Loop loop;
  const auto result = loop.run({.argv = {"sh", "-c", "sleep 30 & echo $!"}, .time_max = 10s});
  ASSERT_TRUE(result);
  ASSERT_FALSE(result->out.empty());
  ::kill(std::stoi(result->out), SIGKILL);
}

TEST(Command, EndsWhenItsTaskIsCancelled) {
  Loop loop;
  loop.start({.argv = {"sleep", "1000"}, .time_max = 1h});
  boost::asio::steady_timer soon(loop.context, 20ms);
  soon.async_wait([&loop](const auto&) { loop.tasks.cancel_all(); });
  loop.context.run();
  ASSERT_TRUE(loop.last && !*loop.last);
  EXPECT_EQ(loop.last->error().code, ErrorCode::kCancelled);
}

async::Task<void> run_twice(os::CommandRunner& runner, std::vector<ErrorCode>& codes,
                            bool& was_cancelled) {
  for (int round = 0; round < 2; ++round) {
    Command command{.argv = {"sleep", "1000"}, .time_max = 1h};
    const auto result = co_await runner.run(std::move(command));
    if (!result) codes.push_back(result.error().code);
  }
  was_cancelled = co_await async::is_cancelled();
}

TEST(Command, ItsTaskKnowsOfTheCancellationAfterwards) {
  Loop loop;
  std::vector<ErrorCode> codes;
  bool was_cancelled = false;
  ASSERT_TRUE(loop.tasks.spawn(run_twice(*loop.runner, codes, was_cancelled)));
  boost::asio::steady_timer soon(loop.context, 20ms);
  soon.async_wait([&loop](const auto&) { loop.tasks.cancel_all(); });
  loop.context.run();
  EXPECT_EQ(codes, std::vector<ErrorCode>(2, ErrorCode::kCancelled));
  EXPECT_TRUE(was_cancelled);
}

TEST(Command, SaysThatTheProgramIsMissing) {
  Loop loop;
  const auto result = loop.run({.argv = {"no-such-program"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(result.error().message, "no-such-program: the program is not installed");
}

TEST(Command, InheritsNoDescriptorOfTheServer) {
  Loop loop;
  const Fd leak(::open("/dev/null", O_RDONLY));  // without close-on-exec on purpose
  const auto result = loop.run({.argv = {"ls", "/proc/self/fd"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "0\n1\n2\n3\n");  // 3 is the listing itself
}

TEST(Command, DoesNotSeeAHiddenMount) {
  if (const std::string why = why_no_mounts(); !why.empty()) GTEST_SKIP() << why;
  Loop loop;
  const TestFolder folder;
  const std::string point = folder / "mounted";
  ASSERT_TRUE(make_directories(point, 0700));
  ASSERT_EQ(::mount("tmpfs", point.c_str(), "tmpfs", 0, ""), 0) << std::strerror(errno);
  EXPECT_TRUE(write_file_unsynced(point + "/file", "x", 0600));
  const auto seen = loop.run({.argv = {"ls", point}});
  const auto hidden = loop.run({.argv = {"ls", point}, .hidden_mount = point});
  const auto after = loop.run({.argv = {"ls", point}});
  ::umount2(point.c_str(), MNT_DETACH);
  ASSERT_TRUE(seen && hidden && after);
  EXPECT_EQ(seen->out, "file\n");
  EXPECT_EQ(hidden->out, "");
  EXPECT_EQ(after->out, "file\n");
}

pid_t spawn_plain(const std::vector<std::string>& words) {
  std::vector<std::string> argv = words;
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  EXPECT_EQ(::posix_spawnp(&pid, pointers[0], nullptr, nullptr, pointers.data(), environ), 0);
  return pid;
}

TEST(Command, PassesTheDescriptorsItNamesFromThreeOn) {
  Loop loop;
  const Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      second(::open("/", O_PATH | O_CLOEXEC));
  const auto result = loop.run(
      {.argv = {"/bin/sh", "-c", "readlink /proc/self/fd/3 /proc/self/fd/4; ls /proc/self/fd"},
       .passed_fds = {second.get(), first.get()}});
  ASSERT_TRUE(result);
  // The last one is the folder that ls reads.
  EXPECT_EQ(result->out, "/\n/dev/null\n0\n1\n2\n3\n4\n5\n");
}

TEST(Pidfd, TellsTheExitCodeOfAChild) {
  const pid_t pid = spawn_plain({"sh", "-c", "exit 7"});
  const auto pidfd = open_pidfd(pid);
  ASSERT_TRUE(pidfd);
  pollfd ended{.fd = pidfd->get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&ended, 1, 10000), 1);
  EXPECT_EQ(take_exit_status(pidfd->get()), (ExitStatus{7, 0}));
}

TEST(Pidfd, TellsTheSignalThatEndedAChild) {
  const pid_t pid = spawn_plain({"sleep", "1000"});
  const auto pidfd = open_pidfd(pid);
  ASSERT_TRUE(pidfd);
  EXPECT_FALSE(take_exit_status(pidfd->get()));
  ASSERT_TRUE(send_signal(pidfd->get(), SIGKILL));
  pollfd ended{.fd = pidfd->get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&ended, 1, 10000), 1);
  EXPECT_EQ(take_exit_status(pidfd->get()), (ExitStatus{137, SIGKILL}));
}

TEST(OrphanReaper, ReapsOnlyWhatNobodyWaitedForBetweenTwoSweeps) {
  const pid_t pid = spawn_plain({"true"});
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  OrphanReaper reaper;
  EXPECT_EQ(reaper.sweep(), 0U);
  EXPECT_EQ(reaper.sweep(), 1U);
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
}

TEST(Process, IsNamedByPidAndStart) {
  const auto start = process_start_ticks(::getpid());
  ASSERT_TRUE(start);
  EXPECT_GT(*start, 0U);
}

}  // namespace
}  // namespace agenttier::os
