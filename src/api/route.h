#pragma once
// A Route is one row of the table of REST operations: who may call it, and within which limits.
//
// The table is routes.h, generated from schema/routes.yaml. The router refuses by the row before a
// handler sees the call. `who` has no default: a row without it does not compile.
//
// Example:
//   const Route* route = find_route("stopSandbox");
//   route->who == Access::kOwner && route->scope == Scope::kStop

#include <chrono>
#include <cstdint>
#include <string_view>

namespace agenttier::api {

enum class Access : std::uint8_t {
  kPublic,  // no credential
  kAny,     // any authenticated caller
  kReader,  // owner, admin, or someone it is shared with; others get 404
  kOwner,   // the creator or an admin; others get 404
  kAdmin,   // admins; others get 403
};

class Who {
 public:
  constexpr Who(Access access) : access_(access) {}  // NOLINT: implicit
  constexpr Access access() const { return access_; }
  constexpr bool operator==(const Who&) const = default;

 private:
  Access access_;
};

// The action group that a key bound to one sandbox needs for the call.
enum class Scope : std::uint8_t {
  kNone,   // no such key may call it
  kBound,  // any key bound to this sandbox may
  kRunCommand,
  kFilesRead,
  kFilesWrite,
  kPorts,
  kAgentInvoke,
  kAgentConfigure,
  kResume,
  kStop,
};

struct Route {
  std::string_view operation;  // "createSandbox"
  std::string_view method;
  std::string_view path;  // "/api/v1/sandboxes/{id}"; "{path*}" is the rest and may be empty
  Who who;
  Scope scope = Scope::kNone;
  std::uint64_t body_bytes_max = 0;
  std::chrono::milliseconds deadline{0};  // zero: a stream without a limit of its own
  int success = 200;
  std::string_view request = {};  // a type's name, "bytes", or empty
  std::string_view reply = {};    // a type's name, "bytes", "frames", "text", ... or empty
};

// "files:read"; empty for kNone and kBound.
std::string_view scope_name(Scope scope);

}  // namespace agenttier::api
