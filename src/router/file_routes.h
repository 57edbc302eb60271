#pragma once
// File calls of the REST API, as calls of the runtime protocol. Paths are checked here for shape
// and resolved in the sandbox by its kernel; nothing here decides what lies in the workspace.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "router/call.h"
#include "router/runtime_client.h"

namespace agenttier::router {

class SandboxCalls;

struct FileOptions {
  std::uint64_t upload_bytes_max = 8ULL << 30;
};

// The absolute path that the rest of a URL path means: "workspace/a" and "/workspace//a" are
// "/workspace/a". kInvalid for "..", NUL and no path at all.
base::Result<std::string> parse_file_path(std::string_view rest);

// "report.zip" safe within a quoted header value.
std::string download_name(std::string_view path);

// The operations on files, and archive.
// `calls` must outlive the handlers.
void add_file_routes(Handlers& handlers, SandboxCalls& calls, FileOptions options);

}  // namespace agenttier::router
