#pragma once
// What the Kubernetes API looks like on the wire: paths, queries, object metadata and watch lines.
//
// Names and namespaces go into a path only after a check that they are one path segment, so that no
// name, whoever chose it, can address another resource.

#include <boost/json/object.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "api/resource_type.h"
#include "base/result.h"
#include "http/message.h"
#include "kube/client.h"

namespace agenttier::kube {

// "/api/v1/namespaces/<ns>/pods"; all namespaces (or cluster scope) when `ns` is empty.
base::Result<std::string> collection_path(const api::ResourceType& type, const std::string& ns);
// kInvalid if the name is empty or not one path segment, or a namespace is missing.
base::Result<std::string> object_path(const api::ResourceType& type, const ObjectKey& key,
                                      Subresource subresource);

// "?a=1&b=2"; pairs with an empty value are left out; empty without pairs.
class Query {
 public:
  void add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

base::Result<json::object> parse_object(std::string_view text);

// A string of metadata, or empty.
std::string_view metadata_text(const json::object& object, std::string_view name);
// Sets apiVersion and kind where they are missing.
void stamp_type(const api::ResourceType& type, json::object& object);

// Events from lines of JSON. `phrase` leads the message of each error.
std::unique_ptr<WatchStream> make_watch_stream(std::unique_ptr<http::BodyReader> body,
                                               std::string phrase);

}  // namespace agenttier::kube
