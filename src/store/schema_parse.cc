#include <algorithm>
#include <array>
#include <utility>

#include "store/schema_node.h"

namespace agenttier::store {
namespace {

using Node = Schema::Node;

struct TypeName {
  std::string_view name;
  SchemaType type;
};
constexpr TypeName kTypes[] = {
    {"object", SchemaType::kObject}, {"array", SchemaType::kArray},
    {"string", SchemaType::kString}, {"integer", SchemaType::kInteger},
    {"number", SchemaType::kNumber}, {"boolean", SchemaType::kBoolean},
};

struct FormatName {
  std::string_view name;
  SchemaFormat format;
};
constexpr FormatName kFormats[] = {
    {"int32", SchemaFormat::kInt32},        {"int64", SchemaFormat::kInt64},
    {"date-time", SchemaFormat::kDateTime}, {"duration", SchemaFormat::kDuration},
    {"quantity", SchemaFormat::kQuantity},  {"byte", SchemaFormat::kBytes},
    {"double", SchemaFormat::kNone},        {"float", SchemaFormat::kNone},
};

constexpr std::string_view kWithoutEffect[] = {"description",
                                               "title",
                                               "example",
                                               "x-kubernetes-list-type",
                                               "x-kubernetes-map-type",
                                               "x-kubernetes-embedded-resource"};

class Parser {
 public:
  base::Result<std::unique_ptr<Node>> parse(const json::value& definition,
                                            const std::string& path) {
    const json::object* fields = definition.if_object();
    if (!fields) return fault(path, "a schema must be an object");
    auto node = std::make_unique<Node>();
    for (const auto& [key, value] : *fields) {
      auto read = read_word(*node, key, value, path);
      if (!read) return std::move(read).error();
    }
    return node;
  }

 private:
  static base::Error fault(const std::string& path, const std::string& what) {
    return base::internal("schema " + (path.empty() ? "(top)" : path) + ": " + what);
  }

  base::Status read_word(Node& node, std::string_view word, const json::value& value,
                         const std::string& path) {
    if (std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), word) !=
        std::end(kWithoutEffect)) {
      return {};
    }
    if (word == "type") return read_type(node, value, path);
    if (word == "format") return read_format(node, value, path);
    if (word == "properties") return read_properties(node, value, path);
    if (word == "items") return read_child(node.items, value, path + "[]");
    if (word == "additionalProperties") return read_additional(node, value, path);
    if (word == "required") return read_names(node.required, value, path);
    if (word == "x-kubernetes-list-map-keys") return read_names(node.list_keys, value, path);
    if (word == "pattern") return read_pattern(node, value, path);
    if (word == "default") {
      node.fallback = value;
      return {};
    }
    if (word == "enum" && value.is_array()) {
      node.allowed.assign(value.get_array().begin(), value.get_array().end());
      return {};
    }
    if (value.is_bool()) return read_flag(node, word, value.get_bool(), path);
    return read_limit(node, word, value, path);
  }

  static base::Status read_type(Node& node, const json::value& value, const std::string& path) {
    for (const TypeName& row : kTypes) {
      if (value == json::value(row.name)) {
        node.type = row.type;
        return {};
      }
    }
    return fault(path, "unknown type");
  }

  static base::Status read_format(Node& node, const json::value& value, const std::string& path) {
    for (const FormatName& row : kFormats) {
      if (value == json::value(row.name)) {
        node.format = row.format;
        return {};
      }
    }
    return fault(path, "unknown format");
  }

  base::Status read_child(std::unique_ptr<Node>& child, const json::value& value,
                          const std::string& path) {
    AT_TRY(child, parse(value, path));
    return {};
  }

  base::Status read_properties(Node& node, const json::value& value, const std::string& path) {
    if (!value.is_object()) return fault(path, "properties must be an object");
    for (const auto& [key, definition] : value.get_object()) {
      const std::string name(key);
      AT_OK(read_child(node.properties[name], definition, path.empty() ? name : path + "." + name));
    }
    return {};
  }

  base::Status read_additional(Node& node, const json::value& value, const std::string& path) {
    if (value == json::value(true)) {
      node.keeps_unknown = true;
      return {};
    }
    if (value == json::value(false)) return {};
    return read_child(node.additional, value, path + ".*");
  }

  static base::Status read_names(std::vector<std::string>& names, const json::value& value,
                                 const std::string& path) {
    if (!value.is_array()) return fault(path, "a list of names must be an array");
    for (const json::value& name : value.get_array()) {
      if (!name.is_string()) return fault(path, "a list of names must hold strings");
      names.emplace_back(view(name.get_string()));
    }
    return {};
  }

  static base::Status read_pattern(Node& node, const json::value& value, const std::string& path) {
    if (!value.is_string()) return fault(path, "pattern must be a string");
    const std::string text(view(value.get_string()));
    try {
      node.pattern = SchemaPattern{text, std::regex(text, std::regex::optimize)};
    } catch (const std::regex_error&) {
      return fault(path, "pattern is no regular expression: " + text);
    }
    return {};
  }

  static base::Status read_flag(Node& node, std::string_view word, bool value,
                                const std::string& path) {
    if (word == "nullable") {
      node.nullable = value;
    } else if (word == "x-kubernetes-int-or-string") {
      node.int_or_string = value;
    } else if (word == "x-kubernetes-preserve-unknown-fields") {
      node.keeps_unknown = value;
    } else {
      return fault(path, "unknown word " + std::string(word));
    }
    return {};
  }

  static base::Status read_limit(Node& node, std::string_view word, const json::value& value,
                                 const std::string& path) {
    if (!value.is_number()) return fault(path, "unknown word " + std::string(word));
    const double number = value.to_number<double>();
    if (word == "minimum") {
      node.minimum = number;
      return {};
    }
    if (word == "maximum") {
      node.maximum = number;
      return {};
    }
    const std::array<std::pair<std::string_view, std::optional<std::int64_t>*>, 6> counts{{
        {"minLength", &node.length_min},
        {"maxLength", &node.length_max},
        {"minItems", &node.items_min},
        {"maxItems", &node.items_max},
        {"minProperties", &node.properties_min},
        {"maxProperties", &node.properties_max},
    }};
    for (const auto& [name, limit] : counts) {
      if (name != word) continue;
      *limit = static_cast<std::int64_t>(number);
      return {};
    }
    return fault(path, "unknown word " + std::string(word));
  }
};

}  // namespace

Schema::Schema(std::unique_ptr<Node> root) : root_(std::move(root)) {}
Schema::Schema(Schema&&) noexcept = default;
Schema& Schema::operator=(Schema&&) noexcept = default;
Schema::~Schema() = default;

base::Result<Schema> Schema::parse(const json::value& definition) {
  AT_TRY(auto root, Parser().parse(definition, ""));
  return Schema(std::move(root));
}

}  // namespace agenttier::store
