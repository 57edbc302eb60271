#include "store/object_list.h"

#include <boost/json/serialize.hpp>
#include <map>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "store/api_error.h"

namespace agenttier::store {
namespace {

constexpr std::size_t kContinueBytesMax = 2048;
constexpr std::size_t kInlineBytesMax = 4 * 1024 * 1024;  // larger lists are streamed
constexpr std::size_t kPieceBytes = 64 * 1024;

struct Position {
  std::uint64_t version = 0;
  std::string ns;
  std::string name;  // the last object that was shown
};

std::string format_token(const Position& position) {
  const json::object token{{"v", position.version}, {"ns", position.ns}, {"name", position.name}};
  return base::to_base64url(json::serialize(token));
}

base::Result<Position> parse_token(const std::string& token) {
  const auto bad = [] { return bad_request("continue key is not valid: list again without it"); };
  if (token.size() > kContinueBytesMax) return bad();
  const auto text = base::from_base64(token);
  if (!text) return bad();
  const auto value = parse_json(*text);
  if (!value || !value->is_object()) return bad();
  const json::object& fields = value->get_object();
  const json::value* version = fields.if_contains("v");
  if (!version || !version->is_int64() || version->get_int64() < 0) return bad();
  return Position{static_cast<std::uint64_t>(version->get_int64()),
                  std::string(find_text(fields, "ns")), std::string(find_text(fields, "name"))};
}

// The objects at an earlier version: what differs from now, by key; null if it was not there.
using Undo = std::map<KeyView, ObjectPtr>;

Undo undo_since(const WatchHistory& history, const Resource& resource, std::uint64_t version) {
  Undo undo;
  for (const Change* change : history.since(resource, version)) {
    undo.emplace(key_of(*change->after), change->before);
  }
  return undo;
}

// Visits the objects of both in order, those of `undo` in place of those of `set`.
template <class Visit>
void visit_merged(const ObjectSet& set, const Undo& undo, KeyView after, Visit visit) {
  auto present = set.upper_bound(after);
  auto past = undo.upper_bound(after);
  while (present != set.end() || past != undo.end()) {
    const bool use_past =
        past != undo.end() && (present == set.end() || past->first <= key_of(**present));
    if (!use_past) {
      if (!visit(*present++)) return;
      continue;
    }
    if (present != set.end() && key_of(**present) == past->first) ++present;
    const ObjectPtr& object = (past++)->second;
    if (object && !visit(object)) return;
  }
}

base::Result<Position> start_of(const WatchHistory& history, const ListQuery& query) {
  Position position{query.exact_version.value_or(history.version()), query.ns, ""};
  if (!query.continue_token.empty()) {
    AT_TRY(position, parse_token(query.continue_token));
    if (!query.ns.empty() && position.ns != query.ns) {
      return bad_request("continue key is not valid for namespace " + query.ns);
    }
  }
  if (position.version == history.version()) return position;
  if (history.reaches(*query.resource, position.version)) return position;
  return gone("the state of version " + std::to_string(position.version) +
              " is no longer known; list again from the start");
}

std::size_t bytes_of(const ListPage& page) {
  std::size_t bytes = 0;
  for (const ObjectPtr& item : page.items) bytes += item->text.size() + 1;
  return bytes;
}

class ListReader final : public http::BodyReader {
 public:
  ListReader(std::string head, std::vector<ObjectPtr> items)
      : head_(std::move(head)), items_(std::move(items)) {}

  async::Task<base::Result<std::string>> read() override {
    std::string piece = std::exchange(head_, {});
    while (next_ < items_.size() && piece.size() < kPieceBytes) {
      if (next_ > 0) piece += ',';
      piece += items_[next_]->text;
      items_[next_++].reset();
    }
    if (next_ == items_.size() && !std::exchange(ended_, true)) piece += "]}";
    co_return piece;
  }

 private:
  std::string head_;
  std::vector<ObjectPtr> items_;
  std::size_t next_ = 0;
  bool ended_ = false;
};

std::string list_head(const Resource& resource, const ListPage& page) {
  json::object metadata{{"resourceVersion", std::to_string(page.version)}};
  if (!page.continue_token.empty()) metadata["continue"] = page.continue_token;
  if (page.remaining > 0) metadata["remainingItemCount"] = page.remaining;
  return "{\"kind\":\"" + std::string(resource.type.kind) + "List\",\"apiVersion\":\"" +
         resource.api_version() + "\",\"metadata\":" + json::serialize(metadata) + ",\"items\":[";
}

}  // namespace

base::Result<ListPage> list_objects(const ObjectTable& table, const WatchHistory& history,
                                    const ListQuery& query) {
  AT_TRY(const Position start, start_of(history, query));
  Undo undo;
  if (start.version != history.version()) {
    undo = undo_since(history, *query.resource, start.version);
  }
  ListPage page{{}, start.version, ""};
  bool more = false;
  const bool counts = query.selector.selects_all();
  visit_merged(table.of(*query.resource), undo, {start.ns, start.name},
               [&](const ObjectPtr& object) {
                 if (!query.ns.empty() && object->ns != query.ns) return false;
                 if (object->written_at <= query.written_after || !query.selector.matches(*object))
                   return true;
                 more = query.limit > 0 && page.items.size() == query.limit;
                 if (!more) page.items.push_back(object);
                 if (more && counts) ++page.remaining;
                 return !more || counts;
               });
  if (more) {
    const StoredObject& last = *page.items.back();
    page.continue_token = format_token({start.version, last.ns, last.name});
  }
  return page;
}

std::string list_text(const Resource& resource, const ListPage& page) {
  std::string text = list_head(resource, page);
  text.reserve(text.size() + bytes_of(page) + 2);
  for (std::size_t i = 0; i < page.items.size(); ++i) {
    if (i > 0) text += ',';
    text += page.items[i]->text;
  }
  return text + "]}";
}

http::Body list_body(const Resource& resource, ListPage page) {
  if (bytes_of(page) <= kInlineBytesMax) return http::Body(list_text(resource, page));
  std::unique_ptr<http::BodyReader> reader =
      std::make_unique<ListReader>(list_head(resource, page), std::move(page.items));
  return http::Body(std::move(reader));
}

}  // namespace agenttier::store
