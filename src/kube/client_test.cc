#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <functional>

#include "api/secret.h"
#include "http/in_process.h"
#include "kube/status.h"
#include "kube/testing.h"
#include "kube/typed.h"
#include "kube/wire.h"

namespace agenttier::kube {
namespace {

constexpr api::ResourceType kPods{"", "v1", "pods", "Pod", true};
constexpr api::ResourceType kNodes{"", "v1", "nodes", "Node", false};
constexpr api::ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

// Answers by a function and keeps the last request.
class ScriptedService final : public http::Service {
 public:
  using Answer = std::function<http::Response(const http::Request&)>;
  explicit ScriptedService(Answer answer) : answer_(std::move(answer)) {}
  async::Task<http::Response> handle(http::Request request) override {
    http::Response response = answer_(request);
    last = std::move(request);
    co_return response;
  }
  http::Request last;

 private:
  Answer answer_;
};

struct Fixture {
  explicit Fixture(ScriptedService::Answer answer, ClientOptions options = {})
      : service(std::move(answer)), transport(service), client(transport, std::move(options)) {}
  TestLoop loop;
  ScriptedService service;
  http::InProcessClient transport;
  Client client;
};

ScriptedService::Answer always(int status, std::string body) {
  return [=](const http::Request&) { return http::json_response(status, body); };
}

TEST(KubeClient, AddressesObjectsByGroupNamespaceAndName) {
  EXPECT_EQ(*object_path(kPods, {"default", "demo"}, Subresource::kNone),
            "/api/v1/namespaces/default/pods/demo");
  EXPECT_EQ(*object_path(kLeases, {"agenttier", "c"}, Subresource::kStatus),
            "/apis/coordination.k8s.io/v1/namespaces/agenttier/leases/c/status");
  EXPECT_EQ(*object_path(kNodes, {"", "n1"}, Subresource::kNone), "/api/v1/nodes/n1");
  EXPECT_EQ(*collection_path(kPods, ""), "/api/v1/pods");
}

TEST(KubeClient, NoNameLeavesItsPathSegment) {
  for (const char* name : {"", ".", "..", "a/b", "../secrets/x"}) {
    const auto path = object_path(kPods, {"default", name}, Subresource::kNone);
    ASSERT_FALSE(path) << name;
    EXPECT_EQ(path.error().code, base::ErrorCode::kInvalid);
  }
  EXPECT_FALSE(object_path(kPods, {"..", "x"}, Subresource::kNone));
  EXPECT_FALSE(object_path(kPods, {"", "x"}, Subresource::kNone));
  EXPECT_EQ(*object_path(kPods, {"default", "a?b=c"}, Subresource::kNone),
            "/api/v1/namespaces/default/pods/a%3Fb%3Dc");
}

TEST(KubeClient, GivesTheObjectItAskedFor) {
  Fixture f(always(200, R"({"kind":"Pod","metadata":{"name":"demo"}})"),
            {.authority = "api:443", .bearer_token = "secret", .field_manager = "test"});
  const auto pod = f.loop.run(f.client.get(kPods, {"default", "demo"}));
  ASSERT_TRUE(pod);
  EXPECT_EQ(metadata_text(*pod, "name"), "demo");
  EXPECT_EQ(f.service.last.authority, "api:443");
  EXPECT_EQ(f.service.last.headers.find("Authorization"), "Bearer secret");
}

struct StatusCase {
  int http;
  std::string reason;
  base::ErrorCode code;
};

TEST(KubeClient, MapsEveryStatusReasonToACode) {
  using base::ErrorCode;
  const StatusCase cases[] = {
      {404, "NotFound", ErrorCode::kNotFound},
      {409, "AlreadyExists", ErrorCode::kExists},
      {409, "Conflict", ErrorCode::kConflict},
      {422, "Invalid", ErrorCode::kInvalid},
      {400, "BadRequest", ErrorCode::kInvalid},
      {403, "Forbidden", ErrorCode::kDenied},
      {401, "Unauthorized", ErrorCode::kUnauthenticated},
      {429, "TooManyRequests", ErrorCode::kExhausted},
      {500, "ServerTimeout", ErrorCode::kUnavailable},
      {503, "ServiceUnavailable", ErrorCode::kUnavailable},
      {504, "Timeout", ErrorCode::kDeadline},
      {500, "InternalError", ErrorCode::kInternal},
      {405, "MethodNotAllowed", ErrorCode::kUnimplemented},
      {413, "RequestEntityTooLarge", ErrorCode::kInvalid},
  };
  for (const StatusCase& c : cases) {
    Fixture f(always(c.http, R"({"kind":"Status","message":"m","reason":")" + c.reason +
                                 R"(","code":)" + std::to_string(c.http) + "}"));
    const auto result = f.loop.run(f.client.get(kPods, {"default", "demo"}));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, c.code) << c.reason;
    EXPECT_EQ(result.error().message, "get pods default/demo: m");
  }
}

