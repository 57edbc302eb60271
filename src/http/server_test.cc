// The server over loopback: what it answers, refuses and survives.
#include <gtest/gtest.h>

#include "http/testing.h"

namespace agenttier::http {
namespace {

using namespace std::chrono_literals;

async::Task<Response> say_hello(Request request) {
  co_return text_response(200, request.method + " " + request.target);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

// What a handler that waits leaves behind.
struct Trace {
  bool started = false;
  bool cancelled = false;
  std::shared_ptr<async::Event> go;
  bool may_go = false;
};

// Waits until the test lets it go on, or it is cancelled.
async::Task<Response> wait_for_test(std::shared_ptr<Trace> trace, Request request) {
  trace->started = true;
  while (!trace->may_go) {
    const auto wake = co_await trace->go->wait();
    if (wake == async::Wake::kCancelled) {
      trace->cancelled = true;
      break;
    }
  }
  co_return text_response(200, "waited for " + request.target);
}

async::Task<Response> wait_on_slow(std::shared_ptr<Trace> trace, Request request) {
  if (request.target == "/slow") co_return co_await wait_for_test(trace, std::move(request));
  co_return text_response(200, "at once " + request.target);
}

class WaitingServer {
 public:
  explicit WaitingServer(ServerOptions options = {})
      : trace(std::make_shared<Trace>()),
        server([trace = trace](Request request) { return wait_on_slow(trace, std::move(request)); },
               std::move(options)) {
    trace->go = std::make_shared<async::Event>(server.loop().get_executor());
  }
  ~WaitingServer() {
    server.close();
    trace->go.reset();
  }
  void let_go() {
    trace->may_go = true;
    trace->go->notify_all();
  }
  std::shared_ptr<Trace> trace;
  TestServer server;
};

async::Task<void> store_raw(std::uint16_t port, std::string bytes, std::string& received) {
  received = co_await exchange_raw(port, std::move(bytes));
}

TEST(Server, AnswersARequest) {
  TestServer server(say_hello);
  const auto answer =
      server.run(call(server.client(), make_request(server.authority(), "/hello?x=1")));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /hello?x=1");
  EXPECT_EQ(answer.headers.find("Content-Length"), "14");
}

TEST(Server, SaysThatItsPortIsInUse) {
  TestServer server(say_hello);
  FunctionService service(say_hello);
  ServerOptions options;
  options.port = server.server().port();
  const auto second = Server::listen(server.loop().get_executor(), service, options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::ErrorCode::kExists);
  EXPECT_NE(second.error().message.find(server.authority()), std::string::npos);
}

async::Task<int> call_often(NetworkClient& client, std::string authority, int times) {
  int good = 0;
  for (int i = 0; i < times; ++i) {
    const auto answer = co_await call(client, make_request(authority, "/" + std::to_string(i)));
    good += answer.body == "GET /" + std::to_string(i) ? 1 : 0;
  }
  co_return good;
}

TEST(Server, KeepsOneConnectionForAThousandRequests) {
  TestServer server(say_hello, {.connections_max = 1});
  EXPECT_EQ(server.run(call_often(server.client(), server.authority(), 1000)), 1000);
}

async::Task<void> call_and_count(NetworkClient& client, std::string authority, int& good) {
  good += co_await call_often(client, authority, 5);
}

TEST(Server, ServesTwoHundredConnectionsAtOnce) {
  TestServer server(say_hello, {.connections_max = 200});
  int good = 0;
  async::TaskGroup calls(server.loop().get_executor(), {.name = "calls", .tasks_max = 200});
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(calls.spawn(call_and_count(server.client(), server.authority(), good)));
  }
  server.run(calls.wait_empty());
  EXPECT_EQ(good, 1000);
}

TEST(Server, RefusesConnectionsBeyondItsLimit) {
  WaitingServer slow({.connections_max = 1});
  std::string first;
  async::TaskGroup calls(slow.server.loop().get_executor(), {.name = "calls", .tasks_max = 1});
  const auto port = slow.server.server().port();
  ASSERT_TRUE(calls.spawn(
      store_raw(port, "GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", first)));
  ASSERT_TRUE(run_until(slow.server.loop(), [&] { return slow.trace->started; }));
  EXPECT_EQ(slow.server.run(exchange_raw(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")), "");
  slow.let_go();
  slow.server.run(calls.wait_empty());
  EXPECT_NE(first.find("waited for /slow"), std::string::npos);
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  WaitingServer slow;
  std::string received;
  async::TaskGroup calls(slow.server.loop().get_executor(), {.name = "calls", .tasks_max = 1});
  const std::string requests =
      "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
      "GET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  ASSERT_TRUE(calls.spawn(store_raw(slow.server.server().port(), requests, received)));
  ASSERT_TRUE(run_until(slow.server.loop(), [&] { return slow.trace->started; }));
  slow.let_go();
  slow.server.run(calls.wait_empty());
  EXPECT_FALSE(slow.trace->cancelled);
  const auto a = received.find("waited for /slow");
  const auto b = received.find("at once /b");
  const auto c = received.find("at once /c");
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
  EXPECT_NE(c, std::string::npos);
}

TEST(Server, RefusesAMalformedHeadAndCloses) {
  TestServer server(say_hello);
  const auto port = server.server().port();
  for (const std::string text :
       {"nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    const auto received = server.run(exchange_raw(port, text));
    EXPECT_TRUE(received.starts_with("HTTP/1.1 400 ")) << received;
    EXPECT_NE(received.find("Connection: close"), std::string::npos);
    EXPECT_EQ(count(received, "HTTP/1.1"), 1U);
  }
}

TEST(Server, RefusesALargeHead) {
  TestServer server(say_hello, {.head_bytes_max = 1000});
  const auto received =
      server.run(exchange_raw(server.server().port(), "GET /" + std::string(5000, 'x')));
  EXPECT_TRUE(received.starts_with("HTTP/1.1 431 ")) << received;
}

TEST(Server, RefusesASlowHead) {
  TestServer server(say_hello, {.head_time_max = 50ms});
  const auto received = server.run(exchange_raw(server.server().port(), "GET / HT"));
  EXPECT_TRUE(received.starts_with("HTTP/1.1 408 ")) << received;
}

TEST(Server, LimitsTheTimeOfALaterHeadToo) {
  TestServer server(say_hello, {.head_time_max = 50ms});
  const auto received = server.run(
      exchange_raw(server.server().port(), "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /second HT"));
  EXPECT_EQ(count(received, "HTTP/1.1 200 OK"), 1U);
  EXPECT_EQ(count(received, "HTTP/1.1 408 "), 1U);
}

TEST(Server, ClosesIdleConnectionsWithoutAWord) {
  TestServer server(say_hello, {.head_time_max = 50ms, .idle_time_max = 50ms});
  EXPECT_EQ(server.run(exchange_raw(server.server().port(), "")), "");
  const auto received =
      server.run(exchange_raw(server.server().port(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(count(received, "HTTP/1.1"), 1U);
}

async::Task<Response> answer_without_body(Request request) {
  Response response;
  response.status = std::stoi(request.target.substr(1));
  response.body = Body("hidden");
  co_return response;
}

TEST(Server, SendsNoBodyWhereNoneMayBe) {
  TestServer server(answer_without_body);
  const auto received = server.run(
      exchange_raw(server.server().port(),
                   "HEAD /200 HTTP/1.1\r\nHost: a\r\n\r\nGET /204 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /304 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(received,
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
            "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n");
}

async::Task<Response> stream_without_length(Request) {
  Response response;
  response.body = Body(Body("streamed").into_reader());
  co_return response;
}

TEST(Server, EndsAStreamByClosingForAnOldClient) {
  TestServer server(stream_without_length);
  const auto port = server.server().port();
  EXPECT_EQ(server.run(exchange_raw(port, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nstreamed");
  const std::string chunked =
      server.run(exchange_raw(port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(chunked.ends_with("\r\n\r\n8\r\nstreamed\r\n0\r\n\r\n")) << chunked;
}

TEST(Server, KeepsTheConnectionOfAnOldClientThatAsks) {
  TestServer server(say_hello);
  const auto received = server.run(
      exchange_raw(server.server().port(),
                   "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(count(received, "Connection: keep-alive"), 1U);
  EXPECT_TRUE(received.ends_with("GET /b"));
}

async::Task<Response> throw_up(Request) {
  throw std::runtime_error("secret detail");
  co_return Response();
}

TEST(Server, TurnsAnExceptionIntoAnAnswerWithoutItsText) {
  TestServer server(throw_up);
  const auto answer = server.run(call(server.client(), make_request(server.authority(), "/")));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body.find("secret"), std::string::npos);
}

TEST(Server, CancelsTheHandlerWhenTheClientGoesAway) {
  WaitingServer slow;
  const auto port = slow.server.server().port();
  slow.server.run(exchange_raw(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "at once"));
  {
    std::string received;
    async::TaskGroup calls(slow.server.loop().get_executor(), {.name = "calls", .tasks_max = 1});
    ASSERT_TRUE(calls.spawn(store_raw(port, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n", received)));
    ASSERT_TRUE(run_until(slow.server.loop(), [&] { return slow.trace->started; }));
    EXPECT_FALSE(slow.trace->cancelled);
    slow.server.run(calls.close());
  }
  EXPECT_TRUE(run_until(slow.server.loop(), [&] { return slow.trace->cancelled; }));
}

async::Task<Response> stream_endlessly(std::shared_ptr<bool> gone) {
  Response response;
  response.body =
      Body(std::make_unique<EndlessReader>(co_await async::current_executor(), std::move(gone)));
  co_return response;
}

TEST(Server, EndsAStreamWhenTheClientGoesAway) {
  const auto gone = std::make_shared<bool>(false);
  TestServer server([gone](Request) { return stream_endlessly(gone); });
  const auto head = server.run(
      exchange_raw(server.server().port(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n"));
  EXPECT_NE(head.find("chunked"), std::string::npos);
  EXPECT_TRUE(run_until(server.loop(), [&] { return *gone; }));
}

class FailingReader final : public BodyReader {
 public:
  async::Task<base::Result<std::string>> read() override {
    if (given_++ == 0) co_return std::string("part");
    co_return base::unavailable("the source broke");
  }

 private:
  int given_ = 0;
};

async::Task<Response> break_in_the_middle(Request request) {
  Response response;
  std::optional<std::uint64_t> length;
  if (request.target == "/length") length = 100;
  response.body = Body(std::make_unique<FailingReader>(), length);
  co_return response;
}

TEST(Server, NeverMakesACutBodyLookWhole) {
  TestServer server(break_in_the_middle);
  for (const char* target : {"/length", "/chunked"}) {
    const auto answer = server.run(call(server.client(), make_request(server.authority(), target)));
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.starts_with("error: receive the body")) << answer.body;
  }
}

TEST(Server, FinishesRunningRequestsOnAGracefulClose) {
  WaitingServer slow;
  std::string received, idle;
  async::TaskGroup calls(slow.server.loop().get_executor(), {.name = "calls", .tasks_max = 3});
  const auto port = slow.server.server().port();
  ASSERT_TRUE(calls.spawn(store_raw(port, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n", received)));
  ASSERT_TRUE(calls.spawn(store_raw(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", idle)));
  ASSERT_TRUE(run_until(slow.server.loop(), [&] { return slow.trace->started; }));
  ASSERT_TRUE(calls.spawn(slow.server.server().close(10s)));
  ASSERT_TRUE(run_until(slow.server.loop(), [&] { return calls.size() == 2; }));
  EXPECT_TRUE(idle.ends_with("at once /"));
  slow.let_go();
  slow.server.run(calls.wait_empty());
  EXPECT_NE(received.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(received.ends_with("waited for /slow"));
  EXPECT_FALSE(slow.trace->cancelled);
}

TEST(Server, CancelsWhatIsLeftAfterTheGracePeriod) {
  WaitingServer slow;
  std::string received;
  async::TaskGroup calls(slow.server.loop().get_executor(), {.name = "calls", .tasks_max = 1});
  ASSERT_TRUE(calls.spawn(
      store_raw(slow.server.server().port(), "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n", received)));
  ASSERT_TRUE(run_until(slow.server.loop(), [&] { return slow.trace->started; }));
  slow.server.close(10ms);
  EXPECT_TRUE(slow.trace->cancelled);
  slow.server.run(calls.wait_empty());
}

}  // namespace
}  // namespace agenttier::http
