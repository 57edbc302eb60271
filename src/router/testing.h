#pragma once
// What the router's tests are made of: a runtime that is scripted by its commands, and a plane of
// store, identity and router in one process, where the test plays the controller.
//
// FakeRuntime speaks the runtime protocol (docs/runtime-protocol.md) from memory. Commands of exec,
// joined by ';': "out TEXT", "err TEXT", "exit N", "big N" (N bytes), "hang" (until the caller goes
// away), "cut" (ends without a status), "timeout".
//
// Example:
//   TestPlane plane;
//   plane.add_template("minimal");
//   plane.post("/sandboxes", alice, R"({"name":"demo","templateRef":{"name":"minimal"}})");
//   plane.set_running("demo");
//   plane.post("/sandboxes/demo/exec", alice, R"({"command":"out hi"})").text("stdout");

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "http/message.h"
#include "http/service.h"
#include "identity/api_keys.h"
#include "identity/authenticator.h"
#include "kube/testing_store.h"
#include "router/router.h"

namespace agenttier::router {

class FakeRuntime final : public http::Client {
 public:
  struct Seen {
    std::string method;
    std::string target;
    std::string authority;
    std::string body;
    http::Headers headers;
  };

  explicit FakeRuntime(async::Executor executor) : executor_(std::move(executor)) {}

  async::Task<base::Result<http::Response>> send(http::Request request) override;

  std::string token = "runtime-token";
  std::optional<base::Error> unreachable;    // instead of any answer
  std::optional<http::Response> next;        // the next answer, whatever is asked
  std::map<std::string, std::string> files;  // path → bytes
  std::vector<Seen> seen;
  int streams_open = 0;  // answers that hang and are still read

 private:
  http::Response answer(const Seen& request);
  http::Response exec(const Seen& request);
  http::Response file_call(const Seen& request, const http::Target& target);
  http::Response content(const Seen& request, const std::string& path);

  async::Executor executor_;
};

// What stands between the router and the store. It writes the same object itself before it lets a
// write of the router through, `writes` times, and answers the log of any pod.
class MeddlingClient final : public http::Client {
 public:
  explicit MeddlingClient(http::Client& transport) : transport_(transport) {}
  async::Task<base::Result<http::Response>> send(http::Request request) override;
  int writes = 0;
  std::string last_log_target;

 private:
  http::Client& transport_;
};

struct Reply {
  int status = 0;
  std::string body;
  http::Headers headers;

  boost::json::object json() const;
  // The member as text; "(none)" if it is not there.
  std::string text(std::string_view member) const;
  std::string error() const { return text("error"); }
  std::string code() const { return text("code"); }
};

class TestPlane : public kube::StoreFixture {
 public:
  TestPlane();
  ~TestPlane();

  // A new API key of a user ("alice"), or of an administrator ("root").
  std::string key_of(std::string_view user);
  std::string bound_key_of(std::string_view user, std::string_view sandbox,
                           std::vector<std::string> groups);

  // `path` is below /api/v1. The key may be empty.
  Reply call(std::string_view method, std::string_view path, std::string_view key,
             std::string body = {}, http::Headers headers = {});
  Reply get(std::string_view path, std::string_view key) { return call("GET", path, key); }
  Reply post(std::string_view path, std::string_view key, std::string body = {}) {
    return call("POST", path, key, std::move(body));
  }
  // The same with the target as it is.
  Reply call_target(std::string_view method, std::string_view target, std::string_view key,
                    std::string body = {}, http::Headers headers = {});

  void add_template(std::string_view name);
  // Creates it through the router as this caller; it is Creating afterwards.
  void create(std::string_view name, std::string_view key);
  // Starts a call whose reply comes later; in the group of its caller if one is given.
  void start_call(std::string_view method, std::string_view path, std::string_view key,
                  std::string body, std::optional<Reply>& reply,
                  async::TaskGroup* caller = nullptr);

  // What the controller would do.
  void set_status(std::string_view name, boost::json::object status);
  void set_phase(std::string_view name, std::string_view phase);
  void set_running(std::string_view name);  // with a pod's address, a disk and a token
  void finish_delete(std::string_view name);
  boost::json::object stored(std::string_view name);

  FakeRuntime runtime{loop.executor()};
  MeddlingClient meddler{*transport};
  Router& router() { return *router_; }

 private:
  void merge(std::string_view name, boost::json::value patch, kube::Subresource subresource);

  kube::Client router_client_{meddler, {}};
  identity::ApiKeys keys_{*client, loop.timers(), loop.random(), loop.executor(), {}};
  identity::Authenticator authenticator_{keys_, nullptr};
  std::unique_ptr<Router> router_;
};

}  // namespace agenttier::router
