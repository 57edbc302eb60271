// Bodies over loopback: streamed, refused, left unread, large.
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/in_process.h"
#include "http/line_reader.h"
#include "http/pipe.h"
#include "http/testing.h"

namespace agenttier::http {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1024 * 1024;

async::Task<Response> echo(Request request) {
  Response response;
  const auto length = request.body.length();
  response.body = Body(request.body.into_reader(), length);
  co_return response;
}

async::Task<Response> ignore_body(Request) {
  co_return text_response(403, "no");
}

async::Task<Response> measure(Request request) {
  auto body = co_await request.body.read_all(100 * kMiB);
  if (!body) co_return error_response(body.error());
  co_return text_response(200, std::to_string(body->size()));
}

TEST(Body, IsEchoedWhole) {
  TestServer server(echo);
  for (const std::size_t size : {1U, 1000U, 64U * 1024U, 64U * 1024U + 1U, 3'000'000U}) {
    const std::string sent(size, 'x');
    const auto answer =
        server.run(call(server.client(), make_request(server.authority(), "/", sent)));
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body == sent) << size;
  }
}

TEST(Body, ComesInChunksOfAnySize) {
  TestServer server(measure);
  const auto received = server.run(exchange_raw(
      server.server().port(),
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"));
  EXPECT_TRUE(received.ends_with("\r\n\r\n4")) << received;
}

TEST(Body, ThatIsMalformedFailsTheRead) {
  TestServer server(measure);
  const auto received = server.run(exchange_raw(
      server.server().port(),
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n"));
  EXPECT_TRUE(received.starts_with("HTTP/1.1 400 ")) << received;
  EXPECT_EQ(received.find("HTTP/1.1", 5), std::string::npos);
}

TEST(Body, BeyondTheHandlersLimitIsRefused) {
  TestServer server([](Request request) { return measure(std::move(request)); });
  const auto received = server.run(
      exchange_raw(server.server().port(),
                   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999\r\n\r\nabc"));
  EXPECT_TRUE(received.starts_with("HTTP/1.1 413 ")) << received;
}

TEST(Body, IsAskedForWhenTheClientExpectsIt) {
  TestServer server(measure);
  const auto received = server.run(exchange_raw(
      server.server().port(),
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
      "\r\n\r\n"));
  EXPECT_EQ(received, "HTTP/1.1 100 Continue\r\n\r\n");
}

TEST(Body, IsNotAskedForWhenTheHandlerDoesNotWantIt) {
  TestServer server(ignore_body);
  const auto received = server.run(exchange_raw(
      server.server().port(),
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_TRUE(received.starts_with("HTTP/1.1 403 ")) << received;
  EXPECT_NE(received.find("Connection: close"), std::string::npos);
}

TEST(Body, LeftUnreadDoesNotCostTheConnectionIfSmall) {
  TestServer server(ignore_body, {.connections_max = 1});
  for (int i = 0; i < 3; ++i) {
    const auto answer = server.run(
        call(server.client(), make_request(server.authority(), "/", std::string(200'000, 'x'))));
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(answer.headers.find("Connection"), std::nullopt);
  }
}

TEST(Body, LeftUnreadClosesTheConnectionAfterTheAnswerIfLarge) {
  TestServer server(ignore_body);
  const auto answer = server.run(
      call(server.client(), make_request(server.authority(), "/", std::string(20 * kMiB, 'x'))));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.headers.find("Connection"), "close");
}

async::Task<Response> stash_body(std::shared_ptr<std::unique_ptr<BodyReader>> stash,
                                 Request request) {
  *stash = request.body.into_reader();
  co_return text_response(200, "kept it");
}

async::Task<base::Result<std::string>> read_one(BodyReader& reader) {
  co_return co_await reader.read();
}

TEST(Body, CannotBeReadAfterItsExchange) {
  const auto stash = std::make_shared<std::unique_ptr<BodyReader>>();
  TestServer server([stash](Request request) { return stash_body(stash, std::move(request)); });
  const auto answer = server.run(
      call(server.client(), make_request(server.authority(), "/", std::string(100'000, 'x'))));
  EXPECT_EQ(answer.body, "kept it");
  ASSERT_TRUE(run_until(server.loop(), [&] {
    const auto piece = server.run(read_one(**stash));
    return !piece && piece.error().code == base::ErrorCode::kCancelled;
  }));
  stash->reset();
}

TEST(Body, ThatStallsFailsTheReadInTime) {
  TestServer server(measure, {.body_idle_time_max = 50ms});
  const auto received = server.run(exchange_raw(
      server.server().port(), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_TRUE(received.starts_with("HTTP/1.1 504 ")) << received;
}

// Streams a body to an echo and reads it back; the most bytes that were ever under way.
async::Task<std::uint64_t> stream_through(Client& client, Request request, std::uint64_t size) {
  const auto given = std::make_shared<std::uint64_t>(0);
  std::optional<std::uint64_t> length;
  if (request.target == "/length") length = size;
  request.method = "PUT";
  request.body = Body(std::make_unique<CountingReader>(size, given), length);
  auto response = co_await client.send(std::move(request));
  EXPECT_TRUE(response);
  if (!response) co_return size;
  auto reader = response->body.into_reader();
  std::uint64_t taken = 0;
  std::uint64_t most = 0;
  while (true) {
    const auto piece = co_await reader->read();
    EXPECT_TRUE(piece);
    if (!piece || piece->empty()) break;
    taken += piece->size();
    most = std::max(most, *given - taken);
  }
  EXPECT_EQ(taken, size);
  co_return most;
}

TEST(Body, OfAnySizePassesInConstantMemory) {
  TestServer server(echo);
  for (const char* target : {"/length", "/chunked"}) {
    const auto most = server.run(
        stream_through(server.client(), make_request(server.authority(), target), 64 * kMiB));
    // Mostly the system's socket buffers, twice.
    EXPECT_LT(most, 32 * kMiB) << target;
  }
}

TEST(Body, StreamsInProcessWithoutBeingCollected) {
  boost::asio::io_context loop;
  FunctionService service(echo);
  InProcessClient client(service);
  const auto most =
      run_until_done(loop, stream_through(client, make_request("", "/length"), 64 * kMiB));
  EXPECT_EQ(most, 0U);
}

async::Task<Response> endless_zeros(Request) {
  Response response;
  const auto given = std::make_shared<std::uint64_t>(0);
  response.body = Body(std::make_unique<CountingReader>(std::uint64_t{1} << 50, given));
  co_return response;
}

async::Task<void> read_nothing_for_a_while(std::uint16_t port, async::Event& end) {
  boost::asio::ip::tcp::socket socket(co_await async::current_executor());
  const boost::asio::ip::tcp::endpoint endpoint(boost::asio::ip::address_v4::loopback(), port);
  co_await socket.async_connect(endpoint, boost::asio::use_awaitable);
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  co_await socket.async_write_some(boost::asio::buffer(request), boost::asio::use_awaitable);
  co_await end.wait();
}

TEST(Body, ThatTheClientDoesNotTakeEndsInTime) {
  const auto gone = std::make_shared<bool>(false);
  TestServer server(endless_zeros, {.connections_max = 1, .write_time_max = 100ms});
  async::TaskGroup clients(server.loop().get_executor(), {.name = "clients", .tasks_max = 1});
  async::Event end(server.loop().get_executor());
  ASSERT_TRUE(clients.spawn(read_nothing_for_a_while(server.server().port(), end)));
  // The server has one place; when it is free again the stalled client was dropped.
  std::string received;
  ASSERT_TRUE(run_until(server.loop(), [&] {
    if (received.empty()) {
      received = server.run(
          exchange_raw(server.server().port(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n"));
    }
    return !received.empty();
  }));
  EXPECT_TRUE(received.starts_with("HTTP/1.1 200 OK"));
  server.run(clients.close());
}

async::Task<base::Result<std::string>> read_all_of(Body body, std::uint64_t max) {
  co_return co_await body.read_all(max);
}

TEST(Body, ReadAllHoldsItsLimit) {
  boost::asio::io_context loop;
  EXPECT_EQ(*run_until_done(loop, read_all_of(Body("abc"), 3)), "abc");
  const auto memory = run_until_done(loop, read_all_of(Body("abcd"), 3));
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().reason, "body_too_large");
  const auto given = std::make_shared<std::uint64_t>(0);
  Body stream(std::make_unique<CountingReader>(10 * kMiB, given));
  EXPECT_FALSE(run_until_done(loop, read_all_of(std::move(stream), kMiB)));
  EXPECT_LT(*given, 2 * kMiB);
}

async::Task<bool> write_one(PipeWriter& writer, std::string bytes) {
  co_return (co_await writer.write(std::move(bytes))).has_value();
}
async::Task<void> write_and_note(PipeWriter& writer, std::string bytes, std::optional<bool>& ok) {
  ok = co_await write_one(writer, std::move(bytes));
}

TEST(Pipe, GivesWhatWasWrittenThenTheEnd) {
  boost::asio::io_context loop;
  Pipe pipe = make_pipe(loop.get_executor(), 100);
  EXPECT_TRUE(run_until_done(loop, write_one(pipe.writer, "ab")));
  EXPECT_TRUE(pipe.writer.try_write("cd"));
  pipe.writer.close();
  EXPECT_EQ(*run_until_done(loop, read_one(*pipe.reader)), "abcd");
  EXPECT_EQ(*run_until_done(loop, read_one(*pipe.reader)), "");
  EXPECT_FALSE(run_until_done(loop, write_one(pipe.writer, "late")));
}

TEST(Pipe, MakesItsWriterWaitForRoom) {
  boost::asio::io_context loop;
  Pipe pipe = make_pipe(loop.get_executor(), 4);
  EXPECT_TRUE(run_until_done(loop, write_one(pipe.writer, "abcd")));
  EXPECT_EQ(pipe.writer.try_write("e").error().code, base::ErrorCode::kExhausted);
  std::optional<bool> ok;
  async::TaskGroup group(loop.get_executor(), {.name = "writer", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(write_and_note(pipe.writer, "e", ok)));
  loop.restart();
  loop.poll();
  EXPECT_FALSE(ok.has_value());
  EXPECT_EQ(*run_until_done(loop, read_one(*pipe.reader)), "abcd");
  run_until_done(loop, group.wait_empty());
  EXPECT_EQ(ok, true);
}

TEST(Pipe, TellsItsWriterThatTheReaderIsGone) {
  boost::asio::io_context loop;
  Pipe pipe = make_pipe(loop.get_executor(), 1);
  EXPECT_TRUE(run_until_done(loop, write_one(pipe.writer, "a")));
  std::optional<bool> ok;
  async::TaskGroup group(loop.get_executor(), {.name = "writer", .tasks_max = 1});
  ASSERT_TRUE(group.spawn(write_and_note(pipe.writer, "b", ok)));
  loop.restart();
  loop.poll();
  pipe.reader.reset();
  run_until_done(loop, group.wait_empty());
  EXPECT_EQ(ok, false);
  EXPECT_TRUE(pipe.writer.is_abandoned());
  EXPECT_EQ(pipe.writer.try_write("c").error().code, base::ErrorCode::kCancelled);
}

TEST(Pipe, NeverMakesALostWriterLookLikeAnEnd) {
  boost::asio::io_context loop;
  std::unique_ptr<BodyReader> reader;
  {
    Pipe pipe = make_pipe(loop.get_executor(), 100);
    reader = std::move(pipe.reader);
    EXPECT_TRUE(pipe.writer.try_write("a"));
  }
  EXPECT_EQ(*run_until_done(loop, read_one(*reader)), "a");
  EXPECT_FALSE(run_until_done(loop, read_one(*reader)));
}

// All lines joined by '|', or the error's reason.
async::Task<std::string> lines_of(std::vector<std::string> pieces, std::size_t line_max) {
  Pipe pipe = make_pipe(co_await async::current_executor(), 1 << 20);
  for (std::string& piece : pieces) (void)pipe.writer.try_write(std::move(piece));
  pipe.writer.close();
  LineReader lines(std::move(pipe.reader), {.line_bytes_max = line_max});
  std::string joined;
  while (true) {
    auto line = co_await lines.next();
    if (!line) co_return joined + line.error().reason;
    if (!*line) co_return joined;
    joined += **line + "|";
  }
}

TEST(LineReader, SplitsAtLineEnds) {
  boost::asio::io_context loop;
  EXPECT_EQ(run_until_done(loop, lines_of({"a\nb\r\n\nc"}, 10)), "a|b||c|");
  EXPECT_EQ(run_until_done(loop, lines_of({"a\n"}, 10)), "a|");
  EXPECT_EQ(run_until_done(loop, lines_of({}, 10)), "");
}

TEST(LineReader, BoundsALine) {
  boost::asio::io_context loop;
  EXPECT_EQ(run_until_done(loop, lines_of({"ok\n", std::string(11, 'x') + "\nrest\n"}, 10)),
            "ok|line_too_long");
  EXPECT_EQ(run_until_done(loop, lines_of({std::string(100'000, 'x')}, 10)), "line_too_long");
}

}  // namespace
}  // namespace agenttier::http
