#pragma once
// Names a kind of object on the Kubernetes API: by it, and nothing else, a client or the store
// finds where objects of that kind live. The generated kinds give theirs as T::kType.
//
// Example:
//   client.get(Pod::kType, {.ns = "default", .name = "demo-pod"});

#include <string_view>

namespace agenttier::api {

struct ResourceType {
  std::string_view group;    // "" for core kinds
  std::string_view version;  // "v1"
  std::string_view plural;   // "pods"
  std::string_view kind;     // "Pod"
  bool namespaced = true;

  bool operator==(const ResourceType&) const = default;
};

}  // namespace agenttier::api
