#include "api/spec_hash.h"

#include <sha2.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <vector>

#include "base/bytes.h"

namespace agenttier::api {
namespace {

namespace json = boost::json;

void append(std::string& out, const json::value& value);

void append(std::string& out, const json::object& object) {
  std::vector<const json::key_value_pair*> members;
  members.reserve(object.size());
  for (const auto& member : object) {
    if (!member.value().is_null()) members.push_back(&member);
  }
  std::ranges::sort(members, {},
                    [](const auto* member) { return std::string_view(member->key()); });
  out += '{';
  for (const auto* member : members) {
    if (out.back() != '{') out += ',';
    out += json::serialize(json::string_view(member->key()));
    out += ':';
    append(out, member->value());
  }
  out += '}';
}

void append(std::string& out, const json::array& array) {
  out += '[';
  for (const json::value& value : array) {
    if (&value != array.data()) out += ',';
    append(out, value);
  }
  out += ']';
}

void append_double(std::string& out, double number) {
  constexpr double kExactMax = 9007199254740992.0;  // 2^53
  if (std::floor(number) == number && std::abs(number) <= kExactMax) {
    out += std::to_string(static_cast<std::int64_t>(number));
  } else {
    out += json::serialize(json::value(number));
  }
}

void append(std::string& out, const json::value& value) {
  if (const json::object* object = value.if_object()) return append(out, *object);
  if (const json::array* array = value.if_array()) return append(out, *array);
  if (value.is_double()) return append_double(out, value.get_double());
  out += json::serialize(value);
}

}  // namespace

std::string canonical_json(const json::value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string spec_hash(const json::value& value) {
  return sha256_hex(canonical_json(value));
}

std::string sha256_hex(std::string_view bytes) {
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  SHA256Final(digest.data(), &context);
  return base::to_hex(digest);
}

}  // namespace agenttier::api
