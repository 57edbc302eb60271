#include "store/api_error.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

namespace agenttier::store {
namespace {

namespace json = boost::json;
using base::Error;
using base::ErrorCode;

struct ReasonRow {
  std::string_view reason;
  int status;
};

// Reasons whose HTTP status does not follow from the error's code.
constexpr ReasonRow kReasons[] = {
    {"BadRequest", 400},           {"Invalid", 422}, {"Timeout", 504},
    {"MethodNotAllowed", 405},     {"Expired", 410}, {"RequestEntityTooLarge", 413},
    {"UnsupportedMediaType", 415},
};

struct CauseRow {
  std::string_view start;
  std::string_view reason;
};

constexpr CauseRow kCauseReasons[] = {
    {"Required value", "FieldValueRequired"},
    {"Duplicate value", "FieldValueDuplicate"},
    {"Unsupported value", "FieldValueNotSupported"},
    {"Forbidden", "FieldValueForbidden"},
    {"Not found", "FieldValueNotFound"},
    {"Too long", "FieldValueTooLong"},
    {"Too many", "FieldValueTooMany"},
    {"Invalid value", "FieldValueInvalid"},
    {"namespace ", "NamespaceTerminating"},
    {"Too large resource version", "ResourceVersionTooLarge"},
};
constexpr std::string_view kWrongType = " in body must be of type ";
constexpr std::string_view kOptionsGroup = "meta.k8s.io";
// An Error's reason, for faults of options: the reason of the Status and the kind of the options.
constexpr std::string_view kInvalidOptions = "Invalid ";

Error make(ErrorCode code, std::string_view reason, std::string message) {
  Error error;
  error.code = code;
  error.reason = reason;
  error.message = std::move(message);
  return error;
}

std::string quoted(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

std::string_view cause_reason(std::string_view message) {
  if (message.find(kWrongType) != std::string_view::npos) return "FieldValueTypeInvalid";
  for (const CauseRow& row : kCauseReasons) {
    if (message.starts_with(row.start)) return row.reason;
  }
  return "FieldValueInvalid";
}

json::array causes_of(const Error& error) {
  json::array causes;
  for (const base::FieldCause& cause : error.causes) {
    json::object entry{{"reason", cause_reason(cause.message)}, {"message", cause.message}};
    if (!cause.field.empty()) entry["field"] = cause.field;
    causes.push_back(std::move(entry));
  }
  return causes;
}

// A malformed request is not about an object, even if its path names one.
bool is_about_object(const Error& error) {
  if (error.reason == "Invalid") return !error.causes.empty();
  return error.reason == "NotFound" || error.reason == "AlreadyExists" ||
         error.reason == "Conflict" || error.reason == "Forbidden";
}

json::object details_of(const Error& error, const StatusSubject& subject) {
  json::object details;
  if (error.reason.starts_with(kInvalidOptions)) {
    details["group"] = kOptionsGroup;
    details["kind"] = error.reason.substr(kInvalidOptions.size());
  } else if (subject.resource && is_about_object(error)) {
    if (!subject.name.empty()) details["name"] = subject.name;
    if (!subject.resource->type.group.empty()) details["group"] = subject.resource->type.group;
    const bool by_kind = error.reason == "Invalid" || subject.named_by == NamedBy::kKind;
    details["kind"] = by_kind ? subject.resource->type.kind : subject.resource->type.plural;
  }
  if (!error.causes.empty()) details["causes"] = causes_of(error);
  if (error.retry_after) {
    details["retryAfterSeconds"] = (error.retry_after->count() + 999) / 1000;
  }
  return details;
}

}  // namespace

std::string qualified_kind(const Resource& resource) {
  const std::string kind(resource.type.kind);
  return resource.type.group.empty() ? kind : kind + "." + std::string(resource.type.group);
}

std::string qualified_plural(const Resource& resource) {
  const std::string plural(resource.type.plural);
  return resource.type.group.empty() ? plural : plural + "." + std::string(resource.type.group);
}

Error bad_request(std::string message) {
  return make(ErrorCode::kInvalid, "BadRequest", std::move(message));
}

Error forbidden(const Resource& resource, std::string_view name, std::string_view why) {
  return make(
      ErrorCode::kDenied, "Forbidden",
      qualified_plural(resource) + " " + quoted(name) + " is forbidden: " + std::string(why));
}

Error object_not_found(const Resource& resource, std::string_view name) {
  return make(ErrorCode::kNotFound, "NotFound",
              qualified_plural(resource) + " " + quoted(name) + " not found");
}

Error path_not_found() {
  return make(ErrorCode::kNotFound, "NotFound", "the server could not find the requested resource");
}

Error method_not_allowed() {
  return make(ErrorCode::kInvalid, "MethodNotAllowed",
              "the server does not allow this method on the requested resource");
}

Error already_exists(const Resource& resource, std::string_view name) {
  return make(ErrorCode::kExists, "AlreadyExists",
              qualified_plural(resource) + " " + quoted(name) + " already exists");
}

Error write_conflict(const Resource& resource, std::string_view name, std::string_view why) {
  return make(ErrorCode::kConflict, "Conflict",
              "Operation cannot be fulfilled on " + qualified_plural(resource) + " " +
                  quoted(name) + ": " + std::string(why));
}

Error precondition_failed(const Resource& resource, std::string_view name, std::string_view field,
                          std::string_view wanted, std::string_view found) {
  const bool is_uid = field == "UID";
  return make(ErrorCode::kConflict, "Conflict",
              "Operation cannot be fulfilled on " + qualified_kind(resource) + " " + quoted(name) +
                  ": the " + std::string(field) + " in the precondition (" + std::string(wanted) +
                  ") does not match the " + std::string(field) + " in record (" +
                  std::string(found) + "). The object might have been " +
                  (is_uid ? "deleted and then recreated" : "modified"));
}

Error too_new(std::uint64_t version, std::uint64_t current) {
  Error error = make(ErrorCode::kDeadline, "Timeout",
                     "Timeout: Too large resource version: " + std::to_string(version) +
                         ", current: " + std::to_string(current));
  error.causes = {{"", "Too large resource version"}};
  error.retry_after = std::chrono::seconds(1);
  return error;
}

Error gone(std::string message) {
  return make(ErrorCode::kNotFound, "Expired", std::move(message));
}

Error too_large(std::string message) {
  return make(ErrorCode::kInvalid, "RequestEntityTooLarge", std::move(message));
}

Error unsupported_media_type(std::string message) {
  return make(ErrorCode::kInvalid, "UnsupportedMediaType", std::move(message));
}

Error invalid_object(const Resource& resource, std::string_view name,
                     std::vector<base::FieldCause> causes) {
  std::string list;
  for (const base::FieldCause& cause : causes) {
    if (!list.empty()) list += ", ";
    list += cause.field + ": " + cause.message;
  }
  if (causes.size() > 1) list = "[" + list + "]";
  Error error = make(ErrorCode::kInvalid, "Invalid",
                     qualified_kind(resource) + " " + quoted(name) + " is invalid: " + list);
  error.causes = std::move(causes);
  return error;
}

Error invalid_options(std::string_view kind, base::FieldCause cause) {
  Error error = make(ErrorCode::kInvalid, kInvalidOptions,
                     std::string(kind) + "." + std::string(kOptionsGroup) +
                         " \"\" is invalid: " + cause.field + ": " + cause.message);
  error.reason += kind;
  error.causes = {std::move(cause)};
  return error;
}

int status_code(const Error& error) {
  if (error.reason.starts_with(kInvalidOptions)) return 422;
  for (const ReasonRow& row : kReasons) {
    if (row.reason == error.reason) return row.status;
  }
  return base::http_status(error.code);
}

json::object status_object(const Error& error, const StatusSubject& subject) {
  json::object status{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::object()},
                      {"status", "Failure"},
                      {"message", error.message}};
  status["reason"] = error.reason.empty() ? std::string(base::kubernetes_reason(error.code))
                                          : error.reason.substr(0, error.reason.find(' '));
  json::object details = details_of(error, subject);
  if (!details.empty()) status["details"] = std::move(details);
  status["code"] = status_code(error);
  return status;
}

http::Response status_response(const Error& error, const StatusSubject& subject) {
  http::Response response =
      http::json_response(status_code(error), json::serialize(status_object(error, subject)));
  if (error.retry_after) {
    response.headers.set("Retry-After", std::to_string((error.retry_after->count() + 999) / 1000));
  }
  return response;
}

}  // namespace agenttier::store
