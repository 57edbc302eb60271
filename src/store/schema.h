#pragma once
// A Schema is a structural schema of Kubernetes (the openAPIV3Schema of a CRD) made ready for use:
// it prunes unknown fields, fills in defaults, and says what is wrong in Kubernetes' words.
//
// Supported: type, properties, additionalProperties, items, required, enum, pattern, minimum,
// maximum, minLength, maxLength, minItems, maxItems, minProperties, maxProperties, default,
// nullable, format (int32, int64, date-time, duration, quantity, byte), x-kubernetes-int-or-string,
// x-kubernetes-preserve-unknown-fields, x-kubernetes-list-map-keys. Other words of JSON Schema are
// an error of parse(), so that a rule is never silently without effect. Descriptions say nothing
// here.
//
// Example (schema_test.cc):
//   AT_TRY(Schema schema, Schema::parse(text_of_the_crd));
//   std::vector<std::string> unknown = schema.prune(object);
//   schema.apply_defaults(object);
//   std::vector<base::FieldCause> causes = schema.validate(object);

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "store/json.h"

namespace agenttier::store {

inline constexpr std::size_t kCausesMax = 100;  // more faults of one object are not listed

class Schema {
 public:
  struct Node;

  static base::Result<Schema> parse(const json::value& definition);
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;
  ~Schema();

  // Removes what the schema does not know, and nulls where none is allowed. apiVersion, kind and
  // metadata of the top level are kept. Gives the paths of the removed unknown fields.
  std::vector<std::string> prune(json::object& object) const;
  void apply_defaults(json::object& object) const;
  std::vector<base::FieldCause> validate(const json::object& object) const;

 private:
  explicit Schema(std::unique_ptr<Node> root);
  std::unique_ptr<Node> root_;
};

}  // namespace agenttier::store
