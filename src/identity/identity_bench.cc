// What it costs to know who is calling. The budget: 30 us per call in one process.

#include <benchmark/benchmark.h>

#include "identity/api_keys.h"
#include "identity/authenticator.h"
#include "kube/testing_store.h"

namespace agenttier::identity {
namespace {

enum class Secrets { kAsked, kFollowed };

void verify_key(benchmark::State& state, Secrets secrets) {
  kube::StoreFixture fixture;
  kube::Client client(*fixture.transport, {});
  ApiKeys keys(client, fixture.loop.timers(), fixture.loop.random(), fixture.loop.executor(), {});
  if (secrets == Secrets::kFollowed) fixture.loop.spawn(keys.run());
  Claims maker;
  maker.sub = "ada";
  const auto minted = fixture.loop.run(keys.mint(maker, {.name = "bench"}));
  fixture.loop.run_until_idle();
  Authenticator authenticator(keys, nullptr);
  const http::Headers headers{{"X-API-Key", minted->key}};
  for (auto _ : state) {
    auto claims = fixture.loop.run(authenticator.authenticate(headers));
    benchmark::DoNotOptimize(claims);
  }
  fixture.loop.close();
}

void BM_VerifyAsking(benchmark::State& state) {
  verify_key(state, Secrets::kAsked);
}
void BM_VerifyFollowing(benchmark::State& state) {
  verify_key(state, Secrets::kFollowed);
}
// What of it is the loop's own: spawning a task and running it.
void BM_EmptyTask(benchmark::State& state) {
  kube::TestLoop loop;
  for (auto _ : state) loop.run([]() -> async::Task<void> { co_return; }());
}
BENCHMARK(BM_VerifyAsking);
BENCHMARK(BM_VerifyFollowing);
BENCHMARK(BM_EmptyTask);

}  // namespace
}  // namespace agenttier::identity
