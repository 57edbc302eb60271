// The client, the informer and the embedded store together.

#include <gtest/gtest.h>

#include <map>

#include "api/secret.h"
#include "kube/informer.h"
#include "kube/testing_store.h"
#include "kube/typed.h"

namespace agenttier::kube {
namespace {

using namespace std::chrono_literals;
using api::ConfigMap;

ConfigMap config_map(const std::string& name, const std::string& value) {
  ConfigMap map;
  map.metadata.ns = "default";
  map.metadata.name = name;
  map.data["value"] = value;
  return map;
}

struct Bench : StoreFixture {
  explicit Bench(store::StoreOptions store_options = {}, InformerOptions options = {})
      : StoreFixture(std::move(store_options)),
        informer(*client, loop.timers(), loop.random(), loop.executor(), std::move(options)) {}
  ~Bench() { loop.close(); }

  void start() {
    loop.spawn(informer.run());
    EXPECT_TRUE(loop.run_until([&] { return informer.synced(); }));
    loop.run_until_idle();
  }
  ConfigMap put(const std::string& name, const std::string& value) {
    Client direct(*transport, {});
    auto current = loop.run(get<ConfigMap>(direct, {"default", name}));
    if (!current) return *loop.run(create<ConfigMap>(direct, config_map(name, value)));
    current->data["value"] = value;
    return *loop.run(update<ConfigMap>(direct, *current));
  }
  void erase(const std::string& name) {
    Client direct(*transport, {});
    EXPECT_TRUE(loop.run(remove<ConfigMap>(direct, {"default", name})));
  }
  // What the server holds.
  std::map<std::string, std::string> truth() {
    Client direct(*transport, {});
    std::map<std::string, std::string> all;
    auto listed = loop.run(list_all<ConfigMap>(direct));
    for (const ConfigMap& map : listed->items) all[map.metadata.name] = map.data.at("value");
    return all;
  }
  std::map<std::string, std::string> cached() {
    std::map<std::string, std::string> all;
    for (const auto& map : informer.list()) all[map->metadata.name] = map->data.at("value");
    return all;
  }

  Informer<ConfigMap> informer;
};

TEST(KubeWithStore, VerbsGiveWhatWasWritten) {
  StoreFixture f;
  auto made = f.loop.run(create<ConfigMap>(*f.client, config_map("a", "1")));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->metadata.uid.empty());
  EXPECT_EQ(f.loop.run(create<ConfigMap>(*f.client, config_map("a", "1"))).error().code,
            base::ErrorCode::kExists);
  made->data["value"] = "2";
  auto updated = f.loop.run(update<ConfigMap>(*f.client, *made));
  ASSERT_TRUE(updated);
  EXPECT_EQ(f.loop.run(update<ConfigMap>(*f.client, *made)).error().code,
            base::ErrorCode::kConflict);
  auto patched = f.loop.run(patch<ConfigMap>(*f.client, {"default", "a"}, PatchType::kMerge,
                                             json::object{{"data", {{"more", "3"}}}}));
  ASSERT_TRUE(patched);
  EXPECT_EQ(patched->data.at("value"), "2");
  EXPECT_EQ(patched->data.at("more"), "3");
  DeleteOptions wrong;
  wrong.uid = "another";
  EXPECT_EQ(f.loop.run(remove<ConfigMap>(*f.client, {"default", "a"}, wrong)).error().code,
            base::ErrorCode::kConflict);
  EXPECT_TRUE(f.loop.run(remove<ConfigMap>(*f.client, {"default", "a"})));
  EXPECT_EQ(f.loop.run(get<ConfigMap>(*f.client, {"default", "a"})).error().code,
            base::ErrorCode::kNotFound);
}

TEST(KubeWithStore, ABadObjectNamesItsField) {
  StoreFixture f;
  const auto made = f.loop.run(create<ConfigMap>(*f.client, config_map("Bad_Name", "1")));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, base::ErrorCode::kInvalid);
  ASSERT_FALSE(made.error().causes.empty());
  EXPECT_EQ(made.error().causes[0].field, "metadata.name");
}

