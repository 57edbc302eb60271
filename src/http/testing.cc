#include "http/testing.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <exception>

namespace agenttier::http {

namespace asio = boost::asio;
using asio::ip::tcp;

void run_until_done(asio::io_context& loop, async::Task<void> task) {
  bool done = false;
  std::exception_ptr thrown;
  asio::co_spawn(loop, std::move(task), [&](std::exception_ptr failure) {
    thrown = failure;
    done = true;
  });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  loop.restart();
  while (!done && std::chrono::steady_clock::now() < limit) {
    loop.run_one_for(std::chrono::seconds(1));
  }
  if (thrown) std::rethrow_exception(thrown);
  AT_ASSERT(done);
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

struct ScriptedServer::Acceptor {
  tcp::acceptor acceptor;
};

ScriptedServer::ScriptedServer(asio::io_context& loop, std::vector<std::string> answers)
    : loop_(loop),
      answers_(std::move(answers)),
      acceptor_(std::make_unique<Acceptor>(
          Acceptor{tcp::acceptor(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0))})),
      group_(loop.get_executor(), {.name = "scripted server", .tasks_max = 1}) {
  AT_ASSERT(group_.spawn(run()).has_value());
}

ScriptedServer::~ScriptedServer() {
  run_until_done(loop_, group_.close());
}

std::string ScriptedServer::authority() const {
  return "127.0.0.1:" + std::to_string(acceptor_->acceptor.local_endpoint().port());
}

async::Task<void> ScriptedServer::run() {
  constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
  while (true) {
    const bool cancelled = co_await async::is_cancelled();
    if (cancelled) co_return;
    auto [failure, socket] = co_await acceptor_->acceptor.async_accept(kTuple);
    if (failure) co_return;
    ++connections_;
    std::string received;
    std::string piece(64 * 1024, '\0');
    while (!is_over()) {
      const auto [error, size] = co_await socket.async_read_some(asio::buffer(piece), kTuple);
      if (error) break;
      received.append(piece, 0, size);
      if (received.find("\r\n\r\n") == std::string::npos) continue;
      received.clear();
      const std::string answer = answers_[next_++];
      if (answer.empty()) break;
      co_await asio::async_write(socket, asio::buffer(answer), kTuple);
    }
  }
}

async::Task<base::Result<std::string>> CountingReader::read() {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, 64 * 1024));
  left_ -= size;
  *given_ += size;
  co_return std::string(size, 'x');
}

async::Task<base::Result<std::string>> EndlessReader::read() {
  while (true) {
    const auto wake = co_await never_.wait();
    if (wake == async::Wake::kCancelled) co_return base::cancelled("endless");
  }
}

bool run_until(asio::io_context& loop, const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  loop.restart();
  while (!condition() && std::chrono::steady_clock::now() < limit) {
    loop.run_one_for(std::chrono::milliseconds(100));
  }
  return condition();
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
