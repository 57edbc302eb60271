#include "runtime/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "http/client.h"
#include "runtime/process_tree.h"
#include "runtime/testing.h"

namespace agenttier::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// SHA-256 of "test-token".
constexpr std::string_view kHash =
    "4c5dc9b7708905f77f5e5d16316b5dfb425e68cb326dcd55a860e90a7707031e";

// The whole runtime, on a loopback port, as a subreaper in place of pid 1.
class WholeRuntime : public testing::Test {
 protected:
  WholeRuntime() {
    ::signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::filesystem::create_directories(workspace_);
    client_ = http::NetworkClient::make(loop_.get_executor(), {});
  }
  ~WholeRuntime() override {
    if (!supervisor_) return;
    if (!code_) ::raise(SIGTERM);
    await_until([&] { return code_.has_value(); });
    bool closed = false;
    spawn(close(*supervisor_, *client_, closed));
    await_until([&] { return closed; });
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    std::filesystem::remove_all(workspace_);
  }

  void begin(std::vector<std::string> main_argv = {}, std::uint16_t port = 0) {
    Config config;
    config.token = TokenHash::parse(kHash).value();
    config.listen_addresses = {"127.0.0.1"};
    config.port = port;
    config.workspace = workspace_.string();
    config.main_argv = std::move(main_argv);
    config.environment = {{"PATH", "/usr/bin:/bin"}};
    supervisor_ = std::make_unique<Supervisor>(loop_.get_executor(), std::move(config),
                                               Supervisor::Options{});
    spawn(run(*supervisor_, code_));
    await_until([&] { return code_ || supervisor_->port(); });
  }

  http::Request request(std::string method, std::string target, http::Body body = {}) const {
    http::Request made;
    made.method = std::move(method);
    made.target = std::move(target);
    made.authority = "127.0.0.1:" + std::to_string(*supervisor_->port());
    made.headers.set("Authorization", "Bearer test-token");
    made.body = std::move(body);
    return made;
  }
  Reply call(std::string method, std::string target, http::Body body = {}) {
    std::optional<Reply> reply;
    spawn(ask(*client_, request(std::move(method), std::move(target), std::move(body)), reply));
    await_until([&] { return reply.has_value(); });
    return *std::move(reply);
  }
  Output exec(const std::string& spec_json) {
    const Reply reply = call("POST", "/v1/exec", spec_json);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? collect(parse_frames(reply.body)) : Output{};
  }

  void spawn(async::Task<void> task) {
    boost::asio::co_spawn(loop_, quiet(std::move(task)), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }
  void await_until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "did not happen in time";
      if (loop_.stopped()) loop_.restart();
      loop_.run_one_for(10ms);
    }
  }
  int await_code() {
    await_until([&] { return code_.has_value(); });
    return code_.value_or(-1);
  }

  boost::asio::io_context loop_;
  std::filesystem::path workspace_ = std::filesystem::path(testing::TempDir()) / "whole-runtime";
  std::unique_ptr<http::NetworkClient> client_;
  std::unique_ptr<Supervisor> supervisor_;
  std::optional<int> code_;

 private:
  static async::Task<void> quiet(async::Task<void> task) {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    co_await std::move(task);
  }
  static async::Task<void> run(Supervisor& supervisor, std::optional<int>& code) {
    code = co_await supervisor.run();
  }
  static async::Task<void> close(Supervisor& supervisor, http::NetworkClient& client, bool& done) {
    client.forget("127.0.0.1:" + std::to_string(supervisor.port().value_or(0)));
    co_await supervisor.close();
    done = true;
  }
  static async::Task<void> ask(http::Client& client, http::Request request,
                               std::optional<Reply>& out) {
    auto response = co_await client.send(std::move(request));
    Reply reply;
    if (response) {
      reply.status = response->status;
      reply.headers = response->headers;
      auto body = co_await response->body.read_all(256UL << 20);
      reply.body = body ? *std::move(body) : body.error().message;
    } else {
      reply.body = response.error().message;
    }
    out = std::move(reply);
  }
};

TEST_F(WholeRuntime, AnswersOverASocket) {
  begin();
  EXPECT_EQ(call("GET", "/healthz").status, 200);
  const Output output = exec(R"({"command":"echo out; echo err >&2; exit 3"})");
  EXPECT_EQ(output.out, "out\n");
  EXPECT_EQ(output.err, "err\n");
  EXPECT_EQ(output.status->exit_code, 3);
  EXPECT_EQ(exec(R"({"command":"head -c 5000000 /dev/zero | tr '\\0' x"})").out.size(), 5'000'000U);
}

TEST_F(WholeRuntime, FilesTravelBothWays) {
  begin();
  const std::string bytes(50'000'000, 'z');
  const std::string target = "/v1/files/content?path=" + (workspace_ / "big").string();
  EXPECT_EQ(call("PUT", target, bytes).status, 201);
  EXPECT_EQ(call("GET", target).body, bytes);
}

