#pragma once
// Label selectors: the text form of queries ("a=b,c!=d,e in (f,g),!h") and the object form in
// specs.
//
// Both mean what Kubernetes means by them: an empty selector matches everything; "!=" and "notin"
// also match objects without the label. What is not understood is an error, never "everything":
// matches() of an object with an unknown operator is false.
//
// Example:
//   AT_TRY(const LabelQuery query, parse_label_query("team=red,tier in (web,db)"));
//   if (query.matches(sandbox.metadata.labels)) ...

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/object_meta.h"
#include "base/result.h"

namespace agenttier::api {

using Labels = std::map<std::string, std::string>;

inline constexpr std::size_t kLabelQueryBytesMax = 8 * 1024;

struct LabelRequirement {
  enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kAbsent };
  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values;

  bool matches(const Labels& labels) const;
  bool operator==(const LabelRequirement&) const = default;
};

struct LabelQuery {
  std::vector<LabelRequirement> requirements;  // all must hold

  bool matches(const Labels& labels) const;
  std::string text() const;  // the canonical form
  bool operator==(const LabelQuery&) const = default;
};

// Equality (=, ==, !=), sets (in, notin) and existence (key, !key), joined by commas.
base::Result<LabelQuery> parse_label_query(std::string_view text);

// kInvalid if the object form has an unknown operator or the wrong number of values.
base::Result<LabelQuery> to_label_query(const LabelSelector& selector);
bool matches(const LabelSelector& selector, const Labels& labels);

}  // namespace agenttier::api
