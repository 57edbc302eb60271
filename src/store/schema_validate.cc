// Validation by a Schema, in Kubernetes' words.

#include <boost/json/serialize.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "api/quantity.h"
#include "base/bytes.h"
#include "base/time_format.h"
#include "store/schema_node.h"

namespace agenttier::store {
namespace {

using Node = Schema::Node;

constexpr std::size_t kShownMax = 200;            // bytes of a value in a message
constexpr std::size_t kPatternSubjectMax = 1024;  // longer texts match no pattern

std::string_view type_name(SchemaType type) {
  switch (type) {
    case SchemaType::kObject:
      return "object";
    case SchemaType::kArray:
      return "array";
    case SchemaType::kString:
      return "string";
    case SchemaType::kInteger:
      return "integer";
    case SchemaType::kNumber:
      return "number";
    case SchemaType::kBoolean:
      return "boolean";
    case SchemaType::kAny:
      return "any";
  }
  return "any";
}

std::string_view type_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::object:
      return "object";
    case json::kind::array:
      return "array";
    case json::kind::string:
      return "string";
    case json::kind::bool_:
      return "boolean";
    case json::kind::null:
      return "null";
    case json::kind::double_:
      return "number";
    default:
      return "integer";
  }
}

bool is_whole(const json::value& value) {
  if (value.is_int64() || value.is_uint64()) return true;
  return value.is_double() && std::floor(value.get_double()) == value.get_double() &&
         std::abs(value.get_double()) < 9.0e15;
}

bool has_type(SchemaType type, const json::value& value) {
  switch (type) {
    case SchemaType::kAny:
      return true;
    case SchemaType::kObject:
      return value.is_object();
    case SchemaType::kArray:
      return value.is_array();
    case SchemaType::kString:
      return value.is_string();
    case SchemaType::kBoolean:
      return value.is_bool();
    case SchemaType::kNumber:
      return value.is_number();
    case SchemaType::kInteger:
      return is_whole(value);
  }
  return false;
}

std::string shown(const json::value& value) {
  std::string text = json::serialize(value);
  if (text.size() > kShownMax) {
    text = base::to_valid_utf8(text.substr(0, kShownMax)) + "...";
  }
  return text;
}

// Characters, not bytes.
std::int64_t text_length(std::string_view text) {
  std::int64_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return count;
}

class Validator {
 public:
  std::vector<base::FieldCause> causes;

  void check_top(const Node& node, const json::object& object) {
    check_required(node, object, "");
    for (const auto& [key, value] : object) {
      if (key == "apiVersion" || key == "kind") continue;
      if (const Node* child = node.find(key)) check(*child, value, std::string(key));
    }
  }

 private:
  void add(const std::string& path, std::string message) {
    if (causes.size() < kCausesMax) causes.push_back({path, std::move(message)});
  }
  void add_invalid(const std::string& path, const json::value& value, const std::string& rule) {
    add(path, "Invalid value: " + shown(value) + ": " + path + " in body " + rule);
  }

  void check(const Node& node, const json::value& value, const std::string& path) {
    if (causes.size() >= kCausesMax) return;
    if (value.is_null() && node.nullable) return;
    if (!check_type(node, value, path)) return;
    check_allowed(node, value, path);
    if (value.is_string()) check_text(node, view(value.get_string()), value, path);
    if (value.is_number()) check_number(node, value, path);
    if (const json::object* object = value.if_object()) check_object(node, *object, path);
    if (const json::array* array = value.if_array()) check_array(node, *array, path);
  }

  bool check_type(const Node& node, const json::value& value, const std::string& path) {
    if (node.int_or_string) {
      if (value.is_string() || is_whole(value)) return true;
      add_invalid_type(path, value, "integer,string");
      return false;
    }
    if (has_type(node.type, value)) return true;
    add_invalid_type(path, value, type_name(node.type));
    return false;
  }

  void add_invalid_type(const std::string& path, const json::value& value,
                        std::string_view wanted) {
    const std::string found = "\"" + std::string(type_of(value)) + "\"";
    add(path, "Invalid value: " + found + ": " + path + " in body must be of type " +
                  std::string(wanted) + ": " + found);
  }

  void check_allowed(const Node& node, const json::value& value, const std::string& path) {
    if (node.allowed.empty()) return;
    std::string list;
    for (const json::value& allowed : node.allowed) {
      if (allowed == value) return;
      list += (list.empty() ? "" : ", ") + json::serialize(allowed);
    }
    add(path, "Unsupported value: " + shown(value) + ": supported values: " + list);
  }

  void check_text(const Node& node, std::string_view text, const json::value& value,
                  const std::string& path) {
    const std::int64_t length = text_length(text);
    if (node.length_max && length > *node.length_max) {
      add(path,
          "Too long: may not be more than " + std::to_string(*node.length_max) + " characters");
    }
    if (node.length_min && length < *node.length_min) {
      add_invalid(path, value,
                  "should be at least " + std::to_string(*node.length_min) + " chars long");
    }
    if (node.pattern && !matches(*node.pattern, text)) {
      add_invalid(path, value, "should match '" + node.pattern->text + "'");
    }
    check_format(node, text, value, path);
  }