TEST_F(WholeRuntime, ACommandDiesWithItsConnection) {
  begin();
  struct Caller {
    static async::Task<void> send(http::Client& client, http::Request request,
                                  std::optional<http::Response>& out) {
      auto response = co_await client.send(std::move(request));
      if (response) out = *std::move(response);
    }
  };
  std::optional<http::Response> response;
  spawn(Caller::send(*client_, request("POST", "/v1/exec", R"({"command":"echo a; sleep 611"})"),
                     response));
  await_until([&] { return response.has_value(); });
  EXPECT_EQ(exec(R"({"command":"pgrep -fc '^sleep 611$'"})").out, "1\n");
  response.reset();
  await_until([&] { return find_own_descendants().empty(); });
}

TEST_F(WholeRuntime, ConnectionsFromInsideAreLimited) {
  begin();
  const std::uint16_t port = *supervisor_->port();
  namespace ip = boost::asio::ip;
  std::vector<ip::tcp::socket> held;
  for (int i = 0; i < 256; ++i) {
    held.emplace_back(loop_).connect({ip::make_address("127.0.0.1"), port});
  }
  EXPECT_EQ(call("GET", "/healthz").status, 0) << "the newest is refused";
  held.clear();
  await_until([&] { return call("GET", "/healthz").status == 200; });
}

TEST_F(WholeRuntime, EndsWithTheCodeOfItsMainProcess) {
  begin({"sh", "-c", "sleep 0.1; exit 7"});
  EXPECT_EQ(await_code(), 7);
}

TEST_F(WholeRuntime, ASignalThatEndedTheMainProcessIsInTheCode) {
  begin({"sh", "-c", "kill -KILL $$"});
  EXPECT_EQ(await_code(), 128 + SIGKILL);
}

TEST_F(WholeRuntime, TheMainProcessTakesEverythingWithIt) {
  begin({"sh", "-c", "setsid sleep 612 & exit 0"});
  EXPECT_EQ(await_code(), 0);
  EXPECT_TRUE(find_own_descendants().empty());
}

TEST_F(WholeRuntime, AMainProcessThatCannotStartIsAnError) {
  begin({"/no/such/program"});
  EXPECT_EQ(await_code(), 1);
}

TEST_F(WholeRuntime, APortInUseIsAnError) {
  struct Nothing final : http::Service {
    async::Task<http::Response> handle(http::Request) override { co_return http::Response{}; }
  } nothing;
  const auto other = http::Server::listen(loop_.get_executor(), nothing, {});
  ASSERT_TRUE(other);
  begin({}, (*other)->port());
  EXPECT_EQ(await_code(), 1);
}

TEST_F(WholeRuntime, OtherSignalsReachTheMainProcess) {
  begin({"sh", "-c", "trap 'exit 9' HUP; touch ready; while :; do sleep 0.01; done"});
  await_until([&] { return std::filesystem::exists(workspace_ / "ready"); });
  ::raise(SIGHUP);
  EXPECT_EQ(await_code(), 9);
}

TEST_F(WholeRuntime, StopsAtOnceWhenProcessesBehave) {
  begin();
  call("POST", "/v1/processes", R"({"command":"sleep 613 & setsid sleep 614 & wait"})");
  call("POST", "/v1/processes", R"({"argv":["bash","--norc","-i"],"tty":true})");
  const auto begin_time = std::chrono::steady_clock::now();
  ::raise(SIGTERM);
  EXPECT_EQ(await_code(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin_time, 1s);
  EXPECT_TRUE(find_own_descendants().empty());
}

TEST_F(WholeRuntime, KillsWhatIgnoresTheStop) {
  begin();
  call("POST", "/v1/processes",
       R"({"command":"trap '' TERM HUP; touch ready; while :; do sleep 0.01; done"})");
  await_until([&] { return std::filesystem::exists(workspace_ / "ready"); });
  const auto begin_time = std::chrono::steady_clock::now();
  ::raise(SIGTERM);
  EXPECT_EQ(await_code(), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - begin_time, 1900ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin_time, 4s);
  EXPECT_TRUE(find_own_descendants().empty());
}

TEST_F(WholeRuntime, AFollowerGetsTheStatusOfAProcessThatTheStopEnded) {
  begin();
  struct Caller {
    static async::Task<void> read(http::Client& client, http::Request request, std::string& out,
                                  bool& done) {
      auto response = co_await client.send(std::move(request));
      if (response) {
        auto body = co_await response->body.read_all(1UL << 20);
        if (body) out = *std::move(body);
      }
      done = true;
    }
  };
  std::string body;
  bool done = false;
  spawn(Caller::read(*client_,
                     request("POST", "/v1/exec", R"({"command":"touch ready; sleep 615"})"), body,
                     done));
  await_until([&] { return std::filesystem::exists(workspace_ / "ready"); });
  ::raise(SIGTERM);
  await_until([&] { return done; });
  const Output output = collect(parse_frames(body));
  ASSERT_TRUE(output.status);
  EXPECT_EQ(output.status->signal, "TERM");
}

}  // namespace
}  // namespace agenttier::runtime
