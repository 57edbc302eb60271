#pragma once
// Objects as the rows of a meta.k8s.io/v1 Table, which is what kubectl prints.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/object_list.h"

namespace agenttier::store {

// Whether an Accept header prefers a Table.
bool wants_table(std::string_view accept);

// What a row carries of its object.
enum class IncludeObject : std::uint8_t { kMetadata, kWhole, kNone };
// A watch tells the columns with its first event alone.
enum class Columns : std::uint8_t { kTold, kLeftOut };

struct TableOptions {
  base::WallTime now;  // to which ages are relative
  IncludeObject include = IncludeObject::kMetadata;
  Columns columns = Columns::kTold;
};

// `version` and `continue_token` are those of the list.
std::string table_of(const Resource& resource, const ListPage& page, const TableOptions& options);
// The Table of one object.
std::string table_row_of(const StoredObject& object, const TableOptions& options);

// "45s", "3m12s", "5d2h": an age as people read it.
std::string format_age(std::chrono::seconds age);

}  // namespace agenttier::store