TEST(KubeClient, GoneIsNotFoundAndExpired) {
  Fixture f(always(410, R"({"kind":"Status","message":"too old","reason":"Expired","code":410})"));
  const auto list = f.loop.run(f.client.list(kPods, {}));
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(list.error().reason, "expired");
  EXPECT_TRUE(is_expired(list.error()));
}

TEST(KubeClient, CarriesCausesAndRetryTime) {
  Fixture f(always(422, R"({"kind":"Status","message":"bad","reason":"Invalid","code":422,
      "details":{"retryAfterSeconds":7,"causes":[{"field":"spec.x","message":"must be set"}]}})"));
  const auto made = f.loop.run(f.client.create(kNodes, {{"metadata", {{"name", "n"}}}}));
  ASSERT_FALSE(made);
  ASSERT_EQ(made.error().causes.size(), 1U);
  EXPECT_EQ(made.error().causes[0], (base::FieldCause{"spec.x", "must be set"}));
  EXPECT_EQ(made.error().retry_after, std::chrono::seconds(7));
}

TEST(KubeClient, TakesTheRetryTimeOfTheHeader) {
  Fixture f([](const http::Request&) {
    http::Response response = http::text_response(429, "slow down");
    response.headers.set("Retry-After", "2");
    return response;
  });
  const auto result = f.loop.run(f.client.get(kPods, {"default", "demo"}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::ErrorCode::kExhausted);
  EXPECT_EQ(result.error().retry_after, std::chrono::seconds(2));
  EXPECT_EQ(result.error().message, "get pods default/demo: the server answered 429: slow down");
}

TEST(KubeClient, AnAnswerThatIsNoJsonIsAnErrorNotACrash) {
  for (const char* body : {"", "<html>", "[1]", "{\"a\":"}) {
    Fixture f(always(200, body));
    const auto result = f.loop.run(f.client.get(kPods, {"default", "demo"}));
    ASSERT_FALSE(result) << body;
    EXPECT_EQ(result.error().code, base::ErrorCode::kInternal);
  }
}

TEST(KubeClient, CreatesInTheObjectsNamespaceAndNamesItsKind) {
  Fixture f(always(201, R"({"metadata":{"name":"a"}})"), {.field_manager = "agenttier-controller"});
  ASSERT_TRUE(
      f.loop.run(f.client.create(kLeases, {{"metadata", {{"name", "a"}, {"namespace", "ns"}}}})));
  EXPECT_EQ(f.service.last.method, "POST");
  EXPECT_EQ(f.service.last.target,
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases?fieldManager=agenttier-controller");
  const json::value body = json::parse(f.service.last.body.bytes());
  EXPECT_EQ(body.at("apiVersion"), "coordination.k8s.io/v1");
  EXPECT_EQ(body.at("kind"), "Lease");
}

TEST(KubeClient, DeletesWithItsPreconditions) {
  Fixture f(always(200, "{}"));
  DeleteOptions options;
  options.uid = "u1";
  options.resource_version = "7";
  options.propagation = Propagation::kForeground;
  options.grace_period_seconds = 0;
  ASSERT_TRUE(f.loop.run(f.client.remove(kPods, {"default", "demo"}, options)));
  EXPECT_EQ(f.service.last.method, "DELETE");
  const json::value body = json::parse(f.service.last.body.bytes());
  EXPECT_EQ(body.at("preconditions").at("uid"), "u1");
  EXPECT_EQ(body.at("preconditions").at("resourceVersion"), "7");
  EXPECT_EQ(body.at("propagationPolicy"), "Foreground");
  EXPECT_EQ(body.at("gracePeriodSeconds"), 0);
}

TEST(KubeClient, EachPatchTypeHasItsContentType) {
  Fixture f(always(200, "{}"));
  (void)f.loop.run(f.client.patch(kPods, {"default", "demo"}, PatchType::kMerge, json::object{}));
  EXPECT_EQ(f.service.last.headers.find("Content-Type"), "application/merge-patch+json");
  (void)f.loop.run(f.client.patch(kPods, {"default", "demo"}, PatchType::kJson, json::array{},
                                  Subresource::kStatus));
  EXPECT_EQ(f.service.last.headers.find("Content-Type"), "application/json-patch+json");
  EXPECT_TRUE(f.service.last.target.starts_with("/api/v1/namespaces/default/pods/demo/status"));
}

TEST(KubeClient, ListAllFollowsThePages) {
  Fixture f([](const http::Request& request) {
    const auto target = http::parse_target(request.target);
    const auto token = target->find("continue");
    EXPECT_EQ(target->find("labelSelector"), "a=b,c in (d,e)");
    if (!token) {
      return http::json_response(
          200,
          R"({"metadata":{"resourceVersion":"5","continue":"t/1"},"items":[{"a":1},{"a":2}]})");
    }
    EXPECT_EQ(token, "t/1");
    return http::json_response(200, R"({"metadata":{"resourceVersion":"5"},"items":[{"a":3}]})");
  });
  ListOptions options;
  options.label_selector = "a=b,c in (d,e)";
  const auto all = f.loop.run(f.client.list_all(kPods, options));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->items.size(), 3U);
  EXPECT_EQ(all->resource_version, "5");
}

TEST(KubeClient, ListAllStartsAgainWhenItsPagesExpire) {
  int calls = 0;
  Fixture f([&](const http::Request& request) {
    const bool later = request.target.find("continue=") != std::string::npos;
    if (later && ++calls == 1) {
      return http::json_response(410, R"({"kind":"Status","reason":"Expired","code":410})");
    }
    return http::json_response(
        200, later ? R"({"metadata":{"resourceVersion":"9"},"items":[{"a":2}]})"
                   : R"({"metadata":{"resourceVersion":"9","continue":"c"},"items":[{"a":1}]})");
  });
  const auto all = f.loop.run(f.client.list_all(kPods, {}));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->items.size(), 2U);
}

