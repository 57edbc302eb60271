#pragma once
// The embedded store in a directory of its own, with the loop and fake time of a test, and a client
// whose requests can be made to fail. Everything ends with it: derive the bench of a test from it,
// or declare it first.
//
// Example:
//   StoreFixture f;
//   auto made = f.loop.run(create<api::ConfigMap>(*f.client, config_map("a")));

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/assert.h"
#include "http/in_process.h"
#include "kube/client.h"
#include "kube/testing.h"
#include "store/store.h"

namespace agenttier::kube {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "agenttier-XXXXXX").string();
    AT_ASSERT(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Declare it first: it is closed last, after everything that speaks to it.
struct StoreFixture {
  explicit StoreFixture(store::StoreOptions options = {}) {
    options.threading = store::Threading::kInline;
    auto opened = store::Store::open(loop.executor(), directory.path() + "/store",
                                     loop.timers().clock(), loop.random(), std::move(options));
    AT_ASSERT(opened.has_value());
    store = *std::move(opened);
    transport = std::make_unique<http::InProcessClient>(store->api());
    faulty = std::make_unique<FaultyClient>(*transport, loop.executor());
    client = std::make_unique<Client>(*faulty, ClientOptions{.field_manager = "test"});
  }
  ~StoreFixture() {
    loop.close();
    loop.run(store->close());
  }

  TemporaryDirectory directory;
  TestLoop loop;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<http::InProcessClient> transport;
  std::unique_ptr<FaultyClient> faulty;
  std::unique_ptr<Client> client;
};

}  // namespace agenttier::kube
