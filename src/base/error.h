#pragma once
// An Error says what failed, in words for a person, and in a code for a program.
//
// The code set is closed and chosen by what the caller should do: fix the request, sign in, ask for
// rights, retry, wait. One table maps a code to an HTTP status and a Kubernetes reason (error.cc);
// the CLI exit code and the SDK exception follow from the status.
// `reason` is an optional machine-readable refinement ("policy_violation"); `causes` name the
// fields of a bad input. Each level that passes an error up adds one phrase with context(), so the
// text reads from the outside in: "start sandbox demo: mount /workspace: no space left on device".
//
// Example:
//   return invalid("name: must be a DNS label, for example my-sandbox");
//   return std::move(error).context("start sandbox demo");

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agenttier::base {

enum class ErrorCode : std::uint8_t {
  kInvalid,          // the request is wrong; change it                      400
  kUnauthenticated,  // no or a bad credential                               401
  kDenied,           // the caller may not do this                           403
  kNotFound,         // no such object, or the caller may not know of it     404
  kExists,           // the name is taken                                    409
  kConflict,         // the object's state or version forbids this; re-read  409
  kExhausted,        // a limit or quota is reached; wait or ask for more    429
  kUnavailable,      // a part is away or busy; retry                        503
  kDeadline,         // the time limit passed                                504
  kCancelled,        // the caller went away or the program is stopping      499
  kUnimplemented,    // this server does not do that                         501
  kInternal,         // a fault of ours                                      500
};

struct FieldCause {
  std::string field;    // path of the field, as the user wrote it: "spec.storage.size"
  std::string message;  // what is wrong with it and what would be right
  bool operator==(const FieldCause&) const = default;
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string reason;  // empty, or a stable snake_case word
  std::vector<FieldCause> causes;
  std::optional<std::chrono::milliseconds> retry_after;

  // Puts "phrase: " before the message.
  Error context(std::string_view phrase) &&;
};

Error invalid(std::string message);
Error invalid_field(std::string field, std::string message);
Error unauthenticated(std::string message);
Error denied(std::string message);
Error not_found(std::string message);
Error exists(std::string message);
Error conflict(std::string message);
Error exhausted(std::string message);
Error unavailable(std::string message);
Error deadline_exceeded(std::string message);
Error cancelled(std::string message);
Error unimplemented(std::string message);
Error internal(std::string message);
// kInternal, or kExhausted for ENOSPC/EDQUOT, kNotFound for ENOENT, kDenied for EACCES/EPERM,
// kExists for EEXIST; message is "step: <strerror>".
Error from_errno(std::string_view step, int error_number);

int http_status(ErrorCode code);
// Reason of a Kubernetes Status: "Invalid", "NotFound", "AlreadyExists", "Conflict", ...
std::string_view kubernetes_reason(ErrorCode code);
// Nearest code of an HTTP status (any 2xx is a caller's bug).
ErrorCode code_from_http_status(int status);
std::string_view code_name(ErrorCode code);  // "invalid", "not_found", ...

}  // namespace agenttier::base