TEST(KubeWithStore, ListsInPages) {
  StoreFixture f;
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(f.loop.run(create<ConfigMap>(*f.client, config_map("m" + std::to_string(i), "v"))));
  }
  ListOptions options;
  options.limit = 3;
  const auto page = f.loop.run(list<ConfigMap>(*f.client, options));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.size(), 3U);
  EXPECT_FALSE(page->continue_token.empty());
  const auto all = f.loop.run(list_all<ConfigMap>(*f.client, options));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->items.size(), 7U);
}

TEST(KubeWithStore, TheInformerFollowsEveryWrite) {
  Bench bench;
  bench.put("a", "1");
  bench.start();
  const ConfigMap second = bench.put("a", "2");
  bench.put("b", "1");
  bench.erase("b");
  bench.loop.run_until_idle();
  EXPECT_TRUE(bench.informer.observed(second.metadata.resource_version));
  EXPECT_EQ(bench.cached(), bench.truth());
}

TEST(KubeWithStore, ItsOwnWriteIsObservedShortlyAfter) {
  Bench bench;
  bench.start();
  for (int i = 0; i < 20; ++i) {
    const ConfigMap written = bench.put("a", std::to_string(i));
    ASSERT_TRUE(
        bench.loop.run(bench.informer.wait_until_observed(written.metadata.resource_version, 5s)));
    EXPECT_EQ(bench.informer.find("default", "a")->data.at("value"), std::to_string(i));
  }
}

TEST(KubeWithStore, AWatchThatIsTooOldEndsInTheSameState) {
  Bench bench({.watch_events_max = 5});
  bench.put("stays", "1");
  bench.put("goes", "1");
  bench.start();
  bench.faulty->partition();
  bench.faulty->drop_watches();
  bench.loop.run_until_idle();
  for (int i = 0; i < 50; ++i) bench.put("m" + std::to_string(i % 8), std::to_string(i));
  bench.erase("goes");
  const auto lists = bench.informer.stats().lists;
  bench.faulty->heal();
  bench.loop.advance(60s, 500ms);
  EXPECT_GT(bench.informer.stats().lists, lists);
  EXPECT_EQ(bench.cached(), bench.truth());
}

// Goal: whatever is cut when, the cache and the sum of what handlers were told equal the server.
TEST(KubeWithStore, NoUpdateIsLostUnderRandomFaults) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Bench bench({.watch_events_max = 20}, {.page_size = 3});
    base::SeededRandom random(seed);
    std::map<std::string, std::string> told;
    bench.informer.add_handler([&](const auto& old, const auto& now) {
      const std::string& name = (now ? now : old)->metadata.name;
      EXPECT_EQ(told.contains(name), old != nullptr) << "seed " << seed;
      if (now) {
        told[name] = now->data.at("value");
      } else {
        told.erase(name);
      }
    });
    bench.start();
    std::map<std::string, int> present;
    for (int step = 0; step < 120; ++step) {
      const std::string name = "m" + std::to_string(random.number() % 10);
      switch (random.number() % 8) {
        case 0:
          bench.faulty->drop_watches();
          break;
        case 1:
          bench.faulty->fail_request(1 + random.number() % 3, FaultyClient::When::kBefore);
          break;
        case 2:
          bench.faulty->fail_request(1 + random.number() % 3, FaultyClient::When::kAfter);
          break;
        case 3:
          if (present.erase(name) > 0) bench.erase(name);
          break;
        case 4:
          bench.loop.advance(std::chrono::milliseconds(random.number() % 400));
          break;
        default:
          bench.put(name, std::to_string(step));
          present[name] = step;
      }
    }
    bench.loop.advance(120s, 500ms);
    EXPECT_EQ(bench.cached(), bench.truth()) << "seed " << seed;
    EXPECT_EQ(told, bench.truth()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace agenttier::kube
