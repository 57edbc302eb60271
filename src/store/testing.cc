#include "store/testing.h"

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <filesystem>

#include "store/metadata.h"

namespace agenttier::store {
namespace {

async::Task<void> send_into(http::Service& service, http::Request request, http::Response* out,
                            bool* done) {
  *out = co_await service.handle(std::move(request));
  *done = true;
}

async::Task<void> read_body(http::Response* response, Reply* out, bool* done) {
  auto bytes = co_await response->body.read_all(1ULL << 32U);
  out->text = bytes ? *std::move(bytes) : "broken: " + bytes.error().message;
  *done = true;
}

async::Task<void> read_piece(TestWatch* watch, bool* done) {
  auto piece = co_await watch->reader_->read();
  if (piece && !piece->empty()) watch->buffer_ += *piece;
  if (!piece || piece->empty()) watch->ended_ = true;
  *done = true;
}

async::Task<void> close_store(Store* store, bool* done) {
  co_await store->close();
  *done = true;
}

}  // namespace

json::value parse(std::string_view text) {
  return parse_json(text).value();
}

json::object Reply::object() const {
  auto value = parse_json(text);
  return value && value->is_object() ? value->get_object() : json::object();
}

std::string Reply::at(std::string_view path) const {
  const json::object value = object();
  const json::value* found = find_path(value, path);
  if (!found) return "";
  return found->is_string() ? std::string(view(found->get_string())) : json::serialize(*found);
}

std::vector<std::string> Reply::causes() const {
  std::vector<std::string> list;
  const json::object failure = object();
  const json::array* causes = find_array(failure, "details.causes");
  if (!causes) return list;
  for (const json::value& cause : *causes) {
    const json::object& fields = cause.get_object();
    list.push_back(std::string(find_text(fields, "field")) + ": " +
                   std::string(find_text(fields, "message")));
  }
  return list;
}

std::vector<std::string> Reply::item_names() const {
  std::vector<std::string> names;
  const json::object list = object();
  const json::array* items = find_array(list, "items");
  if (!items) return {"no items in " + text};
  for (const json::value& item : *items) {
    names.emplace_back(find_text(item.get_object(), "metadata.name"));
  }
  return names;
}

StoreTest::StoreTest() {
  std::string pattern = (std::filesystem::temp_directory_path() / "at_store_XXXXXX").string();
  directory_ = ::mkdtemp(pattern.data());
  open();
}

StoreTest::~StoreTest() {
  close();
  tasks_.cancel_all();
  run_until([this] { return tasks_.size() == 0; });
  std::filesystem::remove_all(directory_);
}

base::Status StoreTest::try_open(StoreOptions options) {
  auto opened = Store::open(loop_.get_executor(), directory_, clock_, random_, options);
  if (!opened) return std::move(opened).error();
  store_ = *std::move(opened);
  return {};
}

void StoreTest::open(StoreOptions options) {
  const auto opened = try_open(std::move(options));
  ASSERT_TRUE(opened) << opened.error().message;
}

void StoreTest::close() {
  if (!store_) return;
  bool done = false;
  ASSERT_TRUE(tasks_.spawn(close_store(store_.get(), &done)));
  ASSERT_TRUE(run_until([&] { return done; }));
  store_.reset();
}

void StoreTest::reopen(StoreOptions options) {
  close();
  open(std::move(options));
}

bool StoreTest::run_until(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    loop_.restart();
    loop_.run_one_for(std::chrono::milliseconds(20));
  }
  return true;
}

http::Request StoreTest::request(std::string method, std::string target, const json::value& body) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers.set("Content-Type", "application/json");
  if (!body.is_null()) request.body = http::Body(json::serialize(body));
  return request;
}

