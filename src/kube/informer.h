#pragma once
// An Informer<T> keeps the objects of one kind in memory, kept current by a watch.
//
// Guarantees: after synced() the cache holds every matching object as of resource_version(); it
// follows the server's order; a cut watch is resumed where it ended; a watch that is too old leads
// to a new list, whose differences reach the handlers like events (an object replaced by another of
// the same name is reported as gone, then as new). Handlers are called on the loop, after the cache
// was changed, with (old, now): old is null for a new object, now is null for one that went away.
// They do not await; they put keys into a WorkQueue. An object that cannot be decoded never stops
// the watch.
//
// The cache lags behind the server. A task that has written and must not act on what was before
// asks observed(version of its write).
//
// The references given to the constructor outlive the informer, which outlives its running run().
//
// Example (kube/informer_test.cc):
//   Informer<api::Pod> pods(client, timers, random, executor, {.label_selector = "app=x"});
//   pods.add_handler([&](const auto& old, const auto& now) { queue.add(key_of(now ? *now : *old));
//   }); AT_CO_OK(group.spawn(pods.run())); AT_CO_OK(co_await pods.wait_until_synced()); if (auto
//   pod = pods.find("default", "demo")) use(*pod);

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/time_limit.h"
#include "kube/informer_core.h"

namespace agenttier::kube {

template <class T>
class Informer {
 public:
  using Pointer = std::shared_ptr<const T>;
  using Handler = std::function<void(const Pointer& old, const Pointer& now)>;
  using Condition = std::function<bool(const Pointer& now)>;

  Informer(Client& client, async::Timers& timers, base::Random& random, async::Executor executor,
           InformerOptions options = {})
      : core_(client, timers, random, std::move(executor), T::kType, &Informer::decode,
              std::move(options)) {}

  // Lists and watches until the task is cancelled.
  async::Task<void> run() { return core_.run(); }

  bool synced() const { return core_.synced(); }
  async::Task<base::Status> wait_until_synced() { return core_.wait_until_synced(); }

  Pointer find(std::string_view ns, std::string_view name) const {
    return find(ObjectKey{std::string(ns), std::string(name)});
  }
  Pointer find(const ObjectKey& key) const {
    const CachedObject* cached = core_.cache().find(key);
    return cached == nullptr ? nullptr : typed(cached->object);
  }
  std::vector<Pointer> list() const { return typed(core_.cache().list()); }
  std::vector<Pointer> list(std::string_view ns) const { return typed(core_.cache().list(ns)); }
  std::vector<Pointer> list_by_owner(std::string_view uid) const {
    return typed(core_.cache().list_indexed(owner_index_key(uid)));
  }
  // `label` is one of InformerOptions::index_labels.
  std::vector<Pointer> list_by_label(std::string_view label, std::string_view value) const {
    return typed(core_.cache().list_indexed(label_index_key(label, value)));
  }
  std::size_t size() const { return core_.cache().size(); }

  // Calls the handler at once for every object that is cached already. Gives an id to remove it by.
  std::uint64_t add_handler(Handler handler) {
    return core_.add_handler(
        [call = std::move(handler)](const AnyObject& old, const AnyObject& now) {
          call(typed(old), typed(now));
        });
  }
  void remove_handler(std::uint64_t id) { core_.remove_handler(id); }

  // Waits until the object (null: there is none) fulfils the condition; kDeadline after `limit`.
  async::Task<base::Result<Pointer>> wait_for(ObjectKey key, Condition condition,
                                              std::chrono::nanoseconds limit) {
    if (Pointer now = find(key); condition(now)) co_return now;
    co_return co_await async::with_time_limit<Pointer>(core_.timers(), limit,
                                                       wait_fulfilled(key, condition));
  }

  // Whether everything up to this version, for example that of an own write, is in the cache.
  bool observed(std::string_view resource_version) const {
    return core_.observed(resource_version);
  }
  async::Task<base::Status> wait_until_observed(std::string resource_version,
                                                std::chrono::nanoseconds limit) {
    return core_.wait_until_observed(std::move(resource_version), limit);
  }
  const std::string& resource_version() const { return core_.resource_version(); }
  const InformerStats& stats() const { return core_.stats(); }

 private:
  static Pointer typed(const AnyObject& object) {
    return std::static_pointer_cast<const T>(object);
  }

  static std::vector<Pointer> typed(std::vector<AnyObject> objects) {
    std::vector<Pointer> result;
    result.reserve(objects.size());
    for (AnyObject& object : objects) {
      result.push_back(std::static_pointer_cast<const T>(std::move(object)));
    }
    return result;
  }

  static base::Result<AnyObject> decode(json::object object) {
    AT_TRY(T decoded, T::from_json(object));
    return AnyObject(std::make_shared<const T>(std::move(decoded)));
  }

  async::Task<base::Result<Pointer>> wait_fulfilled(ObjectKey key, Condition condition) {
    for (;;) {
      if (Pointer now = find(key); condition(now)) co_return now;
      if (co_await core_.wait_change(key) == async::Wake::kCancelled) {
        co_return base::cancelled("wait for " + key.text());
      }
    }
  }

  InformerCore core_;
};

}  // namespace agenttier::kube
