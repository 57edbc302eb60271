#include "http/testing.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace agenttier::http {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

async::Task<bool> then_true(async::Task<void> task) {
  co_await std::move(task);
  co_return true;
}

}  // namespace

void run_until_done(asio::io_context& loop, async::Task<void> task) {
  (void)run_until_done(loop, then_true(std::move(task)));
}

TestServer::TestServer(FunctionService::Function function, ServerOptions options)
    : service_(std::move(function)),
      server_(Server::listen(loop_.get_executor(), service_, std::move(options)).value()),
      client_(NetworkClient::make(loop_.get_executor(), {})),
      group_(loop_.get_executor(), {.name = "test server", .tasks_max = 1}) {
  AT_ASSERT(group_.spawn(server_->run()).has_value());
}

TestServer::~TestServer() {
  close();
}

void TestServer::close(std::chrono::milliseconds grace) {
  if (std::exchange(closed_, true)) return;
  run(server_->close(grace));
  run(client_->close());
  run(group_.close());
}

async::Task<std::string> exchange_raw(std::uint16_t port, std::string bytes, std::string until) {
  constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
  tcp::socket socket(co_await async::current_executor());
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  co_await socket.async_connect(endpoint, asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(bytes), kTuple);
  std::string received;
  std::string piece(64 * 1024, '\0');
  while (until.empty() || received.find(until) == std::string::npos) {
    const auto [error, size] = co_await socket.async_read_some(asio::buffer(piece), kTuple);
    if (error) break;
    received.append(piece, 0, size);
  }
  co_return received;
}

Request make_request(std::string authority, std::string target, std::string body) {
  Request request;
  request.authority = std::move(authority);
  request.target = std::move(target);
  if (!body.empty()) {
    request.method = "POST";
    request.body = Body(std::move(body));
  }
  return request;
}

async::Task<Answer> call(Client& client, Request request) {
  auto response = co_await client.send(std::move(request));
  Answer answer;
  if (!response) {
    answer.body = response.error().message;
    co_return answer;
  }
  answer.status = response->status;
  answer.headers = response->headers;
  auto body = co_await response->body.read_all(std::uint64_t{1} << 30);
  answer.body = body ? *std::move(body) : "error: " + body.error().message;
  co_return answer;
}

}  // namespace agenttier::http
