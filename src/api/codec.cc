#include "api/codec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/quantity.h"
#include "api/validate.h"
#include "base/bytes.h"
#include "base/time_format.h"

#include <fmt/format.h>

namespace agenttier::api::codec {
namespace {

std::string_view kind_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
  }
  return "something else";
}

void wrong_type(const Node& node, std::string_view wanted) {
  node.problems.add(node.place, fmt::format("must be {}, not {}", wanted, kind_of(node.value)));
}

std::string joined(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

// Keeps a hostile value from filling the error.
std::string shown(std::string_view text) {
  constexpr std::size_t kShownMax = 80;
  if (text.size() <= kShownMax) return base::to_valid_utf8(text);
  return base::to_valid_utf8(text.substr(0, kShownMax)) + "...";
}

base::Status check_duration_text(std::string_view text, std::int64_t at_least) {
  AT_TRY(const auto duration, base::parse_duration(text));
  if (duration.count() < at_least) {
    return base::invalid(at_least > 0 ? "must be more than zero, for example 30m"
                                      : "must not be negative");
  }
  return {};
}

base::Status check_format(Format format, const std::string& text) {
  switch (format) {
    case Format::kQuantity:
      return check_quantity(text);
    case Format::kDuration:
      return check_duration_text(text, 0);
    case Format::kPositiveDuration:
      return check_duration_text(text, 1);
    case Format::kDnsLabel:
      return check_dns_label(text);
    case Format::kDnsSubdomain:
      return check_dns_subdomain(text);
    case Format::kEnvName:
      return check_env_name(text);
    case Format::kDateTime:
      if (auto time = base::parse_rfc3339(text); !time) return std::move(time).error();
      return {};
    case Format::kBytes:
      if (auto bytes = base::from_base64(text); !bytes) return std::move(bytes).error();
      return {};
    case Format::kNone:
    case Format::kInt32:
    case Format::kIntOrString:
      return {};
  }
  return {};
}

void check_text(const Node& node, const Rule& rule, const std::string& text) {
  if (node.problems.mode() != Decode::kStrict) return;
  const auto size = static_cast<std::int64_t>(text.size());
  if (size < rule.min) {
    node.problems.add(node.place, size == 0 ? "must not be empty"
                                            : fmt::format("must have at least {} bytes", rule.min));
    return;
  }
  if (size > rule.max) {
    node.problems.add(node.place,
                      fmt::format("must have at most {} bytes, has {}", rule.max, size));
    return;
  }
  if (!rule.one_of.empty() && std::ranges::find(rule.one_of, text) == rule.one_of.end()) {
    node.problems.add(node.place,
                      fmt::format("'{}' must be one of {}", shown(text), joined(rule.one_of)));
    return;
  }
  if (auto status = check_format(rule.format, text); !status) {
    node.problems.add(node.place, std::move(status).error().message);
  }
}

void check_count(const Node& node, const Rule& rule, std::size_t count) {
  if (node.problems.mode() != Decode::kStrict) return;
  const auto size = static_cast<std::int64_t>(count);
  if (size < rule.min) {
    node.problems.add(node.place, fmt::format("must have at least {} entries", rule.min));
  } else if (size > rule.max) {
    node.problems.add(node.place,
                      fmt::format("must have at most {} entries, has {}", rule.max, size));
  }
}

std::optional<std::int64_t> whole_number(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64()) return std::nullopt;  // beyond int64
  const double number = value.get_double();
  constexpr double kExactMax = 9007199254740992.0;  // 2^53
  if (std::floor(number) != number || std::abs(number) > kExactMax) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string number_text(const json::value& value) {
  if (value.is_int64()) return std::to_string(value.get_int64());
  if (value.is_uint64()) return std::to_string(value.get_uint64());
  return fmt::format("{}", value.get_double());
}

}  // namespace

void Problems::add(const Place* place, std::string message) {
  if (causes_.size() < kCausesMax) causes_.push_back({path_of(place), std::move(message)});
}

std::string Problems::path_of(const Place* place) const {
  std::vector<const Place*> steps;
  for (; place != nullptr; place = place->parent) steps.push_back(place);
  std::string path(root_);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    switch ((*step)->kind) {
      case Place::Kind::kField:
        if (!path.empty()) path += '.';
        path += (*step)->key;
        break;
      case Place::Kind::kIndex:
        path += fmt::format("[{}]", (*step)->index);
        break;
      case Place::Kind::kMapKey:
        path += fmt::format("[{}]", shown((*step)->key));
        break;
    }
  }
  return path;
}

base::Error Problems::take_error() && {
  std::string message;
  for (const base::FieldCause& cause : causes_) {
    if (!message.empty()) message += "; ";
    message += cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
  }
  base::Error error = base::invalid(std::move(message));
  error.causes = std::move(causes_);
  return error;
}

base::Error not_an_object(const json::value& value, std::string_view path) {
  std::string message = fmt::format("must be an object, not {}", kind_of(value));
  if (path.empty()) return base::invalid("the JSON " + message);
  return base::invalid_field(std::string(path), std::move(message));
}

