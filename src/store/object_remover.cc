#include "store/object_remover.h"

#include <algorithm>
#include <utility>

#include "base/time_format.h"
#include "store/api_error.h"
#include "store/metadata.h"

namespace agenttier::store {
namespace {

constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
constexpr std::string_view kOrphanFinalizer = "orphan";
constexpr std::int64_t kPodGraceSeconds = 30;

std::int64_t number_at(const json::object& object, std::string_view path, std::int64_t fallback) {
  const json::value* found = find_path(object, path);
  return found && found->is_int64() ? found->get_int64() : fallback;
}

// A pod on a node that may still run needs time to end; its node agent removes it then.
std::int64_t grace_of(const StoredObject& object, const json::object& value,
                      const DeleteRequest& request) {
  if (object.resource != &pods() || find_text(value, "spec.nodeName").empty()) return 0;
  const std::string_view phase = find_text(value, "status.phase");
  if (phase == "Succeeded" || phase == "Failed") return 0;
  const std::int64_t own = number_at(value, "spec.terminationGracePeriodSeconds", kPodGraceSeconds);
  return std::max<std::int64_t>(request.grace_seconds.value_or(own), 0);
}

void mark_deleting(const Resource& resource, json::object& value, base::WallTime now,
                   std::int64_t grace) {
  json::object& metadata = object_at(value, "metadata");
  const bool is_new = !metadata.contains("deletionTimestamp");
  // A later request may only shorten the time that is left.
  if (!is_new) grace = std::min(grace, number_at(value, "metadata.deletionGracePeriodSeconds", 0));
  if (is_new || grace < number_at(value, "metadata.deletionGracePeriodSeconds", 0)) {
    metadata["deletionTimestamp"] = base::format_rfc3339(now + std::chrono::seconds(grace));
  }
  if (&resource != &namespaces()) metadata["deletionGracePeriodSeconds"] = grace;
  if (is_new && resource.has_generation) {
    metadata["generation"] = number_at(value, "metadata.generation", 0) + 1;
  }
  if (&resource == &namespaces()) object_at(value, "status")["phase"] = "Terminating";
}

void set_propagation(json::object& value, Propagation propagation) {
  if (propagation == Propagation::kDefault) return;
  std::vector<std::string> names = finalizers_of(value);
  std::erase(names, kForegroundFinalizer);
  std::erase(names, kOrphanFinalizer);
  if (propagation == Propagation::kForeground) names.emplace_back(kForegroundFinalizer);
  set_finalizers(value, names);
}

bool has_finalizer(const json::object& value, std::string_view name) {
  const auto names = finalizers_of(value);
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_complete(const json::object& value) {
  return is_deleting(value) && finalizers_of(value).empty() &&
         number_at(value, "metadata.deletionGracePeriodSeconds", 0) == 0;
}

bool blocks(const json::object& dependent, std::string_view owner_uid) {
  const json::array* references = find_array(dependent, "metadata.ownerReferences");
  if (!references) return false;
  return std::any_of(references->begin(), references->end(), [&](const json::value& reference) {
    const json::object& fields = reference.get_object();
    const json::value* block = fields.if_contains("blockOwnerDeletion");
    return find_text(fields, "uid") == owner_uid && block && *block == json::value(true);
  });
}

}  // namespace

base::Status ObjectRemover::check(const ObjectPtr& object, const DeleteRequest& request) const {
  const Resource& resource = *object->resource;
  if (!request.uid.empty() && request.uid != object->uid) {
    return precondition_failed(resource, object->name, "UID", request.uid, object->uid);
  }
  const std::string version = std::to_string(object->version);
  if (!request.resource_version.empty() && request.resource_version != version) {
    return precondition_failed(resource, object->name, "ResourceVersion", request.resource_version,
                               version);
  }
  if (&resource == &namespaces() && object->name == "default") {
    return forbidden(resource, object->name, "this namespace may not be deleted");
  }
  return {};
}

ObjectPtr ObjectRemover::remove(const ObjectPtr& object, const DeleteRequest& request) {
  last_ = object;
  work_.emplace_back(Removal{object->uid, request});
  run();
  return std::exchange(last_, nullptr);
}

void ObjectRemover::run() {
  while (!work_.empty()) {
    const Work work = std::move(work_.front());
    work_.pop_front();
    if (const auto* gone = std::get_if<Gone>(&work)) {
      after_gone(*gone->object);
    } else if (const auto* release = std::get_if<Release>(&work)) {
      release_owner(release->uid);
    } else {
      const auto& removal = std::get<Removal>(work);
      const ObjectPtr present = latest_.table().find_uid(removal.uid);
      if (present) remove_one(present, removal.request);
    }
  }
}

void ObjectRemover::remove_one(const ObjectPtr& object, const DeleteRequest& request) {
  const Resource& resource = *object->resource;
  const json::object before = parse_object(*object);
  json::object value = before;
  const bool orphans =
      request.propagation == Propagation::kOrphan || has_finalizer(value, kOrphanFinalizer);
  if (orphans) orphan_dependents(*object);
  set_propagation(value, request.propagation);
  if (orphans) {
    auto names = finalizers_of(value);
    std::erase(names, kOrphanFinalizer);
    set_finalizers(value, names);
  }
  mark_deleting(resource, value, latest_.now(), grace_of(*object, value, request));
  const bool is_namespace = &resource == &namespaces();
  const bool holds = is_namespace && latest_.table().namespace_in_use(object->name);
  const bool ends = is_complete(value) && !holds;
  // Of these, watchers hear that they end before they hear that they are gone.
  const bool tells = &resource == &pods() || is_namespace;
  if (ends && !tells) return finish(object);
  const ObjectPtr marked = value == before ? object : latest_.put(resource, object, value);
  if (last_ && last_->uid == marked->uid) last_ = marked;
  if (ends) return finish(marked);
  if (is_namespace) queue_namespace_content(object->name);
  if (has_finalizer(value, kForegroundFinalizer)) {
    queue_dependents(*marked);
    work_.emplace_back(Release{marked->uid});
  }
}

void ObjectRemover::finish(const ObjectPtr& object) {
  latest_.erase(object);
  work_.emplace_back(Gone{object});
}

void ObjectRemover::orphan_dependents(const StoredObject& owner) {
  for (const ObjectPtr& dependent : latest_.table().dependents(owner.uid)) {
    drop_reference(dependent, owner.uid);
  }
}

void ObjectRemover::queue_dependents(const StoredObject& owner) {
  for (const ObjectPtr& dependent : latest_.table().dependents(owner.uid)) {
    const bool deep = latest_.table().has_dependents(dependent->uid);
    DeleteRequest request;
    request.propagation = deep ? Propagation::kForeground : Propagation::kBackground;
    work_.emplace_back(Removal{dependent->uid, request});
  }
}

void ObjectRemover::queue_namespace_content(std::string_view ns) {
  for (const Resource& resource : all_resources()) {
    if (!resource.type.namespaced) continue;
    const ObjectSet& set = latest_.table().of(resource);
    for (auto it = set.lower_bound(KeyView{ns, ""}); it != set.end() && (*it)->ns == ns; ++it) {
      work_.emplace_back(Removal{(*it)->uid, {}});
    }
  }
}

void ObjectRemover::after_gone(const StoredObject& gone) {
  for (const ObjectPtr& dependent : latest_.table().dependents(gone.uid)) {
    if (has_living_owner(parse_object(*dependent))) {
      drop_reference(dependent, gone.uid);
    } else {
      work_.emplace_back(Removal{dependent->uid, {}});
    }
  }
  for (const std::string& owner : gone.owners) release_owner(owner);
  if (!gone.ns.empty()) release_namespace(gone.ns);
}

// An owner that waits for its dependents goes with the last one that holds it.
void ObjectRemover::release_owner(std::string_view uid) {
  const ObjectPtr owner = latest_.table().find_uid(uid);
  if (!owner || !owner->deleting) return;
  json::object value = parse_object(*owner);
  if (!has_finalizer(value, kForegroundFinalizer)) return;
  if (has_blocking_dependents(*owner)) return;
  auto names = finalizers_of(value);
  std::erase(names, kForegroundFinalizer);
  set_finalizers(value, names);
  if (is_complete(value)) return finish(owner);
  latest_.put(*owner->resource, owner, std::move(value));
}

void ObjectRemover::release_namespace(std::string_view ns) {
  const ObjectPtr owner = latest_.find(namespaces(), "", ns);
  if (!owner || !owner->deleting || latest_.table().namespace_in_use(ns)) return;
  if (is_complete(parse_object(*owner))) finish(owner);
}

bool ObjectRemover::has_blocking_dependents(const StoredObject& owner) const {
  const auto dependents = latest_.table().dependents(owner.uid);
  return std::any_of(dependents.begin(), dependents.end(), [&](const ObjectPtr& dependent) {
    return blocks(parse_object(*dependent), owner.uid);
  });
}

// An owner of a kind that is not kept here may live elsewhere.
bool ObjectRemover::has_living_owner(const json::object& value) const {
  const json::array* references = find_array(value, "metadata.ownerReferences");
  if (!references) return true;
  return std::any_of(references->begin(), references->end(), [&](const json::value& reference) {
    const json::object& fields = reference.get_object();
    if (latest_.table().find_uid(find_text(fields, "uid"))) return true;
    return !find_resource_of_kind(find_text(fields, "apiVersion"), find_text(fields, "kind"));
  });
}

void ObjectRemover::drop_reference(const ObjectPtr& dependent, std::string_view uid) {
  json::object value = parse_object(*dependent);
  json::object& metadata = object_at(value, "metadata");
  json::array kept;
  for (const json::value& reference : metadata["ownerReferences"].as_array()) {
    if (find_text(reference.get_object(), "uid") != uid) kept.push_back(reference);
  }
  if (kept.empty()) {
    metadata.erase("ownerReferences");
  } else {
    metadata["ownerReferences"] = std::move(kept);
  }
  latest_.put(*dependent->resource, dependent, std::move(value));
}

void ObjectRemover::settle_after_write(const ObjectPtr& object) {
  const auto is_present = [this](const std::string& uid) { return latest_.table().find_uid(uid); };
  const bool owned = object->owners.empty() ||
                     std::any_of(object->owners.begin(), object->owners.end(), is_present);
  if (owned && !object->deleting) return;
  const json::object value = parse_object(*object);
  const bool is_namespace = object->resource == &namespaces();
  const bool holds = is_namespace && latest_.table().namespace_in_use(object->name);
  if (is_complete(value) && !holds) {
    latest_.erase_written(object);
    work_.emplace_back(Gone{object});
  } else if (!owned && !has_living_owner(value)) {
    work_.emplace_back(Removal{object->uid, {}});
  }
  run();
}

}  // namespace agenttier::store
