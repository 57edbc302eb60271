#pragma once
// Words for tests of http/: a loop with a server on it, a raw client for malformed input, services
// made of functions.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "http/client.h"
#include "http/server.h"

namespace agenttier::http {

void run_until_done(boost::asio::io_context& loop, async::Task<void> task);

template <class T>
async::Task<void> store_result(async::Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

// Runs the loop until the task is done; gives what it gave. Fails the program after a minute.
template <class T>
T run_until_done(boost::asio::io_context& loop, async::Task<T> task) {
  std::optional<T> result;
  run_until_done(loop, store_result(std::move(task), result));
  return *std::move(result);
}

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
// A server that plays a script: for each answer it reads a head (up to the empty line), then sends
// the answer as it is; an empty one closes the connection instead. The next connection goes on in
// the script. It counts connections.
class ScriptedServer {
 public:
  ScriptedServer(boost::asio::io_context& loop, std::vector<std::string> answers);
  ~ScriptedServer();
  std::string authority() const;
  int connections() const { return connections_; }

 private:
  struct Acceptor;
  async::Task<void> run();
  bool is_over() const { return next_ >= answers_.size(); }

  boost::asio::io_context& loop_;
  std::vector<std::string> answers_;
  std::size_t next_ = 0;
  int connections_ = 0;
  std::unique_ptr<Acceptor> acceptor_;
  async::TaskGroup group_;
};

// A BodyReader that gives `size` bytes in pieces of 64 KiB and counts what it gave.
class CountingReader final : public BodyReader {
 public:
  CountingReader(std::uint64_t size, std::shared_ptr<std::uint64_t> given)
      : left_(size), given_(std::move(given)) {}
  async::Task<base::Result<std::string>> read() override;

 private:
  std::uint64_t left_;
  std::shared_ptr<std::uint64_t> given_;
};

// A BodyReader that waits until it is cancelled or destroyed; `*gone` becomes true then.
class EndlessReader final : public BodyReader {
 public:
  EndlessReader(async::Executor executor, std::shared_ptr<bool> gone)
      : never_(std::move(executor)), gone_(std::move(gone)) {}
  ~EndlessReader() override { *gone_ = true; }
  async::Task<base::Result<std::string>> read() override;

 private:
  async::Event never_;
  std::shared_ptr<bool> gone_;
};

// Lets the loop run until the condition holds; false after ten seconds.
bool run_until(boost::asio::io_context& loop, const std::function<bool()>& condition);

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
