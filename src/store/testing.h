#pragma once
// A fixture with a store in a directory of its own, and short words for requests to it.

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "base/clock.h"
#include "base/random.h"
#include "http/in_process.h"
#include "store/json.h"
#include "store/store.h"

namespace agenttier::store {

struct Reply {
  int status = 0;
  std::string text;
  http::Headers headers;

  json::object object() const;
  // The text or number at a path, as text.
  std::string at(std::string_view path) const;
  std::string version() const { return at("metadata.resourceVersion"); }
  // "fields: messages" of a Status' causes.
  std::vector<std::string> causes() const;
  std::vector<std::string> item_names() const;
};

// A watch that is read when asked.
class TestWatch {
 public:
  explicit TestWatch(std::unique_ptr<http::BodyReader> reader) : reader_(std::move(reader)) {}

  std::unique_ptr<http::BodyReader> reader_;
  std::string buffer_;
  bool ended_ = false;
};

class StoreTest : public testing::Test {
 protected:
  StoreTest();
  ~StoreTest() override;

  void open(StoreOptions options = {});
  base::Status try_open(StoreOptions options = {});
  void close();
  void reopen(StoreOptions options = {});

  Reply send(http::Request request);
  Reply send(std::string method, std::string target, std::string body, std::string type);
  Reply get(std::string target) { return send("GET", std::move(target), "", ""); }
  Reply post(std::string target, const json::value& body);
  Reply put(std::string target, const json::value& body);
  Reply merge(std::string target, const json::value& patch);
  Reply json_patch(std::string target, const json::value& patch);
  Reply strategic(std::string target, const json::value& patch);
  Reply remove(std::string target, const json::value& options = nullptr);
  // Starts all of them before the first can end.
  std::vector<Reply> send_together(std::vector<http::Request> requests);

  // The target must answer with a watch.
  TestWatch watch(std::string target);
  TestWatch watch(http::Request request);
  // The next event as "ADDED name"; "end" at the end, "none" if none is there now.
  std::string next(TestWatch& watch);
  json::object next_event(TestWatch& watch);

  bool run_until(const std::function<bool()>& done);

  static json::object config_map(std::string_view name, json::object extra = {});
  static json::object sandbox(std::string_view name, json::object spec = {});
  static json::object pod(std::string_view name, json::object spec = {});
  static http::Request request(std::string method, std::string target, const json::value& body);

  boost::asio::io_context loop_{1};
  std::string directory_;
  base::FakeClock clock_;
  base::SeededRandom random_{7};
  std::unique_ptr<Store> store_;
  async::TaskGroup tasks_{loop_.get_executor(), {.name = "test", .tasks_max = 10000}};
};

json::value parse(std::string_view text);

// The path of a collection; "/" gives that of an object in it.
struct Collection {
  const char* path;
  operator std::string() const { return path; }  // NOLINT: implicit
};
inline std::string operator/(Collection collection, std::string_view name) {
  return std::string(collection.path) + "/" + std::string(name);
}

inline constexpr Collection kMaps{"/api/v1/namespaces/default/configmaps"};
inline constexpr Collection kPods{"/api/v1/namespaces/default/pods"};
inline constexpr Collection kSecrets{"/api/v1/namespaces/default/secrets"};
inline constexpr Collection kSandboxes{"/apis/agenttier.io/v1alpha1/namespaces/default/sandboxes"};

}  // namespace agenttier::store
