#pragma once
// The Store is a Kubernetes API server in the process: the kinds of resource.cc, kept in one SQLite
// database, reached through an http::Service without a socket.
//
// Guarantees: what is answered is durable; a crash at any time loses nothing answered. Reads and
// watches show durable states only, in order. Versions grow and are never given twice, across
// restarts too. Semantics are those of a kube-apiserver with its garbage collector: optimistic
// concurrency, generation, the status subresource, finalizers, owner references, patches,
// selectors, pages of one snapshot, watches with bookmarks, 410 Gone for what is forgotten. It does
// not authenticate: whoever holds api() may do everything.
//
// Loop thread only. close() before destruction, unless nothing was written.
//
// Example (store_test.cc):
//   AT_TRY(auto store, store::Store::open(executor, "/var/lib/agenttier/store", clock, random,
//   {})); http::InProcessClient transport(store->api()); kube::Client client(transport, {});
//   ...
//   co_await store->close();

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "http/service.h"
#include "store/commit_queue.h"

namespace agenttier::store {

struct StoreOptions {
  Threading threading = Threading::kWriterThread;
  // Made at open if they are missing.
  std::vector<std::string> namespaces{"default", "agenttier", "kube-system"};
  std::chrono::seconds event_time_max{3600};  // Event objects are removed after this
  std::size_t object_bytes_max = 1536 * 1024;
  std::size_t request_bytes_max = 3 * 1024 * 1024;
  std::size_t waiting_changes_max = 20000;
  // Per kind; what is older is 410 Gone for a watch or a continued list.
  std::size_t watch_events_max = 10000;
  std::size_t watch_bytes_max = 8 * 1024 * 1024;
  std::size_t watches_max = 1000;
  std::chrono::milliseconds bookmark_interval{60000};
};

class Store {
 public:
  // Reads everything; kConflict, kInternal or kUnavailable if the database is another program's,
  // newer, damaged or in use, with a message that says which file and what to do.
  static base::Result<std::unique_ptr<Store>> open(async::Executor executor, std::string directory,
                                                   const base::Clock& clock, base::Random& random,
                                                   StoreOptions options);
  ~Store();

  http::Service& api();
  // Refuses writes, ends watches, and waits until all that was accepted is durable.
  async::Task<void> close();

 private:
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace agenttier::store
