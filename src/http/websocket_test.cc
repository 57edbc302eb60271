// WebSockets over loopback: both directions, limits, ends.
#include "http/websocket.h"

#include <gtest/gtest.h>

#include "http/testing.h"

namespace agenttier::http {
namespace {

using namespace std::chrono_literals;
using Kind = WebSocketMessage::Kind;

// What the server side saw of a socket's end.
struct End {
  bool ended = false;
  base::ErrorCode code = base::ErrorCode::kInternal;
  std::uint16_t close_code = 0;
};

async::Task<void> echo_messages(std::shared_ptr<End> end, std::unique_ptr<WebSocket> socket) {
  while (true) {
    auto message = co_await socket->read();
    if (!message) {
      end->code = message.error().code;
      end->close_code = socket->close_code();
      end->ended = true;
      co_return;
    }
    if (message->data == "bye") {
      co_await socket->close(4001, "you said bye");
      continue;
    }
    const auto written = co_await socket->write(*std::move(message));
    if (!written) co_return;
  }
}

Response upgrade(std::shared_ptr<End> end) {
  Response response;
  response.headers.set("Sec-WebSocket-Protocol", "demo.v1");
  response.upgrade = [end](std::unique_ptr<WebSocket> socket) {
    return echo_messages(end, std::move(socket));
  };
  return response;
}

async::Task<Response> answer(std::shared_ptr<End> end, Request request) {
  if (request.target == "/denied") co_return error_response(base::denied("not your sandbox"));
  if (request.target == "/plain") co_return text_response(200, "no socket here");
  co_return upgrade(std::move(end));
}

class SocketServer {
 public:
  explicit SocketServer(ServerOptions options = {})
      : end(std::make_shared<End>()),
        server([end = end](Request request) { return answer(end, std::move(request)); },
               std::move(options)) {}
  base::Result<std::unique_ptr<WebSocket>> open(const std::string& target = "/echo") {
    return server.run(server.client().connect_websocket(make_request(server.authority(), target)));
  }
  std::shared_ptr<End> end;
  TestServer server;
};

async::Task<base::Result<WebSocketMessage>> say(WebSocket& socket, Kind kind, std::string text) {
  WebSocketMessage message{kind, std::move(text)};
  AT_CO_OK(co_await socket.write(std::move(message)));
  co_return co_await socket.read();
}

async::Task<base::Result<WebSocketMessage>> hear(WebSocket& socket) {
  co_return co_await socket.read();
}

TEST(WebSocket, EchoesMessagesOfAnySize) {
  SocketServer sockets;
  const auto socket = sockets.open().value();
  for (const std::size_t size : {0U, 1U, 125U, 126U, 65'535U, 65'536U, 1024U * 1024U}) {
    const auto echoed = sockets.server.run(say(*socket, Kind::kBinary, std::string(size, '\xff')));
    ASSERT_TRUE(echoed) << echoed.error().message;
    EXPECT_EQ(echoed->kind, Kind::kBinary);
    EXPECT_TRUE(echoed->data == std::string(size, '\xff')) << size;
  }
  const auto text = sockets.server.run(say(*socket, Kind::kText, "gr\xc3\xbc\xc3\x9f dich"));
  EXPECT_EQ(text->kind, Kind::kText);
  EXPECT_EQ(text->data, "gr\xc3\xbc\xc3\x9f dich");
  sockets.server.run(socket->close(1000, "done"));
}

TEST(WebSocket, TellsTheServerHowTheClientClosed) {
  SocketServer sockets;
  const auto socket = sockets.open().value();
  sockets.server.run(socket->close(4321, "enough"));
  ASSERT_TRUE(run_until(sockets.server.loop(), [&] { return sockets.end->ended; }));
  EXPECT_EQ(sockets.end->code, base::ErrorCode::kCancelled);
  EXPECT_EQ(sockets.end->close_code, 4321);
}

TEST(WebSocket, TellsTheClientHowTheServerClosed) {
  SocketServer sockets;
  const auto socket = sockets.open().value();
  const auto heard = sockets.server.run(say(*socket, Kind::kText, "bye"));
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, base::ErrorCode::kCancelled);
  EXPECT_EQ(socket->close_code(), 4001);
}

TEST(WebSocket, TellsTheServerThatTheConnectionBroke) {
  SocketServer sockets;
  {
    const auto socket = sockets.open().value();
    EXPECT_TRUE(sockets.server.run(say(*socket, Kind::kText, "hi")));
  }
  ASSERT_TRUE(run_until(sockets.server.loop(), [&] { return sockets.end->ended; }));
  EXPECT_EQ(sockets.end->code, base::ErrorCode::kUnavailable);
}

TEST(WebSocket, RefusesAMessageBeyondTheLimit) {
  SocketServer sockets({.websocket_message_bytes_max = 1000});
  const auto socket = sockets.open().value();
  EXPECT_TRUE(sockets.server.run(say(*socket, Kind::kBinary, std::string(1000, 'x'))));
  const auto heard = sockets.server.run(say(*socket, Kind::kBinary, std::string(1001, 'x')));
  EXPECT_FALSE(heard);
  EXPECT_EQ(socket->close_code(), 1009);
  ASSERT_TRUE(run_until(sockets.server.loop(), [&] { return sockets.end->ended; }));
  EXPECT_EQ(sockets.end->code, base::ErrorCode::kInvalid);
}

TEST(WebSocket, GivesTheServersReasonForARefusal) {
  SocketServer sockets;
  const auto denied = sockets.open("/denied");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, base::ErrorCode::kDenied);
  EXPECT_NE(denied.error().message.find("not your sandbox"), std::string::npos);
  const auto plain = sockets.open("/plain");
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, base::ErrorCode::kUnavailable);
}

