#pragma once
// What Informer<T> is made of, without the type: list, watch, resume, relist, cache, handlers.
// Use informer.h; this header is here so that the machinery is compiled once. Its guarantees are
// written there.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "async/timers.h"
#include "base/random.h"
#include "kube/backoff.h"
#include "kube/client.h"
#include "kube/object_cache.h"

namespace agenttier::kube {

struct InformerOptions {
  std::string ns;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  std::vector<std::string> index_labels;  // labels that list_by_label() looks up
  std::uint32_t page_size = 500;
  std::size_t objects_max = 200'000;  // more are not cached; the list then fails
  BackoffLimits backoff;
  // A watch that brings nothing for so long, not even a bookmark, is taken for dead and reopened.
  std::chrono::seconds quiet_time_max{150};
};

struct InformerStats {
  std::uint64_t lists = 0;        // complete lists taken
  std::uint64_t watches = 0;      // watches opened
  std::uint64_t undecodable = 0;  // objects the program could not read; the last good one is kept
};

class InformerCore {
 public:
  using Decode = std::function<base::Result<AnyObject>(json::object)>;
  using Handler = std::function<void(const AnyObject& old, const AnyObject& now)>;

  InformerCore(Client& client, async::Timers& timers, base::Random& random,
               async::Executor executor, api::ResourceType type, Decode decode,
               InformerOptions options);
  InformerCore(const InformerCore&) = delete;
  InformerCore& operator=(const InformerCore&) = delete;

  async::Task<void> run();
  bool synced() const { return synced_; }
  async::Task<base::Status> wait_until_synced();
  bool observed(std::string_view resource_version) const;
  async::Task<base::Status> wait_until_observed(std::string resource_version,
                                                std::chrono::nanoseconds limit);
  // Until the object of this key changes, appears or goes.
  async::Task<async::Wake> wait_change(ObjectKey key);

  std::uint64_t add_handler(Handler handler);
  void remove_handler(std::uint64_t id);

  const ObjectCache& cache() const { return cache_; }
  const std::string& resource_version() const { return version_; }
  const InformerStats& stats() const { return stats_; }
  async::Timers& timers() { return timers_; }

 private:
  using Fresh = std::map<ObjectKey, CachedObject>;
  struct Waiters {
    async::Event event;
    std::size_t count = 0;
  };

  async::Task<base::Status> list();
  async::Task<base::Status> watch();
  async::Task<base::Status> consume(std::unique_ptr<WatchStream> stream);
  async::Task<async::Wake> wait_quiet();
  async::Task<base::Status> wait_synced();
  async::Task<base::Status> wait_observed(std::string resource_version);
  base::Status collect(std::vector<json::object> items, Fresh& fresh);
  void replace(Fresh fresh);
  void apply(WatchEvent event);
  base::Result<CachedObject> decode(json::object object);
  void store(const ObjectKey& key, CachedObject now);
  void drop(const ObjectKey& key);
  void notify(const ObjectKey& key, const AnyObject& old, const AnyObject& now);
  void report(const base::Error& error);

  Client& client_;
  async::Timers& timers_;
  base::Random& random_;
  async::Executor executor_;
  const api::ResourceType type_;
  const Decode decode_;
  const InformerOptions options_;

  ObjectCache cache_;
  std::string version_;  // everything up to here is in the cache
  bool synced_ = false;
  std::uint64_t events_ = 0;  // received, bookmarks included
  InformerStats stats_;
  std::map<std::uint64_t, std::shared_ptr<const Handler>> handlers_;
  std::uint64_t handler_last_ = 0;
  std::map<ObjectKey, Waiters> waiters_;
  async::Event changed_;  // any of: synced, version, objects
};

}  // namespace agenttier::kube
