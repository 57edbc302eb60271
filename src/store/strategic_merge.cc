// Strategic merge patch: a merge patch whose lists of objects are merged by a key, with directives
// ($patch, $deleteFromPrimitiveList, $setElementOrder, $retainKeys).

#include <algorithm>
#include <string>
#include <utility>

#include "store/api_error.h"
#include "store/patch.h"

namespace agenttier::store {
namespace {

constexpr std::string_view kOrder = "$setElementOrder/";

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

// The place of the element in a list; the list's size if it is not there.
std::size_t rank(const json::array& order, std::string_view key, const json::value& element) {
  const json::value* own = key.empty() ? &element : key_value(element, key);
  for (std::size_t i = 0; own && i < order.size(); ++i) {
    const json::value* wanted = key.empty() ? &order[i] : key_value(order[i], key);
    if (wanted && *wanted == *own) return i;
  }
  return order.size();
}

// Those that `order` names in its order, and the others between them: each before the first named
// one that it was before. What is new comes first.
json::array in_order(const json::array& list, std::string_view key, const json::array& order,
                     const json::array& before) {
  std::vector<json::value> named;
  std::vector<json::value> others;
  for (const json::value& element : list) {
    (rank(order, key, element) < order.size() ? named : others).push_back(element);
  }
  const auto by = [key](const json::array& by_list) {
    return [&by_list, key](const json::value& a, const json::value& b) {
      return rank(by_list, key, a) < rank(by_list, key, b);
    };
  };
  std::stable_sort(named.begin(), named.end(), by(order));
  std::stable_sort(others.begin(), others.end(), by(before));
  json::array result;
  auto next = others.begin();
  for (json::value& element : named) {
    const std::size_t place = rank(before, key, element);
    const bool was_there = place < before.size();
    while (was_there && next != others.end() && rank(before, key, *next) < place) {
      result.push_back(*next++);
    }
    result.push_back(std::move(element));
  }
  result.insert(result.end(), next, others.end());
  return result;
}

base::Result<json::value> merge_list(json::value target, std::string_view name,
                                     const json::array& patch) {
  if (!target.is_array()) target = json::array();
  json::array& list = target.get_array();
  if (is_merged_primitive(name)) {
    const json::array before = list;
    for (const json::value& value : patch) {
      if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
    }
    return json::value(in_order(list, "", patch, before));
  }
  const std::string_view key = merge_key(name, patch);
  if (key.empty()) return json::value(patch);
  if (std::any_of(patch.begin(), patch.end(), replaces_list)) list.clear();
  const json::array before = list;
  for (const json::value& change : patch) {
    if (!replaces_list(change)) AT_OK(merge_element(list, key, change));
  }
  return json::value(in_order(list, key, patch, before));
}

void set_order(json::object& object, std::string_view name, const json::array& order,
               const json::object& before) {
  json::value* member = object.if_contains(name);
  const json::array* list = member ? member->if_array() : nullptr;
  if (!list) return;
  const bool primitive = order.empty() || !order.front().is_object();
  const std::string_view key = primitive ? std::string_view() : merge_key(name, *list);
  const json::array* old_list = find_array(before, name);
  *member = in_order(*list, key, order, old_list ? *old_list : json::array());
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

void apply_directives(json::object& object, const json::object& patch, const json::object& before) {
  constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
  for (const auto& [key, value] : patch) {
    const std::string_view name(key.data(), key.size());
    if (name.starts_with(kDelete)) apply_removal(object, name.substr(kDelete.size()), value);
    if (name == "$retainKeys" && value.is_array()) retain_keys(object, value.get_array());
  }
  for (const auto& [key, value] : patch) {
    const std::string_view name(key.data(), key.size());
    if (name.starts_with(kOrder) && value.is_array()) {
      set_order(object, name.substr(kOrder.size()), value.get_array(), before);
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
  json::object before;  // for the order of lists
  for (const auto& [key, value] : patch) {
    if (!std::string_view(key).starts_with(kOrder)) continue;
    const std::string_view name = std::string_view(key).substr(kOrder.size());
    if (const json::value* list = object.if_contains(name)) before[name] = *list;
  }
  for (const auto& [key, change] : patch) {
    if (is_directive(key)) continue;
    if (change.is_null()) {
      object.erase(key);
      continue;
    }
    json::value& member = object[key];
    AT_TRY(member, merge_member(std::move(member), key, change));
  }
  apply_directives(object, patch, before);
  return target;
}

}  // namespace

base::Result<json::value> apply_strategic_merge(json::value target, const json::value& patch) {
  if (!patch.is_object()) return bad_request("a strategic merge patch must be a JSON object");
  return merge_object(std::move(target), patch.get_object());
}

}  // namespace agenttier::store
