#pragma once
// The reading and writing that the generated codecs are made of. Only they include this.
//
// An ObjectReader walks one JSON object: get() reads a field into a member and checks its Rule;
// end() reports keys that nobody asked for. Problems are collected, not thrown, with the path of
// the field ("spec.env[2].name"); the path is put together only when there is a problem. An
// ObjectWriter leaves out what is empty; always() writes it all the same.
//
// Example (what tools/gen.py writes):
//   void EnvVar::read(codec::ObjectReader& in, EnvVar& out) {
//     in.get("name", out.name, {.need = codec::Need::kRequired});
//     in.get("value", out.value);
//   }

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/decode.h"
#include "api/resource_type.h"
#include "base/result.h"

namespace agenttier::api::codec {

namespace json = boost::json;

enum class Need : std::uint8_t { kOptional, kRequired };

enum class Format : std::uint8_t {
  kNone,
  kInt32,
  kQuantity,          // also reads a number
  kDuration,          // Go syntax, not negative
  kPositiveDuration,  // Go syntax, more than zero
  kDateTime,          // RFC 3339
  kIntOrString,       // a number or a word, kept as text
  kBytes,             // base64
  kDnsLabel,
  kDnsSubdomain,
  kEnvName,
};

// What a field must keep to. Ranges are of the value of a number, the length of a string, and the
// number of entries of a list or map; `format` is also that of the entries.
struct Rule {
  Need need = Need::kOptional;
  Format format = Format::kNone;
  Format key_format = Format::kNone;
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::span<const std::string_view> one_of = {};
};

// A step on the way from the root to a field.
struct Place {
  const Place* parent = nullptr;
  std::string_view key;
  std::size_t index = 0;
  enum class Kind : std::uint8_t { kField, kIndex, kMapKey } kind = Kind::kField;
};

class Problems {
 public:
  static constexpr std::size_t kCausesMax = 20;

  Problems(std::string_view root, Decode mode) : root_(root), mode_(mode) {}
  void add(const Place* place, std::string message);
  bool any() const { return !causes_.empty(); }
  Decode mode() const { return mode_; }
  base::Error take_error() &&;

 private:
  std::string path_of(const Place* place) const;

  std::string_view root_;
  Decode mode_;
  std::vector<base::FieldCause> causes_;
};

struct Node {
  const json::value& value;
  const Place* place;
  Problems& problems;
};

class ObjectReader {
 public:
  explicit ObjectReader(const Node& node);
  ObjectReader(const json::object& object, const Place* place, Problems& problems)
      : object_(&object), place_(place), problems_(problems) {}

  bool is_object() const { return object_ != nullptr; }
  template <class T>
  void get(std::string_view key, T& out, const Rule& rule = {});
  // Reports apiVersion or kind that name another kind; both may be absent.
  void expect_kind(const ResourceType& type);
  // Reports keys that were not asked for, if strict.
  void end();

 private:
  const json::value* find(std::string_view key, const Rule& rule);
  void expect_text(std::string_view key, std::string_view wanted);

  const json::object* object_ = nullptr;
  const Place* place_;
  Problems& problems_;
  std::vector<std::string_view> known_;
};

template <class T>
concept Record = requires(ObjectReader& in, T& out) { T::read(in, out); };

void decode(const Node& node, const Rule& rule, std::string& out);
void decode(const Node& node, const Rule& rule, std::int64_t& out);
void decode(const Node& node, const Rule& rule, double& out);
void decode(const Node& node, const Rule& rule, bool& out);
void decode(const Node& node, const Rule& rule, json::value& out);

// The array or object of a node, or null after reporting the problem.
const json::array* expect_array(const Node& node, const Rule& rule);
const json::object* expect_map(const Node& node, const Rule& rule);
Rule entry_rule(const Rule& rule);

template <Record T>
void decode(const Node& node, const Rule&, T& out) {
  ObjectReader in(node);
  if (!in.is_object()) return;
  T::read(in, out);
  in.end();
}

template <class T>
void decode(const Node& node, const Rule& rule, std::vector<T>& out) {
  const json::array* array = expect_array(node, rule);
  if (array == nullptr) return;
  out.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    const Place place{node.place, {}, i, Place::Kind::kIndex};
    decode(Node{(*array)[i], &place, node.problems}, entry_rule(rule), out.emplace_back());
  }
}

