#include "store/watch_reader.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "async/event.h"
#include "store/api_error.h"

namespace agenttier::store {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

void append_line(std::string& out, std::string_view type, std::string_view object) {
  out += R"({"type":")";
  out += type;
  out += R"(","object":)";
  out += object;
  out += "}\n";
}

class WatchReader final : public http::BodyReader {
 public:
  WatchReader(std::shared_ptr<WatchHistory> history, WatchPlan plan)
      : history_(std::move(history)), plan_(std::move(plan)), version_(plan_.from_version) {}

  async::Task<base::Result<std::string>> read() override {
    while (!ended_) {
      std::string piece;
      add_initial(piece);
      add_changes(piece);
      if (!piece.empty()) co_return piece;
      if (!ended_) co_await wait(piece);
      if (!piece.empty()) co_return piece;
    }
    co_return std::string();
  }

 private:
  void add_initial(std::string& piece) {
    while (sent_ < plan_.initial.size() && piece.size() < kPieceBytes) {
      add_event(piece, "ADDED", *plan_.initial[sent_]);
      plan_.initial[sent_].reset();
      ++sent_;
    }
    if (sent_ < plan_.initial.size() || !plan_.marks_initial_end) return;
    plan_.marks_initial_end = false;
    json::object marks{{"k8s.io/initial-events-end", "true"}};
    add_bookmark(piece, json::object{{"annotations", std::move(marks)}});
  }

  void add_changes(std::string& piece) {
    if (sent_ < plan_.initial.size()) return;
    if (!history_->reaches(*plan_.resource, version_)) {
      const auto error = gone("too old resource version: " + std::to_string(version_) +
                              "; list again and watch from that version");
      append_line(piece, "ERROR", json::serialize(status_object(error, {})));
      ended_ = true;
      return;
    }
    while (piece.size() < kPieceBytes) {
      const Change* change = history_->next(*plan_.resource, version_);
      if (!change) {
        version_ = history_->version();
        break;
      }
      version_ = change->after->version;
      add_change(piece, *change);
    }
    if (history_->closed()) ended_ = true;
  }

  void add_change(std::string& piece, const Change& change) const {
    if (!plan_.ns.empty() && change.after->ns != plan_.ns) return;
    const bool was = change.before && plan_.selector.matches(*change.before);
    const bool is = change.kind != ChangeKind::kDeleted && plan_.selector.matches(*change.after);
    if (is) {
      add_event(piece, was ? "MODIFIED" : "ADDED", *change.after);
    } else if (was && change.kind == ChangeKind::kDeleted) {
      add_event(piece, "DELETED", *change.after);
    } else if (was) {
      add_event(piece, "DELETED", *at_version(*change.before, change.after->version));
    }
  }

  void add_event(std::string& piece, std::string_view type, const StoredObject& object) const {
    append_line(piece, type, plan_.render ? plan_.render(object) : object.text);
  }

  void add_bookmark(std::string& piece, json::object metadata) const {
    metadata["resourceVersion"] = std::to_string(version_);
    metadata["creationTimestamp"] = nullptr;
    const json::object object{{"kind", plan_.resource->type.kind},
                              {"apiVersion", plan_.resource->api_version()},
                              {"metadata", std::move(metadata)}};
    append_line(piece, "BOOKMARK", json::serialize(object));
  }

  // Until something changed, a bookmark is due, or the time is over.
  async::Task<void> wait(std::string& piece) {
    const auto left = plan_.time_max - waited_;
    const bool bookmark_first = plan_.bookmarks && until_bookmark() < left;
    const auto limit = bookmark_first ? until_bookmark() : left;
    async::Event& changed = history_->changed(*plan_.resource);
    const auto start = plan_.clock->monotonic();
    const async::Wake wake = co_await changed.wait_for(limit);
    const auto spent =
        std::chrono::duration_cast<std::chrono::milliseconds>(plan_.clock->monotonic() - start);
    waited_ += wake == async::Wake::kTimeout ? limit : std::min(spent, limit);
    if (wake == async::Wake::kCancelled) ended_ = true;
    if (wake == async::Wake::kTimeout) on_time(piece);
  }

  void on_time(std::string& piece) {
    add_changes(piece);
    if (ended_) return;
    bookmarked_ = waited_;
    if (plan_.bookmarks && !history_->next(*plan_.resource, version_)) add_bookmark(piece, {});
    if (waited_ >= plan_.time_max) ended_ = true;
  }

  std::chrono::milliseconds until_bookmark() const {
    return plan_.bookmark_interval - std::min(waited_ - bookmarked_, plan_.bookmark_interval);
  }

  std::shared_ptr<WatchHistory> history_;
  WatchPlan plan_;
  std::uint64_t version_;  // everything up to this has been sent
  std::size_t sent_ = 0;   // of the initial objects
  std::chrono::milliseconds waited_{0};
  std::chrono::milliseconds bookmarked_{0};
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<http::BodyReader> make_watch_reader(std::shared_ptr<WatchHistory> history,
                                                    WatchPlan plan) {
  return std::make_unique<WatchReader>(std::move(history), std::move(plan));
}

}  // namespace agenttier::store
