// How much a request, a streamed byte and a message cost on one loop thread.
//
// CPU time is that of the loop's thread; in ServerAlone the client is another thread, elsewhere
// both ends are on the loop, so a round trip pays for both.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>
#include <vector>

#include "async/task_group.h"
#include "base/assert.h"
#include "http/client.h"
#include "http/in_process.h"
#include "http/server.h"

namespace agenttier::http {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr std::uint64_t kStreamBytes = 256 * 1024 * 1024;

class PieceReader final : public BodyReader {
 public:
  explicit PieceReader(std::uint64_t size) : left_(size) {}
  async::Task<base::Result<std::string>> read() override {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, 64 * 1024));
    left_ -= size;
    co_return std::string(size, 'x');
  }

 private:
  std::uint64_t left_;
};

async::Task<void> echo_messages(std::unique_ptr<WebSocket> socket) {
  while (true) {
    auto message = co_await socket->read();
    if (!message) co_return;
    const auto written = co_await socket->write(*std::move(message));
    if (!written) co_return;
  }
}

class BenchService final : public Service {
 public:
  async::Task<Response> handle(Request request) override {
    Response response = json_response(200, "{\"status\":\"ok\"}");
    if (request.target == "/down") {
      response.body = Body(std::make_unique<PieceReader>(kStreamBytes), kStreamBytes);
    } else if (request.target == "/down-chunked") {
      response.body = Body(std::make_unique<PieceReader>(kStreamBytes));
    } else if (request.target == "/socket") {
      response.upgrade = echo_messages;
    } else if (request.body.is_stream()) {
      const auto reader = request.body.into_reader();
      while (true) {
        const auto piece = co_await reader->read();
        if (!piece || piece->empty()) break;
      }
    }
    co_return response;
  }
};

async::Task<void> close_both(Server& server, NetworkClient& client, bool& closed) {
  co_await client.close();
  co_await server.close(0ms);
  closed = true;
}

class Bench {
 public:
  Bench()
      : server_(Server::listen(loop.get_executor(), service, {}).value()),
        client(NetworkClient::make(loop.get_executor(), {})),
        tasks(loop.get_executor(), {.name = "bench", .tasks_max = 1000}) {
    AT_ASSERT(tasks.spawn(server_->run()).has_value());
  }
  ~Bench() {
    bool closed = false;
    AT_ASSERT(tasks.spawn(close_both(*server_, *client, closed)).has_value());
    run_until(closed);
    while (tasks.size() > 0) loop.run_one();
  }

  void run_until(const bool& done) {
    loop.restart();
    while (!done) loop.run_one();
  }
  Request request(std::string target) const {
    Request made;
    made.authority = "127.0.0.1:" + std::to_string(port());
    made.target = std::move(target);
    return made;
  }
  std::uint16_t port() const { return server_->port(); }

  asio::io_context loop{1};
  BenchService service;
  std::unique_ptr<Server> server_;
  std::unique_ptr<NetworkClient> client;
  async::TaskGroup tasks;
};

async::Task<void> call_until(Bench& bench, Client& client, std::int64_t& left, int& running,
                             bool& done) {
  while (left-- > 0) {
    auto response = co_await client.send(bench.request("/"));
    AT_ASSERT(response && response->status == 200);
  }
  if (--running == 0) done = true;
}

void run_calls(benchmark::State& state, Bench& bench, Client& client, int tasks) {
  while (state.KeepRunningBatch(10000)) {
    std::int64_t left = 10000;
    int running = tasks;
    bool done = false;
    for (int i = 0; i < tasks; ++i) {
      AT_ASSERT(bench.tasks.spawn(call_until(bench, client, left, running, done)).has_value());
    }
    bench.run_until(done);
  }
  state.SetItemsProcessed(state.iterations());
}

void round_trip(benchmark::State& state) {
  Bench bench;
  run_calls(state, bench, *bench.client, static_cast<int>(state.range(0)));
}
BENCHMARK(round_trip)->Arg(1)->Arg(8)->Arg(64);

