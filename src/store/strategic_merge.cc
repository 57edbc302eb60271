// Strategic merge patch: a merge patch whose lists of objects are merged by a key, with directives
// ($patch, $deleteFromPrimitiveList, $setElementOrder, $retainKeys).

#include <algorithm>
#include <string>
#include <utility>

#include "store/api_error.h"
#include "store/patch.h"

namespace agenttier::store {
namespace {

struct MergeKey {
  std::string_view list;
  std::string_view key;
};

// Lists of objects that are merged; all others are replaced as a whole.
constexpr MergeKey kMergeKeys[] = {
    {"containers", "name"},
    {"initContainers", "name"},
    {"ephemeralContainers", "name"},
    {"volumes", "name"},
    {"env", "name"},
    {"volumeMounts", "mountPath"},
    {"volumeDevices", "devicePath"},
    {"imagePullSecrets", "name"},
    {"hostAliases", "ip"},
    {"conditions", "type"},
    {"ownerReferences", "uid"},
    {"addresses", "type"},
    {"podIPs", "ip"},
    {"hostIPs", "ip"},
    {"topologySpreadConstraints", "topologyKey"},
    {"resourceClaims", "name"},
    {"secrets", "name"},
};
constexpr std::string_view kMergedPrimitives[] = {"finalizers", "podCIDRs"};

// "ports" are keyed by "containerPort" in containers and by "port" in Services.
std::string_view merge_key(std::string_view list, const json::array& elements) {
  for (const MergeKey& row : kMergeKeys) {
    if (row.list == list) return row.key;
  }
  if (list != "ports") return {};
  for (const json::value& element : elements) {
    const json::object* object = element.if_object();
    if (object && object->contains("containerPort")) return "containerPort";
  }
  return "port";
}

bool is_merged_primitive(std::string_view list) {
  return std::find(std::begin(kMergedPrimitives), std::end(kMergedPrimitives), list) !=
         std::end(kMergedPrimitives);
}

bool is_directive(std::string_view key) {
  return key.starts_with('$');
}

const json::value* key_value(const json::value& element, std::string_view key) {
  const json::object* object = element.if_object();
  return object ? object->if_contains(key) : nullptr;
}

json::value* find_element(json::array& list, std::string_view key, const json::value& wanted) {
  for (json::value& element : list) {
    const json::value* found = key_value(element, key);
    if (found && *found == wanted) return &element;
  }
  return nullptr;
}

void remove_equal(json::array& list, const json::value& unwanted) {
  for (auto it = list.begin(); it != list.end();) it = *it == unwanted ? list.erase(it) : it + 1;
}

base::Result<json::value> merge_object(json::value target, const json::object& patch);

base::Status merge_element(json::array& list, std::string_view key, const json::value& change) {
  const json::object* fields = change.if_object();
  const json::value* wanted = key_value(change, key);
  if (!fields || !wanted) {
    return bad_request("strategic merge patch: an element of a merged list has no \"" +
                       std::string(key) + "\"");
  }
  json::value* present = find_element(list, key, *wanted);
  if (find_text(*fields, "$patch") == "delete") {
    if (present) list.erase(list.begin() + (present - list.data()));
    return {};
  }
  json::value base = present ? std::move(*present) : json::value(json::object());
  AT_TRY(json::value merged, merge_object(std::move(base), *fields));
  if (present) {
    *present = std::move(merged);
  } else {
    list.push_back(std::move(merged));
  }
  return {};
}

bool replaces_list(const json::value& change) {
  const json::object* fields = change.if_object();
  return fields && find_text(*fields, "$patch") == "replace" && fields->size() == 1;
}

base::Result<json::value> merge_list(json::value target, std::string_view name,
                                     const json::array& patch) {
  if (!target.is_array()) target = json::array();
  json::array& list = target.get_array();
  if (is_merged_primitive(name)) {
    for (const json::value& value : patch) {
      if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
    }
    return target;
  }
  const std::string_view key = merge_key(name, patch);
  if (key.empty()) return json::value(patch);
  if (std::any_of(patch.begin(), patch.end(), replaces_list)) list.clear();
  for (const json::value& change : patch) {
    if (!replaces_list(change)) AT_OK(merge_element(list, key, change));
  }
  return target;
}

std::size_t rank(const json::array& order, std::string_view key, const json::value& element) {
  const json::value* own = key.empty() ? &element : key_value(element, key);
  for (std::size_t i = 0; own && i < order.size(); ++i) {
    const json::value* wanted = key.empty() ? &order[i] : key_value(order[i], key);
    if (wanted && *wanted == *own) return i;
  }
  return order.size();
}

// Elements that the order does not name keep their place behind the named ones.
void set_order(json::object& object, std::string_view name, const json::array& order) {
  json::value* member = object.if_contains(name);
  json::array* list = member ? member->if_array() : nullptr;
  if (!list) return;
  const bool primitive = order.empty() || !order.front().is_object();
  const std::string_view key = primitive ? std::string_view() : merge_key(name, *list);
  std::vector<json::value> sorted(list->begin(), list->end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return rank(order, key, a) < rank(order, key, b);
  });
  *member = json::array(sorted.begin(), sorted.end());
}

void retain_keys(json::object& object, const json::array& kept) {
  for (auto it = object.begin(); it != object.end();) {
    const json::value key(it->key());
    it = std::find(kept.begin(), kept.end(), key) == kept.end() ? object.erase(it) : it + 1;
  }
}

void apply_removal(json::object& object, std::string_view name, const json::value& values) {
  json::value* member = object.if_contains(name);
  if (!member || !member->is_array() || !values.is_array()) return;
  for (const json::value& value : values.get_array()) remove_equal(member->get_array(), value);
}

void apply_directives(json::object& object, const json::object& patch) {
  constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
  constexpr std::string_view kOrder = "$setElementOrder/";
  for (const auto& [key, value] : patch) {
    const std::string_view name(key.data(), key.size());
    if (name.starts_with(kDelete)) apply_removal(object, name.substr(kDelete.size()), value);
    if (name == "$retainKeys" && value.is_array()) retain_keys(object, value.get_array());
  }
  for (const auto& [key, value] : patch) {
    const std::string_view name(key.data(), key.size());
    if (name.starts_with(kOrder) && value.is_array()) {
      set_order(object, name.substr(kOrder.size()), value.get_array());
    }
  }
}

base::Result<json::value> merge_member(json::value member, std::string_view key,
                                       const json::value& change) {
  if (change.is_object()) return merge_object(std::move(member), change.get_object());
  if (change.is_array()) return merge_list(std::move(member), key, change.get_array());
  return change;
}

base::Result<json::value> merge_object(json::value target, const json::object& patch) {
  const std::string_view directive = find_text(patch, "$patch");
  if (directive == "delete") return json::value(json::object());
  if (!target.is_object() || directive == "replace") target = json::object();
  json::object& object = target.get_object();
  for (const auto& [key, change] : patch) {
    if (is_directive(key)) continue;
    if (change.is_null()) {
      object.erase(key);
      continue;
    }
    json::value& member = object[key];
    AT_TRY(member, merge_member(std::move(member), key, change));
  }
  apply_directives(object, patch);
  return target;
}

}  // namespace

base::Result<json::value> apply_strategic_merge(json::value target, const json::value& patch) {
  if (!patch.is_object()) return bad_request("a strategic merge patch must be a JSON object");
  return merge_object(std::move(target), patch.get_object());
}

}  // namespace agenttier::store
