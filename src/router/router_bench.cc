// What an exec costs in the router, from its request to its JSON. The API server and the runtime
// are the smallest that answer, in the same process.

#include <benchmark/benchmark.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>

#include "api/names.h"
#include "async/event.h"
#include "async/task_group.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "http/client.h"
#include "http/in_process.h"
#include "http/server.h"
#include "identity/api_keys.h"
#include "identity/authenticator.h"
#include "kube/client.h"
#include "router/frames.h"
#include "router/router.h"

namespace agenttier::router {
namespace {

namespace json = boost::json;
namespace names = api::names;

constexpr std::string_view kUid = "00000000-0000-4000-8000-000000000001";

json::object meta(std::string_view name, json::object more = {}) {
  json::object metadata = {{"name", name},
                           {"namespace", "default"},
                           {"uid", kUid},
                           {"resourceVersion", "5"},
                           {"creationTimestamp", "2030-01-01T00:00:00Z"}};
  for (auto& [key, value] : more) metadata[key] = value;
  return metadata;
}

json::object sandbox() {
  return {{"metadata", meta("demo")},
          {"spec", {{"createdBy", {{"sub", "bench"}}}, {"templateRef", {{"name", "minimal"}}}}},
          {"status", {{"phase", "Running"}, {"podIP", "127.0.0.1"}, {"podName", "demo-pod"}}}};
}

json::object token_secret() {
  const json::object owner = {
      {"apiVersion", names::kApiVersion}, {"kind", "Sandbox"}, {"name", "demo"}, {"uid", kUid}};
  return {
      {"metadata", meta(names::token_secret_of("demo"), {{"ownerReferences", json::array{owner}}})},
      {"data", {{"token", base::to_base64("token")}}}};
}

class SilentReader final : public http::BodyReader {
 public:
  explicit SilentReader(async::Executor executor) : never_(std::move(executor)) {}
  async::Task<base::Result<std::string>> read() override {
    while (co_await never_.wait() != async::Wake::kCancelled) {
    }
    co_return base::cancelled("watch");
  }

 private:
  async::Event never_;
};

// Lists one sandbox, its token and one API key; remembers what is created.
class SmallApi final : public http::Service {
 public:
  explicit SmallApi(async::Executor executor) : executor_(std::move(executor)) {}

  async::Task<http::Response> handle(http::Request request) override {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (request.target.find("watch=") != std::string::npos) {
      http::Response watch;
      watch.body = http::Body(std::make_unique<SilentReader>(executor_));
      co_return std::move(watch);
    }
    if (request.method == "POST") {
      auto text = co_await request.body.read_all(1 << 20);
      key_ = *std::move(text);
      co_return http::json_response(201, key_);
    }
    if (path.find("/secrets/agenttier-apikey") != std::string::npos) {
      co_return http::json_response(200, key_);
    }
    json::array items;
    if (path.ends_with("/sandboxes")) items.push_back(sandbox());
    if (path.ends_with("/default/secrets")) items.push_back(token_secret());
    co_return http::json_response(
        200, json::serialize(json::object{{"metadata", {{"resourceVersion", "5"}}},
                                          {"items", std::move(items)}}));
  }

 private:
  async::Executor executor_;
  std::string key_;
};

class SmallRuntime final : public http::Service {
 public:
  async::Task<http::Response> handle(http::Request) override {
    http::Response response;
    response.body = http::Body(
        encode_frame(Frame::Channel::kStdout, 0, "ok\n") +
        encode_frame(
            Frame::Channel::kStatus, 0,
            R"({"exitCode":0,"reason":"exited","durationMs":1,"outputBytes":3,"truncated":false})"));
    co_return std::move(response);
  }
};

struct Plane {
  Plane()
      : router({loop.get_executor(), client, in_process, authenticator, keys, timers, random},
               {.access_log = AccessLog::kOff}) {
    AT_ASSERT(router.start().has_value());
    bool ready = false;
    boost::asio::co_spawn(loop, prepare(*this, ready), boost::asio::detached);
    while (!ready) loop.run_one();
  }

  static async::Task<void> prepare(Plane& plane, bool& ready) {
    const base::Status synced = co_await plane.router.wait_until_ready();
    AT_ASSERT(synced.has_value());
    identity::Claims maker;
    maker.sub = "bench";
    identity::NewApiKey wanted;
    wanted.name = "bench";
    auto minted = co_await plane.keys.mint(std::move(maker), std::move(wanted));
    AT_ASSERT(minted.has_value());
    plane.key = minted->key;
    ready = true;
  }

  http::Request exec_request() const {
    http::Request request;
    request.method = "POST";
    request.target = "/api/v1/sandboxes/demo/exec";
    request.headers.set("X-API-Key", key);
    request.headers.set("Content-Type", "application/json");
    request.body = http::Body(R"({"command":"true"})");
    return request;
  }

  boost::asio::io_context loop{1};
  SmallApi api{loop.get_executor()};
  http::InProcessClient transport{api};
  kube::Client client{transport, {}};
  SmallRuntime runtime;
  http::InProcessClient in_process{runtime};
  async::RealTimers timers;
  base::SystemRandom random;
  identity::ApiKeys keys{client, timers, random, loop.get_executor(), {}};
  identity::Authenticator authenticator{keys, nullptr};
  Router router;
  std::string key;
};

async::Task<void> exec_many(Plane& plane, benchmark::State& state, bool& done) {
  for (auto _ : state) {
    http::Response response = co_await plane.router.handle(plane.exec_request());
    AT_ASSERT(response.status == 200);
  }
  done = true;
}

void ExecInProcess(benchmark::State& state) {
  Plane plane;
  bool done = false;
  boost::asio::co_spawn(plane.loop, exec_many(plane, state, done), boost::asio::detached);
  while (!done) plane.loop.run_one();
  // The informers end with the loop that they wait on.
  boost::asio::co_spawn(plane.loop, plane.router.close(), boost::asio::detached);
  plane.loop.poll();
}
BENCHMARK(ExecInProcess)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace agenttier::router
