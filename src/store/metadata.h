#pragma once
// What the store does with metadata: the part that a client may write (labels, annotations, owner
// references, finalizers) is checked and kept, the part that belongs to the server is not taken
// from a client.
//
// Example:
//   AT_TRY(json::object metadata, read_metadata(resource, body));       // shape and rules of each
//   field metadata = new_metadata(resource, std::move(metadata), {...});      // or
//   updated_metadata(...)

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/result.h"
#include "store/json.h"
#include "store/resource.h"

namespace agenttier::store {

inline constexpr std::size_t kAnnotationsBytesMax = 256 * 1024;
inline constexpr std::size_t kGeneratedSuffixLength = 5;
inline constexpr std::size_t kGeneratedNameMax = 63;  // whatever the kind's own limit

// The metadata of a body, each known field of its right type; unknown fields and nulls are removed.
// kInvalid ("BadRequest") names a field of a wrong type.
base::Result<json::object> read_metadata(const json::object& body,
                                         std::vector<std::string>* unknown);

// Keeps each owner once; gives the uids that came more than once.
std::vector<std::string> drop_double_owners(json::object& metadata);

// Faults of names, labels, annotations, owner references and finalizers.
std::vector<base::FieldCause> check_metadata(const Resource& resource,
                                             const json::object& metadata);

// A body for `resource`: its apiVersion and kind, if given, must be the resource's.
base::Status check_type(const Resource& resource, const json::object& body);

struct NewIdentity {
  std::string ns;
  std::string name;
  std::string uid;
  base::WallTime now;
};
json::object new_metadata(const Resource& resource, json::object written, NewIdentity identity);

// The server's fields of `before`, the client's of `written`.
json::object updated_metadata(const json::object& before, json::object written);

std::vector<std::string> finalizers_of(const json::object& object);
void set_finalizers(json::object& object, const std::vector<std::string>& finalizers);
bool is_deleting(const json::object& object);

}  // namespace agenttier::store
