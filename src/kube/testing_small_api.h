#pragma once
// A very small API server for the tests of this folder: config maps of one namespace, listed in
// pages and watched from a history that can be cut off, with answers that a test can spoil. What it
// cannot do, the embedded store can (testing_store.h).
//
// Example:
//   api.put("a", "1"); api.compact();     // a watch from before is told 410
//   api.push_line("nonsense\n");          // an event that is none

#include <boost/json/serialize.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "http/service.h"
#include "kube/client.h"

namespace agenttier::kube {

class SmallApi final : public http::Service {
 public:
  explicit SmallApi(async::Executor executor) : state_(std::make_shared<State>(executor)) {}

  void put(const std::string& name, const std::string& value) {
    const bool fresh = !state_->objects.contains(name);
    if (fresh) uids_[name] = "uid-" + std::to_string(++uid_last_);
    json::object object = make(name, value);
    state_->objects[name] = object;
    push(fresh ? "ADDED" : "MODIFIED", object);
  }
  void erase(const std::string& name) {
    json::object object = state_->objects.at(name);
    state_->objects.erase(name);
    object["metadata"].as_object()["resourceVersion"] = std::to_string(++state_->version);
    push("DELETED", object);
  }
  void bookmark() {
    const std::string version = std::to_string(++state_->version);
    push("BOOKMARK", {{"kind", "ConfigMap"}, {"metadata", {{"resourceVersion", version}}}});
  }
  void push_line(const std::string& line) {
    state_->history.emplace_back(state_->version, line);
    state_->grown.notify_all();
  }
  // Forgets the history: a watch from an older version is told 410.
  void compact() { state_->compacted = state_->version; }

  std::uint64_t version() const { return state_->version; }
  int lists() const { return lists_; }
  int watches() const { return watches_; }

  async::Task<http::Response> handle(http::Request request) override {
    auto target = http::parse_target(request.target);
    if (target->find("watch")) co_return watch(*target);
    co_return list(*target);
  }

 private:
  struct State {
    explicit State(async::Executor executor) : grown(std::move(executor)) {}
    async::Event grown;
    std::map<std::string, json::object> objects;
    std::vector<std::pair<std::uint64_t, std::string>> history;
    std::uint64_t version = 100;
    std::uint64_t compacted = 0;
  };

  class Feed final : public http::BodyReader {
   public:
    Feed(std::shared_ptr<State> state, std::uint64_t from) : state_(std::move(state)), from_(from) {
      while (next_ < state_->history.size() && state_->history[next_].first <= from_) ++next_;
    }
    async::Task<base::Result<std::string>> read() override {
      while (next_ >= state_->history.size()) {
        if (co_await state_->grown.wait() == async::Wake::kCancelled) {
          co_return base::cancelled("watch");
        }
      }
      co_return state_->history[next_++].second;
    }

   private:
    std::shared_ptr<State> state_;
    std::uint64_t from_;
    std::size_t next_ = 0;
  };

  json::object make(const std::string& name, const std::string& value) {
    const std::string version = std::to_string(++state_->version);
    return {{"metadata",
             {{"name", name},
              {"namespace", "default"},
              {"uid", uids_[name]},
              {"resourceVersion", version},
              {"labels", {{"colour", value}}},
              {"ownerReferences",
               {{{"apiVersion", "v1"}, {"kind", "X"}, {"name", "x"}, {"uid", "own-" + value}}}}}},
            {"data", {{"value", value}}}};
  }
  void push(const std::string& type, const json::object& object) {
    push_line(json::serialize(json::object{{"type", type}, {"object", object}}) + "\n");
  }

  http::Response watch(const http::Target& target) {
    ++watches_;
    const auto from = std::stoull(std::string(target.find("resourceVersion").value_or("0")));
    if (from < state_->compacted) {
      return http::json_response(410, R"({"kind":"Status","code":410,"reason":"Expired"})");
    }
    http::Response response;
    std::unique_ptr<http::BodyReader> feed = std::make_unique<Feed>(state_, from);
    response.body = http::Body(std::move(feed));
    return response;
  }

  http::Response list(const http::Target& target) {
    if (!target.find("continue")) ++lists_;
    const std::size_t limit = std::stoul(std::string(target.find("limit").value_or("500")));
    const std::string after(target.find("continue").value_or(""));
    json::array items;
    std::string next;
    for (auto it = state_->objects.upper_bound(after); it != state_->objects.end(); ++it) {
      if (items.size() == limit) {
        next = items.back().at("metadata").at("name").as_string();
        break;
      }
      items.push_back(it->second);
    }
    json::object metadata{{"resourceVersion", std::to_string(state_->version)}};
    if (!next.empty()) metadata["continue"] = next;
    return http::json_response(
        200, json::serialize(json::object{{"metadata", metadata}, {"items", items}}));
  }

  std::shared_ptr<State> state_;
  std::map<std::string, std::string> uids_;
  int uid_last_ = 0;
  int lists_ = 0;
  int watches_ = 0;
};

}  // namespace agenttier::kube
