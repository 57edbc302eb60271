#include "store/json.h"

#include <algorithm>
#include <boost/json/parser.hpp>

namespace agenttier::store {

base::Result<json::value> parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  json::parser parser({}, options);
  boost::system::error_code failure;
  const std::size_t used = parser.write_some(text.data(), text.size(), failure);
  const bool rest = text.find_first_not_of(" \t\r\n", used) != std::string_view::npos;
  if (!failure && !rest) return parser.release();
  const std::string what = failure ? failure.message() : "text after the end of the value";
  return base::invalid("invalid JSON at byte " + std::to_string(used) + ": " + what);
}

std::size_t json_depth(const json::value& value) {
  std::size_t below = 0;
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) below = std::max(below, json_depth(member.value()));
    return below + 1;
  }
  if (const json::array* array = value.if_array()) {
    for (const json::value& element : *array) below = std::max(below, json_depth(element));
    return below + 1;
  }
  return 0;
}

const json::value* find_path(const json::object& object, std::string_view path) {
  const json::object* current = &object;
  while (true) {
    const std::size_t dot = path.find('.');
    const json::value* found = current->if_contains(path.substr(0, dot));
    if (!found || dot == std::string_view::npos) return found;
    current = found->if_object();
    if (!current) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

const json::object* find_object(const json::object& object, std::string_view path) {
  const json::value* found = find_path(object, path);
  return found ? found->if_object() : nullptr;
}

const json::array* find_array(const json::object& object, std::string_view path) {
  const json::value* found = find_path(object, path);
  return found ? found->if_array() : nullptr;
}

std::string_view find_text(const json::object& object, std::string_view path) {
  const json::value* found = find_path(object, path);
  const json::string* text = found ? found->if_string() : nullptr;
  return text ? view(*text) : std::string_view();
}

json::object& object_at(json::object& object, std::string_view name) {
  json::value& member = object[name];
  if (!member.is_object()) member = json::object();
  return member.as_object();
}

}  // namespace agenttier::store
