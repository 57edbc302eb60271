#pragma once
// The client of the Kubernetes API: verbs on objects, generic over kinds.
//
// It speaks through an http::Client, so the same code reaches the embedded store in process and a
// kube-apiserver over TLS. Objects travel as JSON; typed.h wraps these verbs for the generated
// types. Errors carry the server's Status: kNotFound, kExists, kConflict, kInvalid with causes,
// kDenied, kExhausted and kUnavailable with retry_after. A watch that is too old ends with
// kNotFound and the reason "expired" (410 Gone): list again.

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_type.h"
#include "async/task.h"
#include "base/result.h"
#include "http/service.h"

namespace agenttier::kube {

namespace json = boost::json;

struct ObjectKey {
  std::string ns;  // empty for cluster-scoped kinds
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
  std::string text() const { return ns.empty() ? name : ns + "/" + name; }
};

struct ListOptions {
  std::string ns;              // empty: all namespaces
  std::string label_selector;  // "a=b,c!=d,e in (f,g),!h"
  std::string field_selector;  // "metadata.name=x"
  std::uint32_t limit = 500;
  std::string continue_token;
};

struct ObjectList {
  std::vector<json::object> items;
  std::string resource_version;
  std::string continue_token;  // empty on the last page
};

struct WatchOptions {
  std::string ns;
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;  // the list's; events after it are sent
};

struct WatchEvent {
  enum class Kind : std::uint8_t { kAdded, kModified, kDeleted, kBookmark };
  Kind kind;
  json::object object;
};

class WatchStream {
 public:
  virtual ~WatchStream() = default;
  // The next event; an error ends the stream.
  virtual async::Task<base::Result<WatchEvent>> next() = 0;
};

enum class PatchType : std::uint8_t { kJson, kMerge, kStrategicMerge };
enum class Subresource : std::uint8_t { kNone, kStatus };
enum class Propagation : std::uint8_t { kBackground, kForeground, kOrphan };

struct DeleteOptions {
  std::string uid;               // precondition; kConflict if the object is another one
  std::string resource_version;  // precondition
  Propagation propagation = Propagation::kBackground;
  std::optional<std::int64_t> grace_period_seconds;
};

enum class LogEnd : std::uint8_t { kNow, kFollow };

struct LogOptions {
  std::string container;                   // empty: its only one
  std::optional<std::int64_t> tail_lines;  // absent: all that is kept
  LogEnd end = LogEnd::kNow;
};

struct ClientOptions {
  std::string authority;      // "host:port"; empty in process
  std::string bearer_token;   // empty in process
  std::string field_manager;  // who writes: "agenttier-controller"
};

class Client {
 public:
  // `transport` must outlive the client.
  Client(http::Client& transport, ClientOptions options);

  async::Task<base::Result<json::object>> get(api::ResourceType type, ObjectKey key);
  // One page. list_all follows the pages.
  async::Task<base::Result<ObjectList>> list(api::ResourceType type, ListOptions options);
  async::Task<base::Result<ObjectList>> list_all(api::ResourceType type, ListOptions options);
  // The namespace is the object's metadata.namespace; generateName is honoured.
  async::Task<base::Result<json::object>> create(api::ResourceType type, json::object object);
  // Fails with kConflict unless metadata.resourceVersion is current (when present).
  async::Task<base::Result<json::object>> update(api::ResourceType type, json::object object,
                                                 Subresource subresource = Subresource::kNone);
  async::Task<base::Result<json::object>> patch(api::ResourceType type, ObjectKey key,
                                                PatchType patch_type, json::value patch,
                                                Subresource subresource = Subresource::kNone);
  async::Task<base::Status> remove(api::ResourceType type, ObjectKey key,
                                   DeleteOptions options = {});
  // Assigns a pod that has no node yet; kConflict if it has one.
  async::Task<base::Status> bind(ObjectKey pod, std::string node);
  async::Task<base::Result<std::unique_ptr<WatchStream>>> watch(api::ResourceType type,
                                                                WatchOptions options);
  // What a container of the pod wrote, as it comes. kNotFound without such a pod or container.
  async::Task<base::Result<http::Body>> logs(ObjectKey pod, LogOptions options);

 private:
  http::Client& transport_;
  ClientOptions options_;
};

}  // namespace agenttier::kube
