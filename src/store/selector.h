#pragma once
// Selectors decide which objects a list or a watch shows: by labels ("a=b,c!=d,e in (f,g),!h") and
// by fields ("metadata.name=x,status.phase!=Running").
//
// Guarantees: a selector that this parser accepts means what Kubernetes means by it; one that it
// does not accept is an error, never "everything". An empty text selects all.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/label_selector.h"
#include "base/result.h"
#include "store/object.h"

namespace agenttier::store {

inline constexpr std::size_t kFieldSelectorBytesMax = 8 * 1024;

struct FieldRequirement {
  enum class Operator : std::uint8_t { kEqual, kNotEqual };
  std::string path;
  Operator op = Operator::kEqual;
  std::string value;
};

// kInvalid for a field by which `resource` cannot be selected.
base::Result<std::vector<FieldRequirement>> parse_field_selector(const Resource& resource,
                                                                 std::string_view text);

struct Selector {
  std::vector<api::LabelRequirement> labels;
  std::vector<FieldRequirement> fields;

  static base::Result<Selector> parse(const Resource& resource, std::string_view labels,
                                      std::string_view fields);
  bool matches(const StoredObject& object) const;
  bool selects_all() const { return labels.empty() && fields.empty(); }
};

}  // namespace agenttier::store