template <class T>
void decode(const Node& node, const Rule& rule, std::map<std::string, T>& out) {
  const json::object* object = expect_map(node, rule);
  if (object == nullptr) return;
  for (const auto& entry : *object) {
    const Place place{node.place, entry.key(), 0, Place::Kind::kMapKey};
    decode(Node{entry.value(), &place, node.problems}, entry_rule(rule), out[entry.key()]);
  }
}

template <class T>
void decode(const Node& node, const Rule& rule, std::optional<T>& out) {
  if (node.value.is_null()) return;
  decode(node, rule, out.emplace());
}

template <class T>
void ObjectReader::get(std::string_view key, T& out, const Rule& rule) {
  const json::value* value = find(key, rule);
  if (value == nullptr) return;
  const Place place{place_, key, 0, Place::Kind::kField};
  decode(Node{*value, &place, problems_}, rule, out);
}

inline json::value encode(const std::string& value) {
  return json::value(value);
}
inline json::value encode(std::int64_t value) {
  return value;
}
inline json::value encode(double value) {
  return value;
}
inline json::value encode(bool value) {
  return value;
}
inline json::value encode(const json::value& value) {
  return value;
}
// Text of digits as a number, other text as it is.
json::value encode_int_or_string(const std::string& value);

template <Record T>
json::value encode(const T& value) {
  return value.to_json();
}

template <class T>
json::value encode(const std::optional<T>& value) {
  return value ? encode(*value) : json::value();
}

template <class T>
json::value encode(const std::vector<T>& values) {
  json::array array;
  array.reserve(values.size());
  for (const T& value : values) array.push_back(encode(value));
  return array;
}

template <class T>
json::value encode(const std::map<std::string, T>& values) {
  json::object object;
  object.reserve(values.size());
  for (const auto& [key, value] : values) object.emplace(key, encode(value));
  return object;
}

inline bool is_empty(const std::string& value) {
  return value.empty();
}
inline bool is_empty(std::int64_t value) {
  return value == 0;
}
inline bool is_empty(double value) {
  return value == 0;
}
inline bool is_empty(bool value) {
  return !value;
}
inline bool is_empty(const json::value& value) {
  return value.is_null();
}
template <class T>
bool is_empty(const std::vector<T>& values) {
  return values.empty();
}
template <class T>
bool is_empty(const std::map<std::string, T>& values) {
  return values.empty();
}

class ObjectWriter {
 public:
  template <class T>
  void always(std::string_view key, const T& value) {
    object_.emplace(key, encode(value));
  }
  template <class T>
  void put(std::string_view key, const T& value) {
    if (!is_empty(value)) always(key, value);
  }
  template <class T>
  void put(std::string_view key, const std::optional<T>& value) {
    if (value) always(key, *value);
  }
  void put_int_or_string(std::string_view key, const std::optional<std::string>& value) {
    if (value) object_.emplace(key, encode_int_or_string(*value));
  }
  // apiVersion and kind.
  void kind(const ResourceType& type);
  json::object take() && { return std::move(object_); }

 private:
  json::object object_;
};

template <Record T>
base::Result<T> read_root(const json::object& object, std::string_view path, Decode mode) {
  Problems problems(path, mode);
  ObjectReader in(object, nullptr, problems);
  T out;
  T::read(in, out);
  in.end();
  if (problems.any()) return std::move(problems).take_error();
  return out;
}

// kInvalid for a value that is no object.
base::Error not_an_object(const json::value& value, std::string_view path);

template <Record T>
base::Result<T> read_root(const json::value& value, std::string_view path, Decode mode) {
  if (!value.is_object()) return not_an_object(value, path);
  return read_root<T>(value.get_object(), path, mode);
}

}  // namespace agenttier::api::codec
