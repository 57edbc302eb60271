#include "kube/informer_core.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "async/time_limit.h"
#include "kube/resource_version.h"
#include "kube/status.h"
#include "kube/wire.h"
#include "observe/log.h"

namespace agenttier::kube {
namespace {

// After so many watches in a row that brought nothing, the version itself is doubted.
constexpr int kFruitlessMax = 3;
// A watch that lived so long was good even if nothing happened.
constexpr auto kWatchLifeMin = std::chrono::seconds(5);

ObjectKey key_of_json(const json::object& object) {
  return {std::string(metadata_text(object, "namespace")),
          std::string(metadata_text(object, "name"))};
}

// Field ownership is bulky and of no use to a reader.
void strip(json::object& object) {
  json::value* metadata = object.if_contains("metadata");
  if (metadata != nullptr && metadata->is_object()) metadata->get_object().erase("managedFields");
}

}  // namespace

InformerCore::InformerCore(Client& client, async::Timers& timers, base::Random& random,
                           async::Executor executor, api::ResourceType type, Decode decode,
                           InformerOptions options)
    : client_(client),
      timers_(timers),
      random_(random),
      executor_(std::move(executor)),
      type_(type),
      decode_(std::move(decode)),
      options_(std::move(options)),
      changed_(executor_) {}

async::Task<void> InformerCore::run() {
  Backoff backoff(options_.backoff);
  bool listed = false;
  int fruitless = 0;
  while (!co_await async::is_cancelled()) {
    const std::uint64_t events_before = events_;
    const base::MonotonicTime started = timers_.clock().monotonic();
    base::Status status;
    if (listed) {
      status = co_await watch();
    } else {
      status = co_await list();
    }
    if (status) {  // of a list: a watch never ends well
      listed = true;
      continue;
    }
    if (co_await async::is_cancelled()) break;
    const bool lived = timers_.clock().monotonic() - started >= kWatchLifeMin;
    const bool fruitful = listed && (lived || events_ != events_before);
    fruitless = fruitful ? 0 : fruitless + 1;
    if (is_expired(status.error()) || fruitless > kFruitlessMax) listed = false;
    if (fruitful) {
      backoff.reset();
      continue;
    }
    report(status.error());
    co_await timers_.sleep_for(backoff.next(random_));
  }
}

void InformerCore::report(const base::Error& error) {
  observe::log_warning("informer retries", {{"kind", type_.kind}, {"error", error.message}});
}

// The whole list is read before anything is replaced: a list that fails half-way changes nothing.
async::Task<base::Status> InformerCore::list() {
  Fresh fresh;
  ListOptions page_options{.ns = options_.ns,
                           .label_selector = options_.label_selector,
                           .field_selector = options_.field_selector,
                           .limit = options_.page_size,
                           .continue_token = {}};
  std::string version;
  do {
    AT_CO_TRY(ObjectList page, co_await client_.list(type_, page_options));
    AT_CO_OK(collect(std::move(page.items), fresh));
    version = std::move(page.resource_version);
    page_options.continue_token = std::move(page.continue_token);
    // A large list in process would otherwise hold the loop from its first page to its last.
    co_await boost::asio::post(executor_, boost::asio::use_awaitable);
  } while (!page_options.continue_token.empty());
  version_ = std::move(version);
  ++stats_.lists;
  synced_ = true;
  replace(std::move(fresh));
  changed_.notify_all();
  co_return base::Status();
}

base::Status InformerCore::collect(std::vector<json::object> items, Fresh& fresh) {
  for (json::object& item : items) {
    const ObjectKey key = key_of_json(item);
    const CachedObject* known = cache_.find(key);
    const bool unchanged = known != nullptr &&
                           known->resource_version == metadata_text(item, "resourceVersion") &&
                           known->uid == metadata_text(item, "uid");
    if (unchanged) {
      fresh[key] = *known;
    } else if (auto decoded = decode(std::move(item))) {
      fresh[key] = *std::move(decoded);
    } else if (known != nullptr) {
      fresh[key] = *known;
    }
    if (fresh.size() > options_.objects_max) {
      return base::exhausted("more than " + std::to_string(options_.objects_max) + " " +
                             std::string(type_.plural) + ", which is the limit of the cache");
    }
  }
  return {};
}

void InformerCore::replace(Fresh fresh) {
  for (const ObjectKey& key : cache_.keys()) {
    if (!fresh.contains(key)) drop(key);
  }
  for (auto& [key, now] : fresh) store(key, std::move(now));
}

async::Task<base::Status> InformerCore::watch() {
  WatchOptions watch_options{.ns = options_.ns,
                             .label_selector = options_.label_selector,
                             .field_selector = options_.field_selector,
                             .resource_version = version_};
  AT_CO_TRY(auto stream, co_await client_.watch(type_, std::move(watch_options)));
  ++stats_.watches;
  auto ended =
      co_await async::run_until_alarm<base::Status>(consume(std::move(stream)), wait_quiet());
  if (ended) co_return *std::move(ended);
  co_return base::unavailable("the watch was quiet for too long");
}

async::Task<base::Status> InformerCore::consume(std::unique_ptr<WatchStream> stream) {
  for (;;) {
    AT_CO_TRY(WatchEvent event, co_await stream->next());
    ++events_;
    apply(std::move(event));
  }
}

async::Task<async::Wake> InformerCore::wait_quiet() {
  for (;;) {
    const std::uint64_t before = events_;
    const async::Wake wake = co_await timers_.sleep_for(options_.quiet_time_max);
    if (wake == async::Wake::kCancelled || events_ == before) co_return wake;
  }
}

void InformerCore::apply(WatchEvent event) {
  const ObjectKey key = key_of_json(event.object);
  std::string version(metadata_text(event.object, "resourceVersion"));
  if (event.kind == WatchEvent::Kind::kDeleted) {
    drop(key);
  } else if (event.kind != WatchEvent::Kind::kBookmark) {
    if (auto decoded = decode(std::move(event.object))) store(key, *std::move(decoded));
  }
  if (!version.empty()) version_ = std::move(version);
  changed_.notify_all();
}

base::Result<CachedObject> InformerCore::decode(json::object object) {
  CachedObject cached;
  cached.uid = metadata_text(object, "uid");
  cached.resource_version = metadata_text(object, "resourceVersion");
  cached.index_keys = index_keys_of(object, options_.index_labels);
  const std::string subject = key_of_json(object).text();
  strip(object);
  auto decoded = decode_(std::move(object));
  if (!decoded) {
    ++stats_.undecodable;
    observe::log_error(
        "object cannot be read",
        {{"kind", type_.kind}, {"object", subject}, {"error", decoded.error().message}});
    return std::move(decoded).error();
  }
  cached.object = *std::move(decoded);
  return cached;
}

void InformerCore::store(const ObjectKey& key, CachedObject now) {
  const CachedObject* known = cache_.find(key);
  if (known != nullptr && known->uid != now.uid) {
    drop(key);  // another object under the same name: the first one is gone
    known = nullptr;
  }
  if (known != nullptr && known->resource_version == now.resource_version) return;
  if (known == nullptr && cache_.size() >= options_.objects_max) {
    observe::log_error("cache is full", {{"kind", type_.kind}, {"object", key.text()}});
    return;
  }
  const AnyObject object = now.object;
  const AnyObject old = cache_.put(key, std::move(now));
  notify(key, old, object);
}

void InformerCore::drop(const ObjectKey& key) {
  const AnyObject old = cache_.erase(key);
  if (old) notify(key, old, nullptr);
}

// Handlers may add and remove handlers, so each step looks for the next one.
void InformerCore::notify(const ObjectKey& key, const AnyObject& old, const AnyObject& now) {
  for (auto it = handlers_.begin(); it != handlers_.end();) {
    const std::uint64_t id = it->first;
    const std::shared_ptr<const Handler> handler = it->second;
    (*handler)(old, now);
    it = handlers_.upper_bound(id);
  }
  const auto waiters = waiters_.find(key);
  if (waiters != waiters_.end()) waiters->second.event.notify_all();
}

std::uint64_t InformerCore::add_handler(Handler handler) {
  const std::uint64_t id = ++handler_last_;
  const auto shared = std::make_shared<const Handler>(std::move(handler));
  handlers_.emplace(id, shared);
  for (const AnyObject& object : cache_.list()) (*shared)(nullptr, object);
  return id;
}

void InformerCore::remove_handler(std::uint64_t id) {
  handlers_.erase(id);
}

async::Task<base::Status> InformerCore::wait_until_synced() {
  async::Wake wake = async::Wake::kNotified;
  if (co_await async::is_cancelled()) wake = async::Wake::kCancelled;
  while (!synced_) {
    if (wake != async::Wake::kCancelled) wake = co_await changed_.wait();
    if (wake == async::Wake::kCancelled) {
      co_return base::cancelled("wait for the first list of " + std::string(type_.plural));
    }
  }
  co_return base::Status();
}

bool InformerCore::observed(std::string_view resource_version) const {
  const auto order = compare_versions(version_, resource_version);
  return order == VersionOrder::kSame || order == VersionOrder::kNewer;
}

async::Task<base::Status> InformerCore::wait_observed(std::string resource_version) {
  while (!observed(resource_version)) {
    if (co_await changed_.wait() == async::Wake::kCancelled) {
      co_return base::cancelled("wait for version " + resource_version);
    }
  }
  co_return base::Status();
}

async::Task<base::Status> InformerCore::wait_until_observed(std::string resource_version,
                                                            std::chrono::nanoseconds limit) {
  if (observed(resource_version)) co_return base::Status();
  co_return co_await async::with_time_limit<void>(timers_, limit,
                                                  wait_observed(std::move(resource_version)));
}

async::Task<async::Wake> InformerCore::wait_change(ObjectKey key) {
  auto entry = waiters_.find(key);
  if (entry == waiters_.end()) {
    entry = waiters_.emplace(key, Waiters{async::Event(executor_)}).first;
  }
  Waiters& waiters = entry->second;  // stays while its count is not zero
  ++waiters.count;
  const async::Wake wake = co_await waiters.event.wait();
  if (--waiters.count == 0) waiters_.erase(key);
  co_return wake;
}

}  // namespace agenttier::kube
