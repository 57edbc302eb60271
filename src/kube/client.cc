#include "kube/client.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "kube/status.h"
#include "kube/wire.h"

namespace agenttier::kube {
namespace {

constexpr std::uint64_t kResponseBytesMax = 64ULL * 1024 * 1024;
constexpr std::uint64_t kErrorBytesMax = 1024ULL * 1024;
constexpr int kListRestartsMax = 3;

std::string subject(std::string_view verb, const api::ResourceType& type, const ObjectKey& key) {
  std::string text = std::string(verb) + " " + std::string(type.plural);
  if (!key.text().empty()) text += " " + key.text();
  return text;
}

// Sends the request and gives the body of a good answer; a Status answer becomes its Error.
async::Task<base::Result<std::string>> call(http::Client& transport, http::Request request) {
  AT_CO_TRY(http::Response response, co_await transport.send(std::move(request)));
  const bool good = response.status >= 200 && response.status < 300;
  auto body = co_await response.body.read_all(good ? kResponseBytesMax : kErrorBytesMax);
  if (good) co_return body;
  const std::string text = body ? *std::move(body) : std::string();
  co_return error_from_response(response.status, response.headers, text);
}

async::Task<base::Result<json::object>> call_object(http::Client& transport, http::Request request,
                                                    std::string phrase) {
  auto body = co_await call(transport, std::move(request));
  if (!body) co_return std::move(body).error().context(phrase);
  auto object = parse_object(*body);
  if (!object) co_return std::move(object).error().context(phrase);
  co_return object;
}

ObjectKey key_of_object(const api::ResourceType& type, const json::object& object) {
  ObjectKey key{std::string(metadata_text(object, "namespace")),
                std::string(metadata_text(object, "name"))};
  if (!type.namespaced) key.ns.clear();
  return key;
}

base::Result<ObjectList> to_list(json::object page) {
  ObjectList list;
  list.resource_version = metadata_text(page, "resourceVersion");
  list.continue_token = metadata_text(page, "continue");
  json::value* items = page.if_contains("items");
  if (items == nullptr || items->is_null()) return list;
  if (!items->is_array()) return base::internal("the server's list has no items array");
  list.items.reserve(items->get_array().size());
  for (json::value& item : items->get_array()) {
    if (!item.is_object())
      return base::internal("the server's list holds an item that is no object");
    list.items.push_back(std::move(item.get_object()));
  }
  return list;
}

json::object delete_body(const DeleteOptions& options) {
  json::object preconditions;
  if (!options.uid.empty()) preconditions["uid"] = options.uid;
  if (!options.resource_version.empty())
    preconditions["resourceVersion"] = options.resource_version;
  json::object body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!preconditions.empty()) body["preconditions"] = std::move(preconditions);
  if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  switch (options.propagation) {
    case Propagation::kBackground:
      body["propagationPolicy"] = "Background";
      break;
    case Propagation::kForeground:
      body["propagationPolicy"] = "Foreground";
      break;
    case Propagation::kOrphan:
      body["propagationPolicy"] = "Orphan";
      break;
  }
  return body;
}

std::string patch_content_type(PatchType type) {
  switch (type) {
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategicMerge:
      return "application/strategic-merge-patch+json";
  }
  AT_ASSERT(false);
}

http::Request request_of(const ClientOptions& options, std::string method, std::string target) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.authority = options.authority;
  request.headers.set("Accept", "application/json");
  if (!options.bearer_token.empty()) {
    request.headers.set("Authorization", "Bearer " + options.bearer_token);
  }
  return request;
}

std::string write_query(const ClientOptions& options) {
  Query query;
  query.add("fieldManager", options.field_manager);
  return query.text();
}

void set_json(http::Request& request, const json::value& body, std::string content_type) {
  request.headers.set("Content-Type", std::move(content_type));
  request.body = json::serialize(body);
}

}  // namespace

Client::Client(http::Client& transport, ClientOptions options)
    : transport_(transport), options_(std::move(options)) {}

async::Task<base::Result<json::object>> Client::get(api::ResourceType type, ObjectKey key) {
  const std::string phrase = subject("get", type, key);
  auto target = object_path(type, key, Subresource::kNone);
  if (!target) co_return std::move(target).error().context(phrase);
  http::Request request = request_of(options_, "GET", *std::move(target));
  co_return co_await call_object(transport_, std::move(request), phrase);
}

async::Task<base::Result<ObjectList>> Client::list(api::ResourceType type, ListOptions options) {
  const std::string phrase = subject("list", type, {options.ns, ""});
  Query query;
  query.add("labelSelector", options.label_selector);
  query.add("fieldSelector", options.field_selector);
  if (options.limit > 0) query.add("limit", std::to_string(options.limit));
  query.add("continue", options.continue_token);
  auto path = collection_path(type, options.ns);
  if (!path) co_return std::move(path).error().context(phrase);
  http::Request request = request_of(options_, "GET", *path + query.text());
  AT_CO_TRY(json::object page, co_await call_object(transport_, std::move(request), phrase));
  auto list = to_list(std::move(page));
  if (!list) co_return std::move(list).error().context(phrase);
  co_return list;
}

async::Task<base::Result<ObjectList>> Client::list_all(api::ResourceType type,
                                                       ListOptions options) {
  // A list whose pages outlive the server's history starts again; a few times, then it is an error.
  for (int attempt = 0;; ++attempt) {
    ObjectList all;
    options.continue_token.clear();
    std::optional<base::Error> failure;
    do {
      auto page = co_await list(type, options);
      if (!page) {
        failure = std::move(page).error();
        break;
      }
      for (json::object& item : page->items) all.items.push_back(std::move(item));
      all.resource_version = std::move(page->resource_version);
      options.continue_token = std::move(page->continue_token);
    } while (!options.continue_token.empty());
    if (!failure) co_return all;
    if (!is_expired(*failure) || attempt >= kListRestartsMax) co_return *std::move(failure);
  }
}

