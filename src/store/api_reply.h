#pragma once
// Small texts that answers of the API are made of: the Status of a deletion, and warnings, which
// kubectl shows to its user.

#include <string>
#include <string_view>

#include "store/object.h"

namespace agenttier::store {

// The value of a Warning header. Parts of the text come from the client: they cannot end it.
std::string warning_of(std::string_view text);

// The Status that answers the deletion of an object.
std::string success_text(const StoredObject& object);

}  // namespace agenttier::store
