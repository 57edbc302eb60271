#include "store/store.h"

#include <utility>

#include "store/api_service.h"
#include "store/object_file.h"

namespace agenttier::store {

class Store::Impl {
 public:
  Impl(async::Executor executor, std::unique_ptr<ObjectFile> file, LoadedObjects loaded,
       const base::Clock& clock, base::Random& random, const StoreOptions& options)
      : file_(std::move(file)),
        history_(std::make_shared<WatchHistory>(
            executor, WatchLimits{options.watch_events_max, options.watch_bytes_max},
            loaded.version)),
        latest_(clock, random),
        remover_(latest_),
        writer_(latest_, remover_, options.object_bytes_max),
        queue_(executor, *file_, queue_options(options)),
        service_({clock, committed_, history_, latest_, remover_, writer_, queue_},
                 {options.request_bytes_max, options.watches_max, options.event_time_max,
                  options.bookmark_interval}) {
    for (const ObjectPtr& object : loaded.objects) committed_.put(object);
    latest_.reset(committed_, loaded.version, loaded.last_row);
  }

  // Durable before the store is used.
  base::Status make_namespaces(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (latest_.find(namespaces(), "", name)) continue;
      json::object body{{"metadata", json::object{{"name", name}}}};
      AT_OK(writer_.create({&namespaces(), "", ""}, std::move(body), {}));
    }
    const std::vector<Change> changes = latest_.take_changes();
    if (changes.empty()) return {};
    AT_OK(file_->commit(changes, latest_.version()));
    publish(changes);
    return {};
  }

  http::Service& service() { return service_; }

  async::Task<void> close() {
    co_await queue_.close();
    history_->close();
  }

 private:
  CommitQueue::Options queue_options(const StoreOptions& options) {
    return {options.threading, options.waiting_changes_max,
            [this](const std::vector<Change>& changes) { publish(changes); },
            [this](const base::Error& error) { forget_uncommitted(error); }};
  }

  void publish(const std::vector<Change>& changes) {
    for (const Change& change : changes) {
      committed_.apply(change);
      history_->append(change);
    }
    if (!changes.empty()) history_->publish(changes.back().after->version);
  }

  void forget_uncommitted(const base::Error& /*error*/) {
    latest_.reset(committed_, history_->version(), 0);
  }

  std::unique_ptr<ObjectFile> file_;
  ObjectTable committed_;
  std::shared_ptr<WatchHistory> history_;
  LatestState latest_;
  ObjectRemover remover_;
  ObjectWriter writer_;
  CommitQueue queue_;
  ApiService service_;
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

base::Result<std::unique_ptr<Store>> Store::open(async::Executor executor, std::string directory,
                                                 const base::Clock& clock, base::Random& random,
                                                 StoreOptions options) {
  AT_TRY(auto file, ObjectFile::open(directory));
  AT_TRY(auto loaded, file->load());
  auto impl = std::make_unique<Impl>(std::move(executor), std::move(file), std::move(loaded), clock,
                                     random, options);
  AT_OK(impl->make_namespaces(options.namespaces));
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

http::Service& Store::api() {
  return impl_->service();
}

async::Task<void> Store::close() {
  return impl_->close();
}

}  // namespace agenttier::store
