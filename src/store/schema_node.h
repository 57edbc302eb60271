#pragma once
// A Schema::Node is one level of a parsed schema. Only schema_*.cc use it.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "store/schema.h"

namespace agenttier::store {

enum class SchemaType : std::uint8_t {
  kAny,
  kObject,
  kArray,
  kString,
  kInteger,
  kNumber,
  kBoolean
};
enum class SchemaFormat : std::uint8_t {
  kNone,
  kInt32,
  kInt64,
  kDateTime,
  kDuration,
  kQuantity,
  kBytes
};

struct SchemaPattern {
  std::string text;
  std::regex expression;
};

struct Schema::Node {
  SchemaType type = SchemaType::kAny;
  SchemaFormat format = SchemaFormat::kNone;
  bool nullable = false;
  bool int_or_string = false;
  bool keeps_unknown = false;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> properties;
  std::unique_ptr<Node> additional;  // of a map's values
  std::unique_ptr<Node> items;
  std::vector<std::string> required;
  std::vector<std::string> list_keys;  // by which the elements of an array differ
  std::vector<json::value> allowed;
  std::optional<SchemaPattern> pattern;
  std::optional<double> minimum, maximum;
  std::optional<std::int64_t> length_min, length_max;
  std::optional<std::int64_t> items_min, items_max;
  std::optional<std::int64_t> properties_min, properties_max;
  std::optional<json::value> fallback;  // "default"

  const Node* find(std::string_view name) const {
    const auto found = properties.find(name);
    if (found != properties.end()) return found->second.get();
    return additional.get();
  }
};

}  // namespace agenttier::store
