#include "router/merge_patch.h"

#include <boost/json/value.hpp>
#include <utility>

namespace agenttier::router {

namespace json = boost::json;

json::object merge_patch_between(const json::object& before, const json::object& after) {
  json::object patch;
  for (const auto& [key, value] : after) {
    const json::value* old = before.if_contains(key);
    if (old != nullptr && *old == value) continue;
    if (old != nullptr && old->is_object() && value.is_object()) {
      patch.emplace(key, merge_patch_between(old->get_object(), value.get_object()));
    } else {
      patch.emplace(key, value);
    }
  }
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) patch.emplace(key, nullptr);
  }
  return patch;
}

}  // namespace agenttier::router
