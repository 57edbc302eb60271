#pragma once
// JSON of objects: reading by path, and parsing with limits.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agenttier::store {

namespace json = boost::json;

inline constexpr std::size_t kJsonDepthMax = 64;

// kInvalid with the place of the error.
base::Result<json::value> parse_json(std::string_view text);

// How deep objects and arrays are nested; a patch can nest deeper than its text.
std::size_t json_depth(const json::value& value);

inline std::string_view view(const json::string& text) {
  return {text.data(), text.size()};
}

// The value at "status.phase"; null if it or a part of its path is missing.
const json::value* find_path(const json::object& object, std::string_view path);
const json::object* find_object(const json::object& object, std::string_view path);
const json::array* find_array(const json::object& object, std::string_view path);
// Empty if missing or of another type.
std::string_view find_text(const json::object& object, std::string_view path);

// The member of that name, made an object if it is missing or is none.
json::object& object_at(json::object& object, std::string_view name);

}  // namespace agenttier::store
