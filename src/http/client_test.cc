// The client over loopback: kept connections, limits, cancellation, streams both ways.
#include "http/client.h"

#include <gtest/gtest.h>

#include "http/pipe.h"
#include "http/testing.h"

namespace agenttier::http {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1024 * 1024;
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async::Task<Response> say_hello(Request) {
  co_return text_response(200, "hello");
}

async::Task<Response> echo(Request request) {
  Response response;
  response.body = Body(request.body.into_reader());
  co_return response;
}

// A client on a loop, with a server that plays a script.
class Script {
 public:
  explicit Script(std::vector<std::string> answers, ClientOptions options = {})
      : server(loop, std::move(answers)),
        client(NetworkClient::make(loop.get_executor(), std::move(options))) {}
  ~Script() { run_until_done(loop, client->close()); }

  Answer call_it(const std::string& method = "GET", std::string body = {}) {
    Request request = make_request(server.authority(), "/", std::move(body));
    request.method = method;
    return run_until_done(loop, call(*client, std::move(request)));
  }

  boost::asio::io_context loop{1};
  ScriptedServer server;
  std::unique_ptr<NetworkClient> client;
};

TEST(Client, KeepsItsConnection) {
  Script script({kOk, kOk, kOk});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(script.call_it().body, "ok");
  EXPECT_EQ(script.server.connections(), 1);
}

TEST(Client, DoesNotKeepAConnectionThatTheServerWillClose) {
  Script script({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "", kOk});
  EXPECT_EQ(script.call_it().status, 200);
  EXPECT_EQ(script.call_it("POST").status, 0);
  EXPECT_EQ(script.server.connections(), 2);
}

TEST(Client, RepeatsAnIdempotentCallOnceWhenAKeptConnectionWasDead) {
  Script script({kOk, "", kOk});
  EXPECT_EQ(script.call_it().status, 200);
  EXPECT_EQ(script.call_it("DELETE").status, 200);
  EXPECT_EQ(script.server.connections(), 2);
}

TEST(Client, NeverRepeatsACallThatCouldHappenTwice) {
  Script script({kOk, "", kOk});
  EXPECT_EQ(script.call_it().status, 200);
  EXPECT_EQ(script.call_it("POST", "x").status, 0);
}

TEST(Client, GivesUpWhenANewConnectionFailsToo) {
  Script script({kOk, "", ""});
  EXPECT_EQ(script.call_it().status, 200);
  const auto answer = script.call_it();
  EXPECT_EQ(answer.status, 0);
  EXPECT_NE(answer.body.find("GET " + script.server.authority()), std::string::npos) << answer.body;
}

TEST(Client, SkipsInterimResponses) {
  Script script({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + kOk});
  EXPECT_EQ(script.call_it().body, "ok");
}

TEST(Client, ReadsABodyThatEndsWithTheConnection) {
  // The script closes the connection when it has no further answer to give.
  Script script({"HTTP/1.1 200 OK\r\n\r\nto the end"});
  EXPECT_EQ(script.call_it().body, "to the end");
}

TEST(Client, RefusesWhatIsNoHttp) {
  for (const std::string text :
       {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"}) {
    Script script({text});
    EXPECT_EQ(script.call_it().status, 0) << text;
  }
  Script large({"HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x')});
  EXPECT_EQ(large.call_it().status, 0);
}

TEST(Client, LimitsTheWaitForAResponse) {
  Script script({"HTTP/1.1 200 O", "never"}, {.response_time_max = 50ms});
  auto response = run_until_done(script.loop,
                                 script.client->send(make_request(script.server.authority(), "/")));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, base::ErrorCode::kDeadline);
}

TEST(Client, SaysWhereItCouldNotConnect) {
  boost::asio::io_context loop;
  std::string authority;
  {
    ScriptedServer gone(loop, {});
    authority = gone.authority();
  }
  const auto client = NetworkClient::make(loop.get_executor(), {});
  auto response = run_until_done(loop, client->send(make_request(authority, "/")));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(response.error().message.find(authority), std::string::npos);
  response = run_until_done(loop, client->send(make_request("no port here:x", "/")));
  EXPECT_EQ(response.error().code, base::ErrorCode::kInvalid);
}

TEST(Client, KeepsNoMoreIdleConnectionsThanAllowed) {
  TestServer server(say_hello);
  const auto client =
      NetworkClient::make(server.loop().get_executor(), {.idle_per_authority_max = 0});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(server.run(call(*client, make_request(server.authority(), "/"))).status, 200);
  }
  server.run(client->close());
}

TEST(Client, ForgetsKeptConnectionsAndThoseThatAgedOut) {
  Script script({kOk, kOk, kOk, kOk}, {.idle_time_max = 30ms});
  EXPECT_EQ(script.call_it().status, 200);
  script.client->forget(script.server.authority());
  EXPECT_EQ(script.call_it().status, 200);
  EXPECT_EQ(script.server.connections(), 2);
  const auto later = std::chrono::steady_clock::now() + 60ms;
  run_until(script.loop, [later] { return std::chrono::steady_clock::now() > later; });
  EXPECT_EQ(script.call_it().status, 200);
  EXPECT_EQ(script.server.connections(), 3);
}

TEST(Client, DropsAKeptConnectionOnWhichSomethingCameUnasked) {
  Script script({kOk + "HTTP/1.1 408 Request Timeout\r\n\r\n", kOk});
  EXPECT_EQ(script.call_it().body, "ok");
  EXPECT_EQ(script.call_it().body, "ok");
  EXPECT_EQ(script.server.connections(), 2);
}

struct Trace {
  bool started = false;
  bool cancelled = false;
};

async::Task<Response> wait_forever(std::shared_ptr<Trace> trace) {
  trace->started = true;
  async::Event never(co_await async::current_executor());
  trace->cancelled = co_await never.wait() == async::Wake::kCancelled;
  co_return text_response(200, "late");
}

async::Task<void> send_and_note(Client& client, Request request,
                                std::optional<base::Error>& error) {
  auto response = co_await client.send(std::move(request));
  if (!response) error = response.error();
}

TEST(Client, ClosesTheConnectionOfACancelledCall) {
  const auto trace = std::make_shared<Trace>();
  TestServer server([trace](Request) { return wait_forever(trace); });
  std::optional<base::Error> error;
  async::TaskGroup calls(server.loop().get_executor(), {.name = "calls", .tasks_max = 1});
  ASSERT_TRUE(
      calls.spawn(send_and_note(server.client(), make_request(server.authority(), "/"), error)));
  ASSERT_TRUE(run_until(server.loop(), [&] { return trace->started; }));
  server.run(calls.close());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, base::ErrorCode::kCancelled);
  EXPECT_TRUE(run_until(server.loop(), [&] { return trace->cancelled; }));
}

async::Task<Response> stream_endlessly(std::shared_ptr<bool> gone) {
  Response response;
  response.body =
      Body(std::make_unique<EndlessReader>(co_await async::current_executor(), std::move(gone)));
  co_return response;
}

async::Task<int> send_and_drop(Client& client, Request request) {
  auto response = co_await client.send(std::move(request));
  co_return response ? response->status : 0;
}

TEST(Client, ClosesTheConnectionOfAResponseThatIsDropped) {
  const auto gone = std::make_shared<bool>(false);
  TestServer server([gone](Request) { return stream_endlessly(gone); });
  EXPECT_EQ(server.run(send_and_drop(server.client(), make_request(server.authority(), "/"))), 200);
  EXPECT_TRUE(run_until(server.loop(), [&] { return *gone; }));
}

async::Task<Response> refuse_early(Request request) {
  if (request.method == "GET") co_return text_response(200, "fine");
  co_return text_response(413, "too much");
}

async::Task<Answer> upload(Client& client, Request request, std::unique_ptr<BodyReader> reader) {
  request.method = "PUT";
  request.body = Body(std::move(reader));
  co_return co_await call(client, std::move(request));
}

TEST(Client, GetsTheAnswerOfAServerThatRefusesAStreamedBody) {
  TestServer server(refuse_early);
  const auto given = std::make_shared<std::uint64_t>(0);
  const auto answer = server.run(upload(server.client(), make_request(server.authority(), "/"),
                                        std::make_unique<CountingReader>(1024 * kMiB, given)));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body, "too much");
  EXPECT_LT(*given, 64 * kMiB);
  EXPECT_EQ(server.run(call(server.client(), make_request(server.authority(), "/"))).status, 200);
}

