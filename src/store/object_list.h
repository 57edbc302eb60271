#pragma once
// Lists: one page of the objects of a kind, in order of namespace and name.
//
// All pages of one list show the state of its first page: later changes are undone by means of the
// history. When the history no longer reaches back, the continue token is answered with 410 Gone.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "store/object_table.h"
#include "store/selector.h"
#include "store/watch_history.h"

namespace agenttier::store {

struct ListQuery {
  const Resource* resource;
  std::string ns;  // empty: all
  Selector selector;
  std::size_t limit = 0;  // zero: all
  std::string continue_token;
  std::optional<std::uint64_t> exact_version;
  std::int64_t written_after = 0;  // older objects have expired
};

struct ListPage {
  std::vector<ObjectPtr> items;
  std::uint64_t version;
  std::string continue_token;  // empty on the last page
  std::size_t remaining = 0;   // after this page; counted for a list of all
};

base::Result<ListPage> list_objects(const ObjectTable& table, const WatchHistory& history,
                                    const ListQuery& query);

// As the JSON of a "PodList".
std::string list_text(const Resource& resource, const ListPage& page);
// The same as a body; a large one is streamed from the shared texts.
http::Body list_body(const Resource& resource, ListPage page);

}  // namespace agenttier::store
