#pragma once
// A Resource describes one kind of object that the store keeps: how it is named on the wire, which
// rules of Kubernetes apply to it, by which fields it can be selected. The list is constant.
//
// Example:
//   const Resource* pods = find_resource("", "v1", "pods");
//   pods->has_status  // true: status is written through /status only

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_type.h"

namespace agenttier::store {

enum class NameRule : std::uint8_t {
  kSubdomain,     // RFC 1123 subdomain, 253 characters
  kLabel,         // RFC 1123 label, 63 characters
  kServiceLabel,  // RFC 1035 label: starts with a letter
};

// A field that a fieldSelector may name, and the value of objects that lack it.
struct SelectableField {
  std::string_view path;
  std::string_view absent = "";
  std::string_view value_path = "";  // where the value is, if it is elsewhere
};

struct Resource {
  std::size_t index;  // position in all_resources()
  api::ResourceType type;
  std::string_view singular;
  std::vector<std::string_view> short_names;
  std::vector<std::string_view> categories = {};
  NameRule name_rule = NameRule::kSubdomain;
  bool is_custom = false;   // ours: unknown fields are pruned, an update must give its version
  bool has_status = false;  // status is written through the subresource alone
  bool has_generation =
      false;  // generation counts the changes of what is neither metadata nor status
  bool keeps_status_on_create = false;
  bool deletes_collection = true;       // all at once, by a DELETE of the collection
  bool shows_deleted_object = false;    // a deletion answers the object, not a Status
  std::vector<SelectableField> fields;  // besides metadata.name and metadata.namespace

  std::string api_version() const;  // "v1", "agenttier.io/v1alpha1"
};

std::span<const Resource> all_resources();
const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view plural);
// By apiVersion and kind, as an owner reference names it.
const Resource* find_resource_of_kind(std::string_view api_version, std::string_view kind);
const Resource& namespaces();
const Resource& pods();
const Resource& events();
const Resource& nodes();

}  // namespace agenttier::store
