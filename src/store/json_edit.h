#pragma once
// Small edits of JSON objects, of which the rules of kinds are made. Each does nothing where a
// member is missing or of another type: that is for validation to say.

#include <string_view>
#include <utility>

#include "store/json.h"

namespace agenttier::store {

inline void set_absent(json::object& object, std::string_view name, json::value value) {
  if (!object.contains(name)) object[name] = std::move(value);
}

// The member if it is an object.
inline json::object* find_member(json::object& object, std::string_view name) {
  json::value* member = object.if_contains(name);
  return member ? member->if_object() : nullptr;
}

// Visits the objects of a list.
template <class Visit>
void for_each_object(json::object& object, std::string_view list, Visit visit) {
  json::value* member = object.if_contains(list);
  if (!member || !member->is_array()) return;
  for (json::value& element : member->get_array()) {
    if (element.is_object()) visit(element.get_object());
  }
}

}  // namespace agenttier::store
