#include "node/json_fields.h"

#include <boost/json/parse.hpp>

namespace agenttier::node {

namespace json = boost::json;

base::Result<json::object> parse_json_object(const std::string& text, std::string_view what) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object()) {
    return base::invalid(std::string(what) + ": is not a JSON object");
  }
  return std::move(value.as_object());
}

std::string text_field(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

std::int64_t number_field(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_int64() ? value->as_int64() : 0;
}

bool true_field(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->as_bool();
}

std::vector<std::string> texts_field(const json::object& object, std::string_view key) {
  std::vector<std::string> result;
  const json::array* array = array_field(object, key);
  if (array == nullptr) return result;
  for (const json::value& item : *array) {
    if (item.is_string()) result.emplace_back(item.as_string());
  }
  return result;
}

const json::object* object_field(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

const json::array* array_field(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_array() : nullptr;
}

json::array to_json_array(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

}  // namespace agenttier::node