std::vector<Reply> StoreTest::send_together(std::vector<http::Request> requests) {
  const std::size_t count = requests.size();
  std::vector<http::Response> responses(count);
  std::vector<Reply> replies(count);
  const auto done = std::make_unique<bool[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(
        tasks_.spawn(send_into(store_->api(), std::move(requests[i]), &responses[i], &done[i])));
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(run_until([&] { return done[i]; }));
    replies[i].status = responses[i].status;
    replies[i].headers = responses[i].headers;
    bool read = false;
    EXPECT_TRUE(tasks_.spawn(read_body(&responses[i], &replies[i], &read)));
    EXPECT_TRUE(run_until([&] { return read; }));
  }
  return replies;
}

Reply StoreTest::send(http::Request request) {
  std::vector<http::Request> requests;
  requests.push_back(std::move(request));
  return std::move(send_together(std::move(requests)).front());
}

Reply StoreTest::send(std::string method, std::string target, std::string body, std::string type) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  if (!type.empty()) request.headers.set("Content-Type", std::move(type));
  request.body = http::Body(std::move(body));
  return send(std::move(request));
}

Reply StoreTest::post(std::string target, const json::value& body) {
  return send(request("POST", std::move(target), body));
}

Reply StoreTest::put(std::string target, const json::value& body) {
  return send(request("PUT", std::move(target), body));
}

Reply StoreTest::merge(std::string target, const json::value& patch) {
  return send("PATCH", std::move(target), json::serialize(patch), "application/merge-patch+json");
}

Reply StoreTest::json_patch(std::string target, const json::value& patch) {
  return send("PATCH", std::move(target), json::serialize(patch), "application/json-patch+json");
}

Reply StoreTest::strategic(std::string target, const json::value& patch) {
  return send("PATCH", std::move(target), json::serialize(patch),
              "application/strategic-merge-patch+json");
}

Reply StoreTest::remove(std::string target, const json::value& options) {
  return send(request("DELETE", std::move(target), options));
}

TestWatch StoreTest::watch(std::string target) {
  return watch(request("GET", std::move(target), nullptr));
}

TestWatch StoreTest::watch(http::Request request) {
  http::Response response;
  bool done = false;
  EXPECT_TRUE(tasks_.spawn(send_into(store_->api(), std::move(request), &response, &done)));
  EXPECT_TRUE(run_until([&] { return done; }));
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.body.is_stream());
  return TestWatch(response.body.into_reader());
}

json::object StoreTest::next_event(TestWatch& watch) {
  while (watch.buffer_.find('\n') == std::string::npos && !watch.ended_) {
    bool done = false;
    EXPECT_TRUE(tasks_.spawn(read_piece(&watch, &done)));
    if (!run_until([&] { return done; })) return {{"type", "none"}};
  }
  const std::size_t end = watch.buffer_.find('\n');
  if (end == std::string::npos) return {{"type", "end"}};
  json::object event = parse(std::string_view(watch.buffer_).substr(0, end)).as_object();
  watch.buffer_.erase(0, end + 1);
  return event;
}

std::string StoreTest::next(TestWatch& watch) {
  const json::object event = next_event(watch);
  std::string text(find_text(event, "type"));
  const std::string_view name = find_text(event, "object.metadata.name");
  return name.empty() ? text : text + " " + std::string(name);
}

json::object StoreTest::config_map(std::string_view name, json::object extra) {
  json::object object{{"metadata", json::object{{"name", name}}}};
  for (auto& member : extra) {
    if (member.key() == "metadata") {
      for (auto& field : member.value().as_object()) {
        object["metadata"].as_object()[field.key()] = field.value();
      }
    } else {
      object[member.key()] = member.value();
    }
  }
  return object;
}

json::object StoreTest::sandbox(std::string_view name, json::object spec) {
  return {{"apiVersion", "agenttier.io/v1alpha1"},
          {"kind", "Sandbox"},
          {"metadata", json::object{{"name", name}}},
          {"spec", std::move(spec)}};
}

json::object StoreTest::pod(std::string_view name, json::object spec) {
  if (!spec.contains("containers")) {
    spec["containers"] = json::array{json::object{{"name", "main"}, {"image", "busybox"}}};
  }
  return {{"metadata", json::object{{"name", name}}}, {"spec", std::move(spec)}};
}

}  // namespace agenttier::store
