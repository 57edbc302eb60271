#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

#include <chrono>
#include <csignal>

#include "runtime/process_tree.h"
#include "runtime/testing.h"

namespace agenttier::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Exec : public RuntimeTest {};
class Background : public RuntimeTest {};

double seconds_of(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

TEST_F(Exec, GivesOutputErrorsAndTheExitCode) {
  const Output output = exec(R"({"command":"echo out; echo err >&2; exit 7"})");
  EXPECT_EQ(output.out, "out\n");
  EXPECT_EQ(output.err, "err\n");
  ASSERT_TRUE(output.status);
  EXPECT_EQ(output.status->exit_code, 7);
  EXPECT_EQ(output.status->reason, "exited");
  EXPECT_EQ(output.status->output_bytes, 8);
  EXPECT_FALSE(output.status->truncated);
  EXPECT_TRUE(table_.list().empty());
  EXPECT_EQ(table_.running(), 0U);
}

TEST_F(Exec, ArgumentsReachTheProgramUnchanged) {
  const Output output = exec(R"json({"argv":["printf","[%s]","a b","$(id)","'\"\n","é世"]})json");
  EXPECT_EQ(output.out, "[a b][$(id)]['\"\n][é世]");
}

TEST_F(Exec, EnvironmentAndDirectoryNeverPassThroughAShell) {
  std::filesystem::create_directory(workspace_ / "a b;c");
  const Output output =
      exec(R"json({"command":"printf %s \"$K\"; pwd","env":{"K":"a\nb'\"$(id)"},"cwd":")json" +
           workspace() + R"(/a b;c"})");
  EXPECT_EQ(output.out, "a\nb'\"$(id)" + workspace() + "/a b;c\n");
}

TEST_F(Exec, StartsInTheWorkspace) {
  EXPECT_EQ(exec(R"({"command":"pwd"})").out, workspace() + "\n");
}

TEST_F(Exec, AProgramThatDoesNotExistIsNamed) {
  const Reply reply = call("POST", "/v1/exec", R"({"argv":["/bin/x"]})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("start: /bin/x: No such file or directory"));
  EXPECT_THAT(call("POST", "/v1/exec", R"({"argv":["no-such-tool"]})").body,
              HasSubstr("start: no-such-tool: No such file or directory"));
  EXPECT_THAT(call("POST", "/v1/exec", R"({"argv":["true"],"cwd":"/no/where"})").body,
              HasSubstr("start: change directory to /no/where: No such file or directory"));
  EXPECT_EQ(table_.running(), 0U);
}

TEST_F(Exec, APathWithoutTheRightToExecuteIsDenied) {
  exec(R"({"command":"echo x > plain"})");
  EXPECT_THAT(call("POST", "/v1/exec", R"({"argv":["./plain"]})").body,
              HasSubstr("start: ./plain: Permission denied"));
}

TEST_F(Exec, AScriptWithoutAnInterpreterLineRunsInTheShell) {
  exec(R"({"command":"echo 'echo got $1' > script; chmod +x script"})");
  EXPECT_EQ(exec(R"({"argv":["./script","it"]})").out, "got it\n");
}

TEST_F(Exec, WithoutInputItReadsTheEndOfFileAtOnce) {
  EXPECT_EQ(exec(R"({"command":"cat"})").status->exit_code, 0);
  EXPECT_EQ(exec(R"json({"command":"read x; echo \"[$x]\""})json").out, "[]\n");
}

TEST_F(Exec, GivenInputIsReadExactlyOnce) {
  EXPECT_EQ(exec(R"({"command":"cat","stdin":"abc"})").out, "abc");
  const std::string big(3'000'000, 'x');
  EXPECT_EQ(exec(R"({"command":"wc -c","stdin":")" + big + R"("})").out, "3000000\n");
  // A program need not read it.
  EXPECT_EQ(exec(R"({"command":"true","stdin":")" + big + R"("})").status->exit_code, 0);
}

TEST_F(Exec, AnInteractiveShellWithoutATerminalDoesNotHang) {
  const Output output = exec(R"({"argv":["bash","--norc","-ic","echo hi"],"timeoutMs":5000})");
  EXPECT_EQ(output.out, "hi\n");
  EXPECT_EQ(output.status->exit_code, 0);
}

TEST_F(Exec, ATerminalIsATerminal) {
  const Output output =
      exec(R"({"command":"test -t 0 && test -t 2 && stty size && echo $TERM && tty > /dev/null",
               "tty":true,"cols":100,"rows":30,"timeoutMs":5000})");
  EXPECT_EQ(output.out, "30 100\r\nxterm-256color\r\n");
  EXPECT_EQ(output.status->exit_code, 0);
}

TEST_F(Exec, AtATerminalWithoutInputReadsTheEndOfFile) {
  EXPECT_EQ(exec(R"({"command":"cat","tty":true,"timeoutMs":5000})").status->reason, "exited");
  EXPECT_THAT(exec(R"({"command":"cat","tty":true,"stdin":"typed\n","timeoutMs":5000})").out,
              HasSubstr("typed\r\ntyped\r\n"));
}

TEST_F(Background, AnObjectShowsOnlyTheBeginningOfManyArguments) {
  const api::Process process = start(R"({"command":": )" + std::string(100'000, 'x') + R"("})");
  ASSERT_EQ(process.argv.size(), 3U);
  EXPECT_LT(process.argv[2].size(), 5000U);
  EXPECT_EQ(output(process.id).status->exit_code, 0);
}

TEST_F(Exec, MuchOutputArrivesWhole) {
  const Output output = exec(R"({"command":"head -c 5000000 /dev/zero | tr '\\0' x"})");
  EXPECT_EQ(output.out, std::string(5'000'000, 'x'));
  EXPECT_FALSE(output.status->truncated);
  EXPECT_EQ(output.status->output_bytes, 5'000'000);
}

TEST_F(Exec, BothStreamsAtOnceKeepTheirCounts) {
  const Output output = exec(R"({"command":"seq 1 100000 & seq 1 100000 >&2; wait"})");
  EXPECT_EQ(output.out, output.err);
  EXPECT_EQ(output.out.size(), 588'895U);
}

TEST_F(Exec, EndsWhenTheProgramEndsWhateverItsChildrenHoldOpen) {
  Output output;
  EXPECT_LT(seconds_of([&] { output = exec(R"({"command":"sleep 600 & echo done $!"})"); }), 2.0);
  EXPECT_THAT(output.out, testing::StartsWith("done "));
  const pid_t child = std::stoi(output.out.substr(5));
  EXPECT_TRUE(exists(child)) << "a background child of a command that ended lives on";
  ::kill(child, SIGKILL);
}

TEST_F(Exec, ABackgroundChildThatWritesLaterIsNotBroken) {
  const std::string mark = workspace() + "/written";
  exec(R"({"command":"(sleep 0.3; echo late; echo late; touch )" + mark + R"() & echo started"})");
  await_until([&] { return std::filesystem::exists(mark); });
}

TEST_F(Exec, OutputThatAChildWritesJustAfterTheExitIsKept) {
  EXPECT_EQ(exec(R"({"command":"(sleep 0.01; echo late) & echo first"})").out, "first\nlate\n");
}

TEST_F(Exec, TheTimeLimitEndsTheProgramAndItsKin) {
  Output output;
  EXPECT_LT(seconds_of([&] {
              output =
                  exec(R"({"command":"setsid sleep 601 & sleep 602; echo no","timeoutMs":200})");
            }),
            1.5);
  EXPECT_EQ(output.status->reason, "timeout");
  EXPECT_EQ(output.status->signal, "TERM");
  EXPECT_EQ(output.status->exit_code, 143);
  EXPECT_EQ(exec(R"({"command":"pgrep -f 'sleep 60[12]$' | wc -l"})").out, "0\n");
}

TEST_F(Exec, TheTimeLimitEndsAProgramThatIgnoresTheFirstSignal) {
  Output output;
  EXPECT_LT(
      seconds_of([&] {
        output = exec(
            R"({"command":"trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do sleep 603; done' &) ; while :; do sleep 604; done","timeoutMs":200})");
      }),
      3.0);
  EXPECT_EQ(output.status->reason, "timeout");
  EXPECT_EQ(output.status->signal, "KILL");
  EXPECT_EQ(exec(R"({"command":"pgrep -f 'sleep 60[34]$' | wc -l"})").out, "0\n");
}

TEST_F(Exec, IsKilledWhenItsClientGoesAway) {
  http::Response response =
      await(service_.handle(request("POST", "/v1/exec", R"({"command":"sleep 605 & sleep 606"})")));
  EXPECT_EQ(table_.running(), 1U);
  response = {};
  await_until([&] { return table_.running() == 0; });
  EXPECT_EQ(exec(R"({"command":"pgrep -f 'sleep 60[56]$' | wc -l"})").out, "0\n");
}

TEST_F(Exec, AStuckReaderSlowsTheProgramDownAndBoundsTheMemory) {
  http::Response response = await(service_.handle(
      request("POST", "/v1/exec", R"({"command":"head -c 50000000 /dev/zero; touch done"})")));
  await_until([&] { return table_.list()[0]->output().log().end() > 190'000; });
  loop_.run_for(50ms);
  EXPECT_LE(table_.list()[0]->output().log().end(), 512U << 10);
  EXPECT_FALSE(std::filesystem::exists(workspace_ / "done"));
}

TEST_F(Exec, ASignalIsReportedByName) {
  const Output output = exec(R"({"command":"kill -SEGV $$"})");
  EXPECT_EQ(output.status->exit_code, 139);
  EXPECT_EQ(output.status->signal, "SEGV");
  EXPECT_EQ(output.status->reason, "signalled");
}

TEST_F(Exec, TheProgramGetsFreshSignalsAndNoForeignDescriptors) {
  ::signal(SIGPIPE, SIG_IGN);
  const int foreign = dup(2);
  const Output output =
      exec(R"({"command":"grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | wc -l"})");
  close(foreign);
  EXPECT_THAT(output.out, HasSubstr("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
  EXPECT_THAT(output.out, testing::EndsWith("\n4\n"));  // ls has one open on the folder
}

TEST_F(Exec, ProgramsAreKilledForMemoryBeforeTheRuntime) {
  EXPECT_EQ(exec(R"({"command":"sleep 0.05; cat /proc/self/oom_score_adj"})").out, "500\n");
}

// The whole point of a reaper: every one of many quick exits reaches its own caller.
TEST_F(Exec, TwoThousandQuickExitsAllGiveTheirOwnCode) {
  struct Counts {
    std::size_t done = 0;
    std::size_t wrong = 0;
  };
  const auto counts = std::make_shared<Counts>();
  struct Runner {
    static async::Task<void> run(RuntimeService& service, http::Request request, int code,
                                 std::shared_ptr<Counts> sums) {
      http::Response response = co_await service.handle(std::move(request));
      const auto reader = response.body.into_reader();
      std::string all;
      while (true) {
        auto piece = co_await reader->read();
        if (!piece || piece->empty()) break;
        all += *piece;
      }
      const Output output = collect(parse_frames(all));
      if (!output.status || output.status->exit_code != code) ++sums->wrong;
      ++sums->done;
    }
  };
  for (int i = 0; i < 2000; ++i) {
    auto made = request("POST", "/v1/exec", R"({"command":"exit )" + std::to_string(i % 7) + "\"}");
    ASSERT_TRUE(background_.spawn(Runner::run(service_, std::move(made), i % 7, counts)));
  }
  await_until([&] { return counts->done == 2000; });
  EXPECT_EQ(counts->wrong, 0U);
  EXPECT_EQ(table_.running(), 0U);
}

TEST_F(Exec, OrphansAreReaped) {
  exec(R"({"command":"(sleep 0.05 &) ; (sleep 0.1 &) ; true"})");
  await_until([&] { return !reaper_.has_children(); });
}

// With the marks of the environment, kin is found that left its parents and its session.
TEST_F(Exec, AKilledCommandTakesItsDaemonsWithIt) {
  const Output output =
      exec(R"({"command":"(setsid sh -c 'sleep 607 & sleep 608' &) ; sleep 609","timeoutMs":200})");
  EXPECT_EQ(output.status->reason, "timeout");
  EXPECT_EQ(exec(R"({"command":"pgrep -f 'sleep 60[789]$' | wc -l"})").out, "0\n");
}

class Crowded : public RuntimeTest {
 protected:
  Crowded() : RuntimeTest(2) {}
};

TEST_F(Crowded, ABackgroundProcessBeyondTheLimitIsRefused) {
  start(R"({"command":"sleep 60"})");
  start(R"({"command":"sleep 60"})");
  const Reply reply = call("POST", "/v1/processes", R"({"command":"true"})");
  EXPECT_EQ(reply.status, 429);
  EXPECT_THAT(reply.body, HasSubstr("2 processes run in this sandbox"));
  EXPECT_TRUE(reply.headers.find("Retry-After"));
}

TEST_F(Crowded, AnExecBeyondTheLimitWaitsForItsTurn) {
  start(R"({"command":"sleep 60"})");
  start(R"({"command":"sleep 0.2"})");
  EXPECT_EQ(exec(R"({"command":"echo hi"})").out, "hi\n");
}

TEST_F(Background, OutputCanBeReadFromAnyOffsetAfterTheEnd) {
  const api::Process process = start(R"({"command":"printf 0123456789; printf err >&2"})");
  EXPECT_EQ(process.state, "running");
  const Output whole = output(process.id);
  EXPECT_EQ(whole.out, "0123456789");
  EXPECT_EQ(whole.err, "err");
  EXPECT_EQ(output(process.id, "since=4").out.size() + output(process.id, "since=4").err.size(),
            9U);
  const Output last = output(process.id, "since=13");
  EXPECT_EQ(last.out + last.err, "");
  EXPECT_EQ(last.status->exit_code, 0);
}

TEST_F(Background, KeepsTheNewestOutputAndNeverBlocks) {
  const api::Process process = start(
      R"({"command":"head -c 1000000 /dev/zero | tr '\\0' a; printf END","outputBytesMax":65536})");
  await_until([&] { return table_.find(process.id).value()->status().has_value(); });
  const Output rest = output(process.id, "since=0");
  EXPECT_EQ(rest.out.size(), 65'536U);
  EXPECT_THAT(rest.out, testing::EndsWith("aEND"));
  EXPECT_TRUE(rest.status->truncated);
  EXPECT_EQ(rest.status->output_bytes, 1'000'003);
}

TEST_F(Background, AFollowerThatKeepsUpLosesNothing) {
  const api::Process process = start(
      R"({"command":"sleep 0.1; head -c 3000000 /dev/zero | tr '\\0' a","outputBytesMax":65536})");
  const Output all = output(process.id);
  EXPECT_EQ(all.out.size(), 3'000'000U);
  EXPECT_FALSE(all.status->truncated);
}

TEST_F(Background, WithoutFollowGivesWhatIsThere) {
  const api::Process process = start(R"({"command":"echo now; sleep 60"})");
  await_until([&] { return table_.find(process.id).value()->output().log().end() > 0; });
  const Output now = output(process.id, "since=0");
  EXPECT_EQ(now.out, "now\n");
  EXPECT_FALSE(now.status);
}

TEST_F(Background, InputIsTypedUntilItsEnd) {
  const api::Process process = start(R"({"command":"cat","stdin":"a","stdinOpen":true})");
  const std::string stdin_path = "/v1/processes/" + process.id + "/stdin";
  EXPECT_EQ(call("POST", stdin_path, "b").status, 204);
  EXPECT_EQ(call("POST", stdin_path + "?eof=true", "c").status, 204);
  EXPECT_EQ(call("POST", stdin_path, "d").status, 409);
  EXPECT_EQ(output(process.id).out, "abc");
}

TEST_F(Background, InputToAProgramThatReadsNoneIsAConflict) {
  const api::Process process = start(R"({"command":"sleep 60"})");
  EXPECT_EQ(call("POST", "/v1/processes/" + process.id + "/stdin", "x").status, 409);
}

TEST_F(Background, ATerminalEchoesResizesAndEnds) {
  const api::Process process = start(R"({"argv":["sh"],"tty":true,"env":{"PS1":"$ ","ENV":""}})");
  const std::string path = "/v1/processes/" + process.id;
  EXPECT_TRUE(process.tty);
  EXPECT_EQ(call("POST", path + "/resize", R"({"cols":132,"rows":43})").status, 204);
  EXPECT_EQ(call("POST", path + "/stdin", "stty size; tty\n").status, 204);
  EXPECT_EQ(call("POST", path + "/stdin?eof=true", "").status, 204);
  const Output all = output(process.id);
  EXPECT_THAT(all.out, HasSubstr("43 132\r\n"));
  EXPECT_EQ(all.status->reason, "exited");
  EXPECT_EQ(call("POST", path + "/resize", R"({"cols":1,"rows":1})").status, 409);
}

TEST_F(Background, SignalsReachTheGroup) {
  const api::Process process = start(
      R"({"command":"trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.01; done"})");
  await_until([&] { return table_.find(process.id).value()->output().log().end() > 0; });
  const std::string path = "/v1/processes/" + process.id;
  EXPECT_EQ(call("POST", path + "/signal", R"({"signal":"USR1"})").status, 204);
  const Output all = output(process.id);
  EXPECT_EQ(all.status->exit_code, 3);
  EXPECT_EQ(call("POST", path + "/signal", R"({"signal":"USR1"})").status, 409);
  EXPECT_EQ(call("POST", path + "/signal", R"({"signal":"NOPE"})").status, 400);
}

TEST_F(Background, IsListedAndDescribedUntilItIsRemoved) {
  const api::Process process = start(R"({"argv":["sleep","60"]})");
  const Reply listed = call("GET", "/v1/processes");
  EXPECT_THAT(listed.body, HasSubstr(process.id));
  EXPECT_EQ(call("DELETE", "/v1/processes/" + process.id).status, 204);
  EXPECT_EQ(call("GET", "/v1/processes/" + process.id).status, 404);
  EXPECT_EQ(table_.running(), 0U);
}

TEST_F(Background, AFollowerSeesThatItsProcessWasRemoved) {
  const api::Process process = start(R"({"command":"echo a; sleep 60"})");
  http::Response response =
      await(service_.handle(request("GET", "/v1/processes/" + process.id + "/output?follow=true")));
  EXPECT_EQ(call("DELETE", "/v1/processes/" + process.id).status, 204);
  const auto reader = response.body.into_reader();
  std::string all;
  struct Reader {
    static async::Task<std::string> next(http::BodyReader& from) {
      auto piece = co_await from.read();
      co_return piece ? *std::move(piece) : "";
    }
  };
  for (std::string piece = await(Reader::next(*reader)); !piece.empty();
       piece = await(Reader::next(*reader))) {
    all += piece;
  }
  const Output output = collect(parse_frames(all));
  ASSERT_TRUE(output.status);
  EXPECT_EQ(output.status->reason, "canceled");
}

TEST_F(Background, OnlyTheNewestExitedAreKept) {
  std::string first;
  for (int i = 0; i < 258; ++i) {
    const std::string id = start(R"({"argv":["true"]})").id;
    if (i == 0) first = id;
    await_until([&] { return table_.running() == 0; });
  }
  EXPECT_EQ(call("GET", "/v1/processes/" + first).status, 404);
  EXPECT_EQ(table_.list().size(), 256U);
}

TEST_F(Background, ActivityCountsProcessesAndTheirTime) {
  start(R"({"command":"sleep 60"})");
  exec(R"({"command":"i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"})");
  const Reply reply = call("GET", "/v1/activity");
  auto wire = api::Activity::from_json(boost::json::parse(reply.body));
  ASSERT_TRUE(wire);
  EXPECT_EQ(wire->open_processes, 1);
  EXPECT_GE(wire->cpu_millis, 10);
}

TEST_F(Exec, EveryCallButHealthNeedsTheToken) {
  for (const auto& [method, target] :
       {std::pair{"POST", "/v1/exec"}, std::pair{"GET", "/v1/processes"},
        std::pair{"GET", "/v1/activity"}, std::pair{"GET", "/nothing"}}) {
    for (const std::string token :
         {"", "Bearer ", "Bearer wrong", "test-token", "Basic test-token"}) {
      http::Request bad = request(method, target, "{}");
      bad.headers.set("Authorization", token);
      EXPECT_EQ(await(service_.handle(std::move(bad))).status, 401) << method << target << token;
    }
  }
  http::Request health = request("GET", "/healthz");
  health.headers.remove("Authorization");
  EXPECT_EQ(await(service_.handle(std::move(health))).status, 200);
  EXPECT_EQ(call("GET", "/nothing").status, 404);
}

TEST(TokenHash, MustBeADigest) {
  EXPECT_FALSE(TokenHash::parse(""));
  EXPECT_FALSE(TokenHash::parse(std::string(63, 'a')));
  EXPECT_FALSE(TokenHash::parse(std::string(64, 'g')));
  EXPECT_FALSE(TokenHash::parse(std::string(65, 'a')));
  EXPECT_TRUE(TokenHash::parse(std::string(64, 'A')));
}

TEST(ProcessTree, AnyNameOfAProgramIsParsed) {
  const ProcessEntry entry =
      parse_stat("42 (a) b (c)) S 7 40 39 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 12345 1 2");
  EXPECT_EQ(entry.pid, 42);
  EXPECT_EQ(entry.parent, 7);
  EXPECT_EQ(entry.session, 39);
  EXPECT_EQ(entry.state, 'S');
  EXPECT_EQ(entry.cpu_ticks, 100U);
  EXPECT_EQ(entry.start_ticks, 12345U);
  EXPECT_EQ(parse_stat("42 (x").pid, 0);
  EXPECT_EQ(parse_stat("").pid, 0);
  EXPECT_EQ(parse_stat("42 (x) S 1 2").pid, 0);
}

TEST(OomWatch, TellsEachKillOnce) {
  const std::string file = testing::TempDir() + "/memory.events";
  const auto write = [&](int kills) {
    FILE* out = fopen(file.c_str(), "w");
    fprintf(out, "low 0\noom 3\noom_kill %d\n", kills);
    fclose(out);
  };
  write(5);
  OomWatch watch({"/no/such/file", file});
  EXPECT_FALSE(watch.take_kill());
  write(7);
  EXPECT_TRUE(watch.take_kill());
  EXPECT_TRUE(watch.take_kill());
  EXPECT_FALSE(watch.take_kill());
}

}  // namespace
}  // namespace agenttier::runtime