TEST(WebSocket, IsRefusedToARequestThatAsksForNone) {
  SocketServer sockets;
  const auto plain = sockets.server.run(
      call(sockets.server.client(), make_request(sockets.server.authority(), "/echo")));
  EXPECT_EQ(plain.status, 426);
  const auto broken =
      sockets.server.run(exchange_raw(sockets.server.server().port(),
                                      "GET /echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
                                      "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n"));
  EXPECT_TRUE(broken.starts_with("HTTP/1.1 400 ")) << broken;
}

std::string handshake() {
  return "GET /echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
}

TEST(WebSocket, AnswersTheHandshakeOfTheStandard) {
  SocketServer sockets;
  const auto answer =
      sockets.server.run(exchange_raw(sockets.server.server().port(), handshake(), "\r\n\r\n"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 ")) << answer;
  EXPECT_NE(answer.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
  EXPECT_NE(answer.find("Sec-WebSocket-Protocol: demo.v1"), std::string::npos);
}

TEST(WebSocket, DropsAPeerThatDoesNotAnswerPings) {
  SocketServer sockets({.websocket_idle_time_max = 200ms});
  const auto received =
      sockets.server.run(exchange_raw(sockets.server.server().port(), handshake()));
  EXPECT_NE(received.find(std::string("\x89", 1)), std::string::npos) << "a ping was sent";
  ASSERT_TRUE(run_until(sockets.server.loop(), [&] { return sockets.end->ended; }));
  EXPECT_EQ(sockets.end->code, base::ErrorCode::kUnavailable);
}

async::Task<void> write_all(WebSocket& socket, int messages, bool& ok) {
  for (int i = 0; i < messages; ++i) {
    WebSocketMessage message{Kind::kBinary, std::string(100'000, 'x')};
    ok = (co_await socket.write(std::move(message))).has_value() && ok;
  }
}

async::Task<void> read_all(WebSocket& socket, int messages, bool& ok) {
  for (int i = 0; i < messages; ++i) {
    const auto message = co_await socket.read();
    ok = message && message->data.size() == 100'000 && ok;
  }
}

TEST(WebSocket, FlowsInBothDirectionsAtOnce) {
  SocketServer sockets;
  const auto socket = sockets.open().value();
  bool ok = true;
  async::TaskGroup tasks(sockets.server.loop().get_executor(), {.name = "both", .tasks_max = 2});
  ASSERT_TRUE(tasks.spawn(write_all(*socket, 200, ok)));
  ASSERT_TRUE(tasks.spawn(read_all(*socket, 200, ok)));
  sockets.server.run(tasks.wait_empty());
  EXPECT_TRUE(ok);
}

TEST(WebSocket, CanBeClosedWhileAnotherTaskReads) {
  SocketServer sockets;
  const auto socket = sockets.open().value();
  bool ok = true;
  async::TaskGroup tasks(sockets.server.loop().get_executor(), {.name = "reader", .tasks_max = 1});
  ASSERT_TRUE(tasks.spawn(read_all(*socket, 1, ok)));
  sockets.server.loop().restart();
  sockets.server.loop().poll();
  sockets.server.run(socket->close(1000, ""));
  sockets.server.run(tasks.wait_empty());
  EXPECT_FALSE(ok);
  ASSERT_TRUE(run_until(sockets.server.loop(), [&] { return sockets.end->ended; }));
  EXPECT_EQ(sockets.end->close_code, 1000);
}

TEST(WebSocket, EndsWithItsServer) {
  SocketServer sockets;
  const auto socket = sockets.open().value();
  EXPECT_TRUE(sockets.server.run(say(*socket, Kind::kText, "hi")));
  sockets.server.close(10ms);
  EXPECT_TRUE(sockets.end->ended);
  EXPECT_FALSE(sockets.server.run(hear(*socket)));
}

}  // namespace
}  // namespace agenttier::http