// Gives the pieces it was made with, as a network would cut them.
class Pieces final : public http::BodyReader {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  async::Task<base::Result<std::string>> read() override {
    if (next_ == pieces_.size()) co_return std::string();
    co_return pieces_[next_++];
  }

 private:
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
};

std::unique_ptr<WatchStream> stream_of(std::vector<std::string> pieces) {
  return make_watch_stream(std::make_unique<Pieces>(std::move(pieces)), "watch pods");
}

TEST(WatchStream, JoinsLinesWhereverTheyAreCut) {
  TestLoop loop;
  const std::string text =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
      "\r\n"
      "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\r\n"
      "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
    const auto stream = stream_of(std::move(pieces));
    EXPECT_EQ(loop.run(stream->next())->kind, WatchEvent::Kind::kAdded);
    const auto second = loop.run(stream->next());
    EXPECT_EQ(metadata_text(second->object, "name"), "b");
    EXPECT_EQ(loop.run(stream->next())->kind, WatchEvent::Kind::kBookmark);
    EXPECT_EQ(loop.run(stream->next()).error().code, base::ErrorCode::kUnavailable);
  }
}

TEST(WatchStream, AnErrorEventEndsItWithTheServersError) {
  TestLoop loop;
  const auto stream =
      stream_of({R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"old"}})"
                 "\n"});
  const auto event = loop.run(stream->next());
  ASSERT_FALSE(event);
  EXPECT_TRUE(is_expired(event.error()));
  EXPECT_EQ(event.error().message, "watch pods: old");
}

TEST(WatchStream, BrokenEventsAreErrors) {
  TestLoop loop;
  for (const char* line : {"nonsense\n", "[]\n", "{\"type\":1}\n", "{\"type\":\"ADDED\"}\n",
                           "{\"type\":\"NEW\",\"object\":{}}\n"}) {
    EXPECT_EQ(loop.run(stream_of({line})->next()).error().code, base::ErrorCode::kInternal) << line;
  }
}

TEST(WatchStream, RefusesALineWithoutEnd) {
  TestLoop loop;
  const std::string piece(1 << 20, 'x');
  const auto event = loop.run(stream_of(std::vector<std::string>(32, piece))->next());
  ASSERT_FALSE(event);
  EXPECT_NE(event.error().message.find("16 MiB"), std::string::npos);
}

TEST(Typed, GivesGeneratedTypes) {
  Fixture f(always(200, R"({"metadata":{"name":"c","namespace":"ns"},"data":{"k":"v"}})"));
  const auto map = f.loop.run(get<api::ConfigMap>(f.client, {"ns", "c"}));
  ASSERT_TRUE(map);
  EXPECT_EQ(map->data.at("k"), "v");
  EXPECT_EQ(key_of(*map), (ObjectKey{"ns", "c"}));
}

TEST(Typed, AnObjectThatCannotBeReadIsNotTheCallersFault) {
  Fixture f(always(200, R"({"metadata":{"name":"c"},"data":7})"));
  const auto map = f.loop.run(get<api::ConfigMap>(f.client, {"ns", "c"}));
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, base::ErrorCode::kInternal);
  EXPECT_TRUE(map.error().message.starts_with("read ConfigMap c: ")) << map.error().message;
}

TEST(FaultyClient, LosesTheRequestOrOnlyItsAnswer) {
  TestLoop loop;
  int executed = 0;
  ScriptedService service([&](const http::Request&) {
    ++executed;
    return http::json_response(200, "{}");
  });
  http::InProcessClient transport(service);
  FaultyClient faulty(transport, loop.executor());
  Client client(faulty, {});
  faulty.fail_request(1, FaultyClient::When::kBefore);
  faulty.fail_request(2, FaultyClient::When::kAfter);
  EXPECT_FALSE(loop.run(client.get(kPods, {"default", "demo"})));
  EXPECT_EQ(executed, 0);
  EXPECT_FALSE(loop.run(client.get(kPods, {"default", "demo"})));
  EXPECT_EQ(executed, 1);
  EXPECT_TRUE(loop.run(client.get(kPods, {"default", "demo"})));
}

}  // namespace
}  // namespace agenttier::kube