class FailingReader final : public BodyReader {
 public:
  async::Task<base::Result<std::string>> read() override {
    if (given_++ < 3) co_return std::string(1000, 'x');
    co_return base::not_found("the file vanished");
  }

 private:
  int given_ = 0;
};

TEST(Client, ReportsAFaultOfTheBodysReader) {
  const auto trace = std::make_shared<Trace>();
  TestServer server([trace](Request) { return wait_forever(trace); });
  Request request = make_request(server.authority(), "/");
  request.method = "PUT";
  request.body = Body(std::make_unique<FailingReader>(), 5000);
  auto response = server.run(server.client().send(std::move(request)));
  ASSERT_FALSE(response);
  EXPECT_NE(response.error().message.find("the file vanished"), std::string::npos)
      << response.error().message;
}

// Says a word, waits for its echo, says the next: only possible when both directions flow at once.
async::Task<std::string> converse(Client& client, std::string authority) {
  Pipe pipe = make_pipe(co_await async::current_executor(), 1024);
  Request request = make_request(std::move(authority), "/");
  request.method = "POST";
  request.body = Body(std::move(pipe.reader));
  (void)pipe.writer.try_write("0");
  auto response = co_await client.send(std::move(request));
  if (!response) co_return response.error().message;
  const auto reader = response->body.into_reader();
  std::string heard;
  for (int i = 1; i <= 3; ++i) {
    const auto piece = co_await reader->read();
    if (!piece) co_return piece.error().message;
    heard += *piece;
    (void)pipe.writer.try_write(std::to_string(i));
  }
  pipe.writer.close();
  while (true) {
    const auto piece = co_await reader->read();
    if (!piece) co_return piece.error().message;
    if (piece->empty()) co_return heard;
    heard += *piece;
  }
}

TEST(Client, StreamsInBothDirectionsAtOnce) {
  TestServer server(echo);
  EXPECT_EQ(server.run(converse(server.client(), server.authority())), "0123");
}

TEST(Client, CannotBeMadeToSendASecondRequest) {
  TestServer server(say_hello);
  Request request = make_request(server.authority(), "/");
  request.headers.set("X", "a\r\n\r\nGET /secret HTTP/1.1");
  const auto response = server.run(server.client().send(std::move(request)));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, base::ErrorCode::kInvalid);
}

}  // namespace
}  // namespace agenttier::http
