#pragma once
// Objects as the rows of a meta.k8s.io/v1 Table, which is what kubectl prints.

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/object_list.h"

namespace agenttier::store {

// Whether an Accept header prefers a Table.
bool wants_table(std::string_view accept);

// Ages are relative to `now`. `version` and `continue_token` are those of the list.
std::string table_of(const Resource& resource, const ListPage& page, base::WallTime now);
// The Table of one event of a watch.
std::string table_row_of(const StoredObject& object, base::WallTime now);

// "45s", "3m12s", "5d2h": an age as people read it.
std::string format_age(std::chrono::seconds age);

}  // namespace agenttier::store
