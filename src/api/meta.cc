#include "api/meta.h"

#include <algorithm>

#include <fmt/format.h>

namespace agenttier::api {
namespace {

std::string_view value_of(const std::map<std::string, std::string>& map, std::string_view key) {
  const auto found = map.find(std::string(key));
  return found == map.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

std::string api_version_of(const ResourceType& type) {
  if (type.group.empty()) return std::string(type.version);
  return fmt::format("{}/{}", type.group, type.version);
}

OwnerReference controller_reference(const ResourceType& type, const ObjectMeta& owner) {
  return {.api_version = api_version_of(type),
          .kind = std::string(type.kind),
          .name = owner.name,
          .uid = owner.uid,
          .controller = true,
          .block_owner_deletion = true};
}

bool is_owned_by(const ObjectMeta& meta, std::string_view owner_uid) {
  return !owner_uid.empty() && std::ranges::any_of(meta.owner_references, [&](const auto& owner) {
    return owner.uid == owner_uid;
  });
}

const OwnerReference* find_controller(const ObjectMeta& meta) {
  const auto found = std::ranges::find_if(
      meta.owner_references, [](const auto& owner) { return owner.controller.value_or(false); });
  return found == meta.owner_references.end() ? nullptr : &*found;
}

bool has_finalizer(const ObjectMeta& meta, std::string_view finalizer) {
  return std::ranges::find(meta.finalizers, finalizer) != meta.finalizers.end();
}

void add_finalizer(ObjectMeta& meta, std::string_view finalizer) {
  if (!has_finalizer(meta, finalizer)) meta.finalizers.emplace_back(finalizer);
}

void remove_finalizer(ObjectMeta& meta, std::string_view finalizer) {
  std::erase(meta.finalizers, finalizer);
}

std::string_view label_of(const ObjectMeta& meta, std::string_view key) {
  return value_of(meta.labels, key);
}

std::string_view annotation_of(const ObjectMeta& meta, std::string_view key) {
  return value_of(meta.annotations, key);
}

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto found = std::ranges::find(conditions, type, &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

bool set_condition(std::vector<Condition>& conditions, Condition condition) {
  const auto found = std::ranges::find(conditions, condition.type, &Condition::type);
  if (found == conditions.end()) {
    conditions.push_back(std::move(condition));
    return true;
  }
  if (found->status == condition.status)
    condition.last_transition_time = found->last_transition_time;
  if (*found == condition) return false;
  *found = std::move(condition);
  return true;
}

}  // namespace agenttier::api
