#pragma once
// The schemas of our kinds, parsed once.

#include "store/resource.h"
#include "store/schema.h"

namespace agenttier::store {

// Null for kinds that have none.
const Schema* find_schema(const Resource& resource);

}  // namespace agenttier::store
