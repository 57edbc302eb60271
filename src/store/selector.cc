#include "store/selector.h"

#include <algorithm>
#include <utility>

#include "store/api_error.h"

namespace agenttier::store {
namespace {

using LabelOp = api::LabelRequirement::Operator;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool matches_label(const api::LabelRequirement& requirement, const StoredObject& object) {
  const auto found =
      std::lower_bound(object.labels.begin(), object.labels.end(), requirement.key,
                       [](const auto& label, const std::string& key) { return label.first < key; });
  const bool present = found != object.labels.end() && found->first == requirement.key;
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), found->second) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case LabelOp::kExists:
      return present;
    case LabelOp::kAbsent:
      return !present;
    case LabelOp::kIn:
      return present && listed();
    case LabelOp::kNotIn:
      return !present || !listed();
  }
  return false;
}

bool is_selectable(const Resource& resource, std::string_view path) {
  if (path == "metadata.name" || path == "metadata.namespace") return true;
  return std::any_of(resource.fields.begin(), resource.fields.end(),
                     [&](const SelectableField& field) { return field.path == path; });
}

std::string_view field_value(const StoredObject& object, std::string_view path) {
  if (path == "metadata.name") return object.name;
  if (path == "metadata.namespace") return object.ns;
  for (std::size_t i = 0; i < object.fields.size(); ++i) {
    if (object.resource->fields[i].path == path) return object.fields[i];
  }
  return {};
}

base::Error unsupported_field(const Resource& resource, std::string_view path) {
  if (resource.fields.empty() && !resource.is_custom) {
    return bad_request("\"" + std::string(path) +
                       "\" is not a known field selector: only \"metadata.name\", "
                       "\"metadata.namespace\"");
  }
  return bad_request("field label not supported: " + std::string(path));
}

base::Result<FieldRequirement> parse_field_term(const Resource& resource, std::string_view term) {
  const std::size_t at = term.find('=');
  if (at == std::string_view::npos || at == 0) {
    return bad_request("invalid selector: '" + std::string(term) + "'; can't understand '" +
                       std::string(term) + "'");
  }
  const bool differs = term[at - 1] == '!';
  const std::string_view path = trim(term.substr(0, differs ? at - 1 : at));
  std::string_view value = term.substr(at + 1);
  if (value.starts_with('=')) value.remove_prefix(1);
  if (!is_selectable(resource, path)) {
    return unsupported_field(resource, path);
  }
  using Op = FieldRequirement::Operator;
  return FieldRequirement{std::string(path), differs ? Op::kNotEqual : Op::kEqual,
                          std::string(trim(value))};
}

}  // namespace

base::Result<std::vector<FieldRequirement>> parse_field_selector(const Resource& resource,
                                                                 std::string_view text) {
  std::vector<FieldRequirement> requirements;
  if (text.size() > kFieldSelectorBytesMax) return bad_request("fieldSelector is too long");
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view term = trim(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (term.empty()) continue;
    AT_TRY(auto requirement, parse_field_term(resource, term));
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

base::Result<Selector> Selector::parse(const Resource& resource, std::string_view labels,
                                       std::string_view fields) {
  Selector selector;
  auto query = api::parse_label_query(labels);
  if (!query) return bad_request("labelSelector: " + query.error().message);
  selector.labels = std::move(query->requirements);
  AT_TRY(selector.fields, parse_field_selector(resource, fields));
  return selector;
}

bool Selector::matches(const StoredObject& object) const {
  for (const api::LabelRequirement& requirement : labels) {
    if (!matches_label(requirement, object)) return false;
  }
  for (const FieldRequirement& requirement : fields) {
    const bool equal = field_value(object, requirement.path) == requirement.value;
    if (equal != (requirement.op == FieldRequirement::Operator::kEqual)) return false;
  }
  return true;
}

}  // namespace agenttier::store
