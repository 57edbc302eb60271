#pragma once
// Errors of the Kubernetes API: base::Error whose `reason` is a Kubernetes reason ("NotFound",
// "Invalid", ...), and the Status objects that carry them on the wire.
//
// A field cause's message starts as Kubernetes' do ("Required value", "Invalid value: ...",
// "Unsupported value: ...", "Forbidden: ..."); the cause's machine-readable reason follows from it.

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/service.h"
#include "store/resource.h"

namespace agenttier::store {

base::Error bad_request(std::string message);  // 400
base::Error forbidden(const Resource& resource, std::string_view name,
                      std::string_view why);                                    // 403
base::Error object_not_found(const Resource& resource, std::string_view name);  // 404
base::Error path_not_found();                                                   // 404
base::Error method_not_allowed();                                               // 405
base::Error already_exists(const Resource& resource, std::string_view name);    // 409
base::Error write_conflict(const Resource& resource, std::string_view name, std::string_view why);
base::Error precondition_failed(const Resource& resource, std::string_view name,
                                std::string_view field, std::string_view wanted,
                                std::string_view found);                     // 409, of a deletion
base::Error gone(std::string message);                                       // 410
base::Error too_new(std::uint64_t version, std::uint64_t current);           // 504
base::Error too_large(std::string message);                                  // 413
base::Error unsupported_media_type(std::string message);                     // 415
base::Error invalid_object(const Resource& resource, std::string_view name,  // 422
                           std::vector<base::FieldCause> causes);
// 422 for the parameters of a request, which are an object of their own: "CreateOptions".
base::Error invalid_options(std::string_view kind, base::FieldCause cause);

// What a Status says about its subject. Some faults name it by kind ("Pod"), not by plural.
enum class NamedBy : std::uint8_t { kPlural, kKind };
struct StatusSubject {
  const Resource* resource = nullptr;
  std::string name;
  NamedBy named_by = NamedBy::kPlural;
};

int status_code(const base::Error& error);
boost::json::object status_object(const base::Error& error, const StatusSubject& subject);
http::Response status_response(const base::Error& error, const StatusSubject& subject);

// "Sandbox.agenttier.io", "Pod" and "sandboxes.agenttier.io", "pods".
std::string qualified_kind(const Resource& resource);
std::string qualified_plural(const Resource& resource);

}  // namespace agenttier::store
