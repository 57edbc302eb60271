// Pruning and defaults of a Schema.

#include "store/schema_node.h"

namespace agenttier::store {
namespace {

using Node = Schema::Node;

bool is_envelope(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

class Pruner {
 public:
  std::vector<std::string> unknown;

  void prune_top(const Node& node, json::object& object) {
    for (auto it = object.begin(); it != object.end();) {
      const std::string_view name(it->key().data(), it->key().size());
      it = !is_envelope(name) && drop_member(node, *it, "") ? object.erase(it) : it + 1;
    }
  }

 private:
  // Prunes below the member; true if the member itself has to go.
  bool drop_member(const Node& node, json::key_value_pair& member, const std::string& path) {
    const std::string name(member.key());
    const Node* child = node.find(name);
    if (member.value().is_null()) return !(child && child->nullable) && !node.keeps_unknown;
    const std::string member_path = path.empty() ? name : path + "." + name;
    if (child) {
      prune(*child, member.value(), member_path);
      return false;
    }
    if (node.keeps_unknown) return false;
    unknown.push_back(member_path);
    return true;
  }

  void prune(const Node& node, json::value& value, const std::string& path) {
    if (json::object* object = value.if_object()) {
      if (node.type != SchemaType::kObject && !node.keeps_unknown) return;
      for (auto it = object->begin(); it != object->end();) {
        it = drop_member(node, *it, path) ? object->erase(it) : it + 1;
      }
    }
    json::array* array = value.if_array();
    if (!array || !node.items) return;
    for (std::size_t i = 0; i < array->size(); ++i) {
      prune(*node.items, (*array)[i], path + "[" + std::to_string(i) + "]");
    }
  }
};

void fill(const Node& node, json::value& value) {
  if (json::object* object = value.if_object()) {
    for (const auto& [name, child] : node.properties) {
      if (child->fallback && !object->contains(name)) (*object)[name] = *child->fallback;
    }
    for (auto& member : *object) {
      const std::string_view name(member.key().data(), member.key().size());
      if (const Node* child = node.find(name)) fill(*child, member.value());
    }
  }
  json::array* array = value.if_array();
  if (!array || !node.items) return;
  for (json::value& element : *array) fill(*node.items, element);
}

}  // namespace

std::vector<std::string> Schema::prune(json::object& object) const {
  Pruner pruner;
  pruner.prune_top(*root_, object);
  return std::move(pruner.unknown);
}

void Schema::apply_defaults(json::object& object) const {
  for (auto& member : object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (is_envelope(name)) continue;
    if (const Node* child = root_->find(name)) fill(*child, member.value());
  }
}

}  // namespace agenttier::store
