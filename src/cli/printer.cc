#include "cli/printer.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/bytes.h"

namespace agenttier::cli {
namespace json = boost::json;
namespace {

constexpr int kYamlDepthMax = 64;

void append_json(std::string& out, const json::value& value, std::size_t indent) {
  const std::string pad(indent + 2, ' ');
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    out += "{\n";
    std::string_view comma;
    for (const auto& [key, item] : *object) {
      out += fmt::format("{}{}{}: ", comma, pad, json::serialize(json::string(key)));
      append_json(out, item, indent + 2);
      comma = ",\n";
    }
    out += "\n" + std::string(indent, ' ') + "}";
  } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    out += "[\n";
    std::string_view comma;
    for (const auto& item : *array) {
      out += fmt::format("{}{}", comma, pad);
      append_json(out, item, indent + 2);
      comma = ",\n";
    }
    out += "\n" + std::string(indent, ' ') + "]";
  } else {
    out += json::serialize(value);
  }
}

void emit(YAML::Emitter& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::object:
      out << YAML::BeginMap;
      for (const auto& [key, item] : value.as_object()) {
        out << YAML::Key << std::string(key) << YAML::Value;
        emit(out, item);
      }
      out << YAML::EndMap;
      break;
    case json::kind::array:
      out << YAML::BeginSeq;
      for (const auto& item : value.as_array()) emit(out, item);
      out << YAML::EndSeq;
      break;
    case json::kind::string: {
      const std::string text(value.as_string());
      // A string that YAML would read as something else must keep its quotes.
      static constexpr std::string_view kPlain =
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./ ";
      const bool wordlike = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos &&
                            std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                            text != "true" && text != "false" && text != "null" && text != "yes" &&
                            text != "no" && text != "on" && text != "off";
      if (!wordlike) out << YAML::DoubleQuoted;
      out << text;
      break;
    }
    case json::kind::bool_:
      out << value.as_bool();
      break;
    case json::kind::int64:
      out << value.as_int64();
      break;
    case json::kind::uint64:
      out << value.as_uint64();
      break;
    case json::kind::double_:
      out << value.as_double();
      break;
    case json::kind::null:
      out << YAML::Null;
      break;
  }
}

json::value scalar(const YAML::Node& node) {
  const std::string text = node.Scalar();
  if (node.Tag() == "!") return json::value(text);  // it was quoted
  if (text == "true" || text == "false") return json::value(text == "true");
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  if (auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end)
    return whole;
  double number = 0;
  if (auto read = std::from_chars(text.data(), end, number);
      read.ec == std::errc() && read.ptr == end)
    return number;
  return json::value(text);
}

base::Result<json::value> convert(const YAML::Node& node, int depth) {
  if (depth > kYamlDepthMax) return base::invalid("YAML is nested deeper than 64 levels");
  if (node.IsScalar()) return scalar(node);
  if (node.IsSequence()) {
    json::array array;
    for (const auto& item : node) {
      AT_TRY(json::value value, convert(item, depth + 1));
      array.push_back(std::move(value));
    }
    return json::value(std::move(array));
  }
  if (node.IsMap()) {
    json::object object;
    for (const auto& item : node) {
      if (!item.first.IsScalar()) return base::invalid("YAML: a key is not a word");
      AT_TRY(json::value value, convert(item.second, depth + 1));
      object[item.first.Scalar()] = std::move(value);
    }
    return json::value(std::move(object));
  }
  return json::value(nullptr);
}

// Columns of a terminal, roughly: one for each code point.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

base::Result<Format> parse_format(std::string_view text) {
  if (text.empty() || text == "text") return Format::kText;
  if (text == "json") return Format::kJson;
  if (text == "yaml") return Format::kYaml;
  return base::invalid_field("--output",
                             "'" + std::string(text) + "' is unknown; use text, json or yaml");
}

std::string visible(std::string_view text) {
  std::string out;
  for (char c : base::to_valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out;
}

std::string cell(const json::object& row, std::string_view key) {
  const auto dot = key.find('.');
  const json::value* value = row.if_contains(key.substr(0, dot));
  if (value == nullptr) return "-";
  if (dot != std::string_view::npos)
    return value->is_object() ? cell(value->as_object(), key.substr(dot + 1)) : "-";
  if (value->is_null()) return "-";
  if (const auto* text = value->if_string()) return text->empty() ? "-" : visible(*text);
  if (const auto* list = value->if_array()) {
    std::string joined;
    for (const auto& item : *list) {
      joined += (joined.empty() ? "" : ",") +
                (item.is_string() ? visible(item.as_string()) : json::serialize(item));
    }
    return joined.empty() ? "-" : joined;
  }
  return json::serialize(*value);
}

std::string format_table(const json::array& rows, const std::vector<Column>& columns) {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns) lines[0].emplace_back(column.heading);
  for (const auto& row : rows) {
    auto& line = lines.emplace_back();
    for (const Column& column : columns)
      line.push_back(row.is_object() ? cell(row.as_object(), column.key) : "-");
  }
  std::vector<std::size_t> widths(columns.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += line[i] + std::string(widths[i] - width(line[i]) + 2, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  if (rows.empty()) out += "(no results)\n";
  return out;
}

std::string format_json(const json::value& value) {
  std::string out;
  append_json(out, value, 0);
  return out + "\n";
}

std::string format_yaml(const json::value& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

base::Result<json::value> parse_yaml(const std::string& text) {
  try {
    return convert(YAML::Load(text), 0);
  } catch (const YAML::Exception& error) {
    return base::invalid(std::string("not YAML or JSON: ") + error.what());
  }
}

}  // namespace agenttier::cli
