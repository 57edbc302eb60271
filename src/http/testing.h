#pragma once
// Words for tests of http/: a loop with a server on it, a raw client for malformed input, services
// made of functions.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/task_group.h"
#include "http/client.h"
#include "http/server.h"

namespace agenttier::http {

// Runs the loop until the task is done; gives what it gave. Fails the program after a minute.
template <class T>
T run_until_done(boost::asio::io_context& loop, async::Task<T> task) {
  std::optional<T> result;
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr failure, T value) {
    thrown = failure;
    result = std::move(value);
  });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  loop.restart();
  while (!result && std::chrono::steady_clock::now() < limit) {
    loop.run_one_for(std::chrono::seconds(1));
  }
  if (thrown) std::rethrow_exception(thrown);
  AT_ASSERT(result.has_value());
  return *std::move(result);
}

void run_until_done(boost::asio::io_context& loop, async::Task<void> task);

// A service made of a function. The function is no coroutine itself if it captures; it may return
// the task of one.
class FunctionService final : public Service {
 public:
  using Function = std::function<async::Task<Response>(Request)>;
  explicit FunctionService(Function function) : function_(std::move(function)) {}
  async::Task<Response> handle(Request request) override { return function_(std::move(request)); }

 private:
  Function function_;
};

// A server on a loop of its own, closed at the end of the test.
class TestServer {
 public:
  explicit TestServer(FunctionService::Function function, ServerOptions options = {});
  ~TestServer();

  boost::asio::io_context& loop() { return loop_; }
  Server& server() { return *server_; }
  NetworkClient& client() { return *client_; }
  std::string authority() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  template <class T>
  T run(async::Task<T> task) {
    return run_until_done(loop_, std::move(task));
  }
  void run(async::Task<void> task) { run_until_done(loop_, std::move(task)); }
  void close(std::chrono::milliseconds grace = {});

 private:
  boost::asio::io_context loop_{1};
  FunctionService service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<NetworkClient> client_;
  async::TaskGroup group_;
  bool closed_ = false;
};

// Sends bytes as they are and gives what came back until the server closed, or until `until` was
// seen in it.
async::Task<std::string> exchange_raw(std::uint16_t port, std::string bytes,
                                      std::string until = {});
// A GET or, with a body, a POST.
Request make_request(std::string authority, std::string target, std::string body = {});
// Status and whole body.
struct Answer {
  int status = 0;
  std::string body;
  Headers headers;
};
async::Task<Answer> call(Client& client, Request request);

}  // namespace agenttier::http
