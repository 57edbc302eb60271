#include "store/api_reply.h"

#include <boost/json/serialize.hpp>
#include <utility>

namespace agenttier::store {
namespace {

constexpr std::size_t kWarningBytesMax = 200;

}  // namespace

std::string warning_of(std::string_view text) {
  std::string warning = "299 - \"";
  for (char c : text.substr(0, kWarningBytesMax)) {
    if (c == '"') warning += '\\';
    const bool plain = c >= ' ' && c <= '~' && c != '\\';
    warning += plain ? c : '?';
  }
  return warning + '"';
}

std::string success_text(const StoredObject& object) {
  json::object details{{"name", object.name}};
  if (!object.resource->type.group.empty()) details["group"] = object.resource->type.group;
  details["kind"] = object.resource->type.plural;
  details["uid"] = object.uid;
  const json::object status{{"kind", "Status"},
                            {"apiVersion", "v1"},
                            {"metadata", json::object()},
                            {"status", "Success"},
                            {"details", std::move(details)}};
  return json::serialize(status);
}

}  // namespace agenttier::store