ObjectReader::ObjectReader(const Node& node)
    : object_(node.value.if_object()), place_(node.place), problems_(node.problems) {
  if (object_ == nullptr) wrong_type(node, "an object");
}

const json::value* ObjectReader::find(std::string_view key, const Rule& rule) {
  if (problems_.mode() == Decode::kStrict) known_.push_back(key);
  const json::value* value = object_->if_contains(key);
  if (value != nullptr && !value->is_null()) return value;
  if (rule.need == Need::kRequired) {
    const Place place{place_, key, 0, Place::Kind::kField};
    problems_.add(&place, "is required");
  }
  return nullptr;
}

void ObjectReader::expect_text(std::string_view key, std::string_view wanted) {
  std::string text;
  get(key, text);
  if (text.empty() || text == wanted) return;
  const Place place{place_, key, 0, Place::Kind::kField};
  problems_.add(&place, fmt::format("must be {}, not '{}'", wanted, shown(text)));
}

void ObjectReader::expect_kind(const ResourceType& type) {
  expect_text("apiVersion", type.group.empty() ? std::string(type.version)
                                               : fmt::format("{}/{}", type.group, type.version));
  expect_text("kind", type.kind);
}

void ObjectReader::end() {
  if (problems_.mode() != Decode::kStrict) return;
  for (const auto& entry : *object_) {
    if (std::ranges::find(known_, std::string_view(entry.key())) != known_.end()) continue;
    const Place place{place_, entry.key(), 0, Place::Kind::kField};
    problems_.add(&place, fmt::format("is unknown; known here: {}", joined(known_)));
  }
}

Rule entry_rule(const Rule& rule) {
  return {.format = rule.format, .one_of = rule.one_of};
}

const json::array* expect_array(const Node& node, const Rule& rule) {
  const json::array* array = node.value.if_array();
  if (array == nullptr) {
    wrong_type(node, "a list");
  } else {
    check_count(node, rule, array->size());
  }
  return array;
}

const json::object* expect_map(const Node& node, const Rule& rule) {
  const json::object* object = node.value.if_object();
  if (object == nullptr) {
    wrong_type(node, "an object");
    return nullptr;
  }
  check_count(node, rule, object->size());
  if (node.problems.mode() == Decode::kStrict && rule.key_format != Format::kNone) {
    for (const auto& entry : *object) {
      const Place place{node.place, entry.key(), 0, Place::Kind::kMapKey};
      if (auto status = check_format(rule.key_format, std::string(entry.key())); !status) {
        node.problems.add(&place, std::move(status).error().message);
      }
    }
  }
  return object;
}

void decode(const Node& node, const Rule& rule, std::string& out) {
  if (node.value.is_string()) {
    out.assign(node.value.get_string().data(), node.value.get_string().size());
  } else if (node.value.is_number() &&
             (rule.format == Format::kQuantity || rule.format == Format::kIntOrString)) {
    out = number_text(node.value);
  } else {
    wrong_type(node, rule.format == Format::kQuantity ? "a quantity such as \"500m\" or \"1Gi\""
                     : rule.format == Format::kDuration || rule.format == Format::kPositiveDuration
                         ? "a duration such as \"30m\""
                         : "a string");
    return;
  }
  check_text(node, rule, out);
}

void decode(const Node& node, const Rule& rule, std::int64_t& out) {
  if (!node.value.is_number()) return wrong_type(node, "a whole number");
  const auto number = whole_number(node.value);
  if (!number) {
    node.problems.add(node.place, "must be a whole number of at most 64 bits");
    return;
  }
  out = *number;
  const bool narrow = rule.format == Format::kInt32;
  if (narrow && (out < std::numeric_limits<std::int32_t>::min() ||
                 out > std::numeric_limits<std::int32_t>::max())) {
    node.problems.add(node.place, "must fit in 32 bits");
  } else if (node.problems.mode() == Decode::kStrict && (out < rule.min || out > rule.max)) {
    constexpr auto kNoMax = std::numeric_limits<std::int64_t>::max();
    node.problems.add(node.place, rule.max == kNoMax
                                      ? fmt::format("must be at least {}", rule.min)
                                      : fmt::format("must be from {} to {}", rule.min, rule.max));
  }
}

void decode(const Node& node, const Rule&, double& out) {
  if (!node.value.is_number()) return wrong_type(node, "a number");
  out = node.value.to_number<double>();
}

void decode(const Node& node, const Rule&, bool& out) {
  if (!node.value.is_bool()) return wrong_type(node, "true or false");
  out = node.value.get_bool();
}

void decode(const Node& node, const Rule&, json::value& out) {
  out = node.value;
}

json::value encode_int_or_string(const std::string& value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return number;
  return json::value(value);
}

void ObjectWriter::kind(const ResourceType& type) {
  object_.emplace("apiVersion", type.group.empty()
                                    ? std::string(type.version)
                                    : fmt::format("{}/{}", type.group, type.version));
  object_.emplace("kind", type.kind);
}

}  // namespace agenttier::api::codec