void in_process(benchmark::State& state) {
  Bench bench;
  InProcessClient client(bench.service);
  run_calls(state, bench, client, 1);
}
BENCHMARK(in_process);

// A client that costs little: blocking sockets, one request on each in turn.
void hammer(std::uint16_t port, int connections, const std::atomic<bool>& stop,
            std::atomic<std::int64_t>& answered) {
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
  std::vector<int> sockets;
  for (int i = 0; i < connections; ++i) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    AT_ASSERT(connect(sockets.back(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    const int on = 1;
    setsockopt(sockets.back(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  char received[1024];
  while (!stop) {
    for (const int fd : sockets) (void)!write(fd, request.data(), request.size());
    for (const int fd : sockets) (void)!read(fd, received, sizeof received);
    answered += connections;
  }
  for (const int fd : sockets) close(fd);
}

void server_alone(benchmark::State& state) {
  Bench bench;
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> answered = 0;
  std::thread client(hammer, bench.port(), static_cast<int>(state.range(0)), std::cref(stop),
                     std::ref(answered));
  std::int64_t wanted = 0;
  while (state.KeepRunningBatch(10000)) {
    wanted += 10000;
    bench.loop.restart();
    while (answered < wanted) bench.loop.run_one_for(10ms);
  }
  state.SetItemsProcessed(state.iterations());
  stop = true;
  while (bench.loop.run_one_for(50ms) > 0) {
  }
  client.join();
}
BENCHMARK(server_alone)->Arg(1)->Arg(8)->Arg(64);

async::Task<void> download(Bench& bench, std::string target, bool& done) {
  auto response = co_await bench.client->send(bench.request(std::move(target)));
  AT_ASSERT(response.has_value());
  const auto reader = response->body.into_reader();
  std::uint64_t taken = 0;
  while (true) {
    const auto piece = co_await reader->read();
    AT_ASSERT(piece.has_value());
    if (piece->empty()) break;
    taken += piece->size();
  }
  AT_ASSERT(taken == kStreamBytes);
  done = true;
}

async::Task<void> upload(Bench& bench, bool& done) {
  Request request = bench.request("/up");
  request.method = "PUT";
  request.body = Body(std::make_unique<PieceReader>(kStreamBytes), kStreamBytes);
  const auto response = co_await bench.client->send(std::move(request));
  AT_ASSERT(response && response->status == 200);
  done = true;
}

void stream(benchmark::State& state) {
  Bench bench;
  for (auto unused : state) {
    bool done = false;
    if (state.range(0) == 2) {
      AT_ASSERT(bench.tasks.spawn(upload(bench, done)).has_value());
    } else {
      const char* target = state.range(0) == 0 ? "/down" : "/down-chunked";
      AT_ASSERT(bench.tasks.spawn(download(bench, target, done)).has_value());
    }
    bench.run_until(done);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kStreamBytes));
}
BENCHMARK(stream)->ArgName("down0_chunked1_up2")->DenseRange(0, 2);

async::Task<void> exchange_messages(Bench& bench, std::size_t size, int times, bool& done) {
  auto socket = co_await bench.client->connect_websocket(bench.request("/socket"));
  AT_ASSERT(socket.has_value());
  for (int i = 0; i < times; ++i) {
    WebSocketMessage message{WebSocketMessage::Kind::kBinary, std::string(size, 'x')};
    AT_ASSERT((co_await (*socket)->write(std::move(message))).has_value());
    const auto answer = co_await (*socket)->read();
    AT_ASSERT(answer && answer->data.size() == size);
  }
  co_await (*socket)->close(1000, "");
  done = true;
}

void websocket_echo(benchmark::State& state) {
  Bench bench;
  const auto size = static_cast<std::size_t>(state.range(0));
  while (state.KeepRunningBatch(1000)) {
    bool done = false;
    AT_ASSERT(bench.tasks.spawn(exchange_messages(bench, size, 1000, done)).has_value());
    bench.run_until(done);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(websocket_echo)->Arg(64)->Arg(64 * 1024);

}  // namespace
}  // namespace agenttier::http
