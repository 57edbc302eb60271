// What one request costs in process: the budget of a write is 1 ms with its fsync, that of a get 30
// us, that of a list of 500 objects 5 ms.

#include <benchmark/benchmark.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "http/message.h"
#include "store/json.h"
#include "store/store.h"

namespace agenttier::store {
namespace {

constexpr const char* kSandboxes = "/apis/agenttier.io/v1alpha1/namespaces/default/sandboxes";

// A store in a directory of its own, with a loop.
class Bench {
 public:
  Bench() {
    std::string pattern = "/var/tmp/at_bench_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    store_ = Store::open(loop_.get_executor(), directory_, clock_, random_, {}).value();
  }
  ~Bench() {
    bool done = false;
    spawn(close(store_.get()), done);
    run(done);
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Sends all at once and returns when all are answered; the number of those without success.
  int send(std::vector<http::Request> requests) {
    int left = static_cast<int>(requests.size());
    int failed = 0;
    for (http::Request& request : requests) {
      boost::asio::co_spawn(loop_, answer(&store_->api(), std::move(request), &left, &failed),
                            boost::asio::detached);
    }
    loop_.restart();
    while (left > 0) loop_.run_one();
    return failed;
  }
  int send(http::Request request) {
    std::vector<http::Request> requests;
    requests.push_back(std::move(request));
    return send(std::move(requests));
  }

  http::Request create(int number) const {
    http::Request request;
    request.method = "POST";
    request.target = kSandboxes;
    request.body = http::Body(json::serialize(sandbox("s" + std::to_string(number))));
    return request;
  }
  static http::Request status_patch(int number, int round) {
    http::Request request;
    request.method = "PATCH";
    request.target = std::string(kSandboxes) + "/s" + std::to_string(number) + "/status";
    request.headers.set("Content-Type", "application/merge-patch+json");
    request.body = http::Body(R"({"status":{"phase":"Running","message":"round )" +
                              std::to_string(round) + "\"}}");
    return request;
  }
  static http::Request get(std::string target) {
    http::Request request;
    request.target = std::move(target);
    return request;
  }
  void fill(int count) {
    for (int done = 0; done < count; done += 500) {
      std::vector<http::Request> requests;
      for (int i = done; i < std::min(done + 500, count); ++i) requests.push_back(create(i));
      send(std::move(requests));
    }
  }

 private:
  static json::object sandbox(const std::string& name) {
    json::array env;
    for (int i = 0; i < 20; ++i) {
      env.push_back(json::object{{"name", "VARIABLE_" + std::to_string(i)},
                                 {"value", "a value of some length for this variable"}});
    }
    return {{"metadata",
             {{"name", name},
              {"labels", {{"agenttier.io/owner", "ann"}, {"agenttier.io/template", "minimal"}}}}},
            {"spec",
             {{"templateRef", {{"name", "minimal"}}},
              {"storage", {{"size", "10Gi"}, {"mountPath", "/workspace"}}},
              {"createdBy", {{"sub", "ann"}, {"email", "ann@example.com"}}},
              {"env", std::move(env)}}}};
  }
  static async::Task<void> answer(http::Service* service, http::Request request, int* left,
                                  int* failed) {
    http::Response response = co_await service->handle(std::move(request));
    if (response.status >= 300) ++*failed;
    --*left;
  }
  static async::Task<void> close(Store* store) { co_await store->close(); }
  void spawn(async::Task<void> task, bool& done) {
    boost::asio::co_spawn(loop_, std::move(task),
                          [&done](const std::exception_ptr&) { done = true; });
  }
  void run(bool& done) {
    loop_.restart();
    while (!done) loop_.run_one();
  }

  boost::asio::io_context loop_{1};
  base::RealClock clock_;
  base::SystemRandom random_;
  std::string directory_;
  std::unique_ptr<Store> store_;
};

void create_one(benchmark::State& state) {
  Bench bench;
  int number = 0;
  for (auto _ : state) {
    if (bench.send(bench.create(number++))) state.SkipWithError("a create failed");
  }
}
BENCHMARK(create_one)->UseRealTime()->Unit(benchmark::kMicrosecond);

void create_together(benchmark::State& state) {
  Bench bench;
  int number = 0;
  for (auto _ : state) {
    std::vector<http::Request> requests;
    for (int i = 0; i < state.range(0); ++i) requests.push_back(bench.create(number++));
    if (bench.send(std::move(requests))) state.SkipWithError("a create failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(create_together)->Arg(8)->Arg(100)->UseRealTime()->Unit(benchmark::kMicrosecond);

void patch_status(benchmark::State& state) {
  Bench bench;
  bench.fill(1);
  int round = 0;
  for (auto _ : state) {
    if (bench.send(Bench::status_patch(0, round++))) state.SkipWithError("a patch failed");
  }
}
BENCHMARK(patch_status)->UseRealTime()->Unit(benchmark::kMicrosecond);

void get_one(benchmark::State& state) {
  Bench bench;
  bench.fill(1000);
  const std::string target = std::string(kSandboxes) + "/s500";
  for (auto _ : state) bench.send(Bench::get(target));
}
BENCHMARK(get_one)->UseRealTime()->Unit(benchmark::kMicrosecond);

void list_page(benchmark::State& state) {
  Bench bench;
  bench.fill(2000);
  const std::string target = std::string(kSandboxes) + "?limit=500";
  for (auto _ : state) bench.send(Bench::get(target));
}
BENCHMARK(list_page)->UseRealTime()->Unit(benchmark::kMicrosecond);

void list_by_label(benchmark::State& state) {
  Bench bench;
  bench.fill(2000);
  const std::string target = std::string(kSandboxes) + "?labelSelector=agenttier.io%2Fowner%3Dbob";
  for (auto _ : state) bench.send(Bench::get(target));
}
BENCHMARK(list_by_label)->UseRealTime()->Unit(benchmark::kMicrosecond);

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

void memory_of_sandboxes(benchmark::State& state) {
  for (auto _ : state) {
    const std::int64_t before = resident_bytes();
    Bench bench;
    bench.fill(static_cast<int>(state.range(0)));
    state.counters["MiB"] = static_cast<double>(resident_bytes() - before) / (1024.0 * 1024.0);
  }
}
BENCHMARK(memory_of_sandboxes)->Arg(10000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace agenttier::store