  static bool matches(const SchemaPattern& pattern, std::string_view text) {
    return text.size() <= kPatternSubjectMax &&
           std::regex_search(text.begin(), text.end(), pattern.expression);
  }

  void check_format(const Node& node, std::string_view text, const json::value& value,
                    const std::string& path) {
    std::string_view rule;
    if (node.format == SchemaFormat::kDateTime && !base::parse_rfc3339(text)) {
      rule = "must be a date and time such as \"2026-07-22T16:29:45Z\"";
    } else if (node.format == SchemaFormat::kDuration && !base::parse_duration(text)) {
      rule = "must be a duration such as \"1h30m\"";
    } else if (node.format == SchemaFormat::kQuantity && !api::check_quantity(text)) {
      rule = "must be a quantity such as \"10Gi\" or \"500m\"";
    } else if (node.format == SchemaFormat::kBytes && !base::from_base64(text)) {
      rule = "must be base64";
    }
    if (!rule.empty()) add_invalid(path, value, std::string(rule));
  }

  void check_number(const Node& node, const json::value& value, const std::string& path) {
    const double number = value.to_number<double>();
    if (node.minimum && number < *node.minimum) {
      add_invalid(path, value, "should be greater than or equal to " + shown_limit(*node.minimum));
    }
    if (node.maximum && number > *node.maximum) {
      add_invalid(path, value, "should be less than or equal to " + shown_limit(*node.maximum));
    }
    const bool is_32 = node.format == SchemaFormat::kInt32;
    if (is_32 && (number < std::numeric_limits<std::int32_t>::min() ||
                  number > std::numeric_limits<std::int32_t>::max())) {
      add_invalid(path, value, "must fit a 32 bit integer");
    }
    if (node.format == SchemaFormat::kInt64 && value.is_uint64() &&
        value.get_uint64() > std::numeric_limits<std::int64_t>::max()) {
      add_invalid(path, value, "must fit a 64 bit integer");
    }
  }

  static std::string shown_limit(double limit) {
    const bool whole = std::floor(limit) == limit && std::abs(limit) < 9.0e15;
    return whole ? std::to_string(static_cast<std::int64_t>(limit)) : std::to_string(limit);
  }

  void check_required(const Node& node, const json::object& object, const std::string& path) {
    for (const std::string& name : node.required) {
      if (!object.contains(name)) add(path.empty() ? name : path + "." + name, "Required value");
    }
  }

  void check_object(const Node& node, const json::object& object, const std::string& path) {
    check_required(node, object, path);
    const auto count = static_cast<std::int64_t>(object.size());
    if (node.properties_max && count > *node.properties_max) {
      add(path, "Too many: " + std::to_string(count) + ": must have at most " +
                    std::to_string(*node.properties_max) + " properties");
    }
    if (node.properties_min && count < *node.properties_min) {
      add(path, "Invalid value: " + std::to_string(count) + ": " + path +
                    " in body should have at least " + std::to_string(*node.properties_min) +
                    " properties");
    }
    for (const auto& [key, value] : object) {
      if (const Node* child = node.find(key)) check(*child, value, path + "." + std::string(key));
    }
  }

  void check_array(const Node& node, const json::array& array, const std::string& path) {
    const auto count = static_cast<std::int64_t>(array.size());
    if (node.items_max && count > *node.items_max) {
      add(path, "Too many: " + std::to_string(count) + ": must have at most " +
                    std::to_string(*node.items_max) + " items");
    }
    if (node.items_min && count < *node.items_min) {
      add(path, "Invalid value: " + std::to_string(count) + ": " + path +
                    " in body should have at least " + std::to_string(*node.items_min) + " items");
    }
    if (!node.list_keys.empty()) check_unique(node, array, path);
    if (!node.items) return;
    for (std::size_t i = 0; i < array.size(); ++i) {
      check(*node.items, array[i], path + "[" + std::to_string(i) + "]");
    }
  }

  // Elements of a list of type "map" have different keys.
  void check_unique(const Node& node, const json::array& array, const std::string& path) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const json::object* element = array[i].if_object();
      if (!element) continue;
      json::object keys;
      for (const std::string& name : node.list_keys) {
        if (const json::value* value = element->if_contains(name)) keys[name] = *value;
      }
      if (!seen.insert(json::serialize(keys)).second) {
        add(path + "[" + std::to_string(i) + "]", "Duplicate value: " + shown(keys));
      }
    }
  }
};

}  // namespace

std::vector<base::FieldCause> Schema::validate(const json::object& object) const {
  Validator validator;
  validator.check_top(*root_, object);
  return std::move(validator.causes);
}

}  // namespace agenttier::store