async::Task<base::Result<json::object>> Client::create(api::ResourceType type,
                                                       json::object object) {
  const ObjectKey key = key_of_object(type, object);
  const std::string phrase = subject("create", type, key);
  if (type.namespaced && key.ns.empty()) {
    co_return base::invalid_field("metadata.namespace", "must name a namespace").context(phrase);
  }
  auto path = collection_path(type, key.ns);
  if (!path) co_return std::move(path).error().context(phrase);
  http::Request request = request_of(options_, "POST", *path + write_query(options_));
  stamp_type(type, object);
  set_json(request, json::value(std::move(object)), "application/json");
  co_return co_await call_object(transport_, std::move(request), phrase);
}

async::Task<base::Result<json::object>> Client::update(api::ResourceType type, json::object object,
                                                       Subresource subresource) {
  const ObjectKey key = key_of_object(type, object);
  const std::string phrase = subject("update", type, key);
  auto path = object_path(type, key, subresource);
  if (!path) co_return std::move(path).error().context(phrase);
  http::Request request = request_of(options_, "PUT", *path + write_query(options_));
  stamp_type(type, object);
  set_json(request, json::value(std::move(object)), "application/json");
  co_return co_await call_object(transport_, std::move(request), phrase);
}

async::Task<base::Result<json::object>> Client::patch(api::ResourceType type, ObjectKey key,
                                                      PatchType patch_type, json::value patch,
                                                      Subresource subresource) {
  const std::string phrase = subject("patch", type, key);
  auto path = object_path(type, key, subresource);
  if (!path) co_return std::move(path).error().context(phrase);
  http::Request request = request_of(options_, "PATCH", *path + write_query(options_));
  set_json(request, patch, patch_content_type(patch_type));
  co_return co_await call_object(transport_, std::move(request), phrase);
}

async::Task<base::Status> Client::remove(api::ResourceType type, ObjectKey key,
                                         DeleteOptions options) {
  const std::string phrase = subject("delete", type, key);
  auto path = object_path(type, key, Subresource::kNone);
  if (!path) co_return std::move(path).error().context(phrase);
  http::Request request = request_of(options_, "DELETE", *std::move(path));
  set_json(request, json::value(delete_body(options)), "application/json");
  auto body = co_await call(transport_, std::move(request));
  if (!body) co_return std::move(body).error().context(phrase);
  co_return base::Status();
}

async::Task<base::Status> Client::bind(ObjectKey pod, std::string node) {
  constexpr api::ResourceType kPods{"", "v1", "pods", "Pod", true};
  const std::string phrase = subject("bind", kPods, pod);
  auto path = object_path(kPods, pod, Subresource::kNone);
  if (!path) co_return std::move(path).error().context(phrase);
  http::Request request = request_of(options_, "POST", *path + "/binding" + write_query(options_));
  json::object target{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", std::move(node)}};
  json::object binding{{"apiVersion", "v1"}, {"kind", "Binding"}};
  binding["metadata"] = json::object{{"name", pod.name}, {"namespace", pod.ns}};
  binding["target"] = std::move(target);
  set_json(request, json::value(std::move(binding)), "application/json");
  auto body = co_await call(transport_, std::move(request));
  if (!body) co_return std::move(body).error().context(phrase);
  co_return base::Status();
}

async::Task<base::Result<std::unique_ptr<WatchStream>>> Client::watch(api::ResourceType type,
                                                                      WatchOptions options) {
  const std::string phrase = subject("watch", type, {options.ns, ""});
  Query query;
  query.add("watch", "true");
  query.add("allowWatchBookmarks", "true");
  query.add("labelSelector", options.label_selector);
  query.add("fieldSelector", options.field_selector);
  query.add("resourceVersion", options.resource_version);
  auto path = collection_path(type, options.ns);
  if (!path) co_return std::move(path).error().context(phrase);
  http::Request request = request_of(options_, "GET", *path + query.text());
  auto response = co_await transport_.send(std::move(request));
  if (!response) co_return std::move(response).error().context(phrase);
  if (response->status != 200) {
    auto body = co_await response->body.read_all(kErrorBytesMax);
    const std::string text = body ? *std::move(body) : std::string();
    co_return error_from_response(response->status, response->headers, text).context(phrase);
  }
  co_return make_watch_stream(response->body.into_reader(), phrase);
}

async::Task<base::Result<http::Body>> Client::logs(ObjectKey pod, LogOptions options) {
  constexpr api::ResourceType kPods{"", "v1", "pods", "Pod", true};
  const std::string phrase = subject("read the log of", kPods, pod);
  Query query;
  query.add("container", options.container);
  if (options.tail_lines) query.add("tailLines", std::to_string(*options.tail_lines));
  if (options.end == LogEnd::kFollow) query.add("follow", "true");
  auto path = object_path(kPods, pod, Subresource::kNone);
  if (!path) co_return std::move(path).error().context(phrase);
  http::Request request = request_of(options_, "GET", *path + "/log" + query.text());
  auto response = co_await transport_.send(std::move(request));
  if (!response) co_return std::move(response).error().context(phrase);
  if (response->status != 200) {
    auto body = co_await response->body.read_all(kErrorBytesMax);
    const std::string text = body ? *std::move(body) : std::string();
    co_return error_from_response(response->status, response->headers, text).context(phrase);
  }
  co_return std::move(response->body);
}

}  // namespace agenttier::kube
