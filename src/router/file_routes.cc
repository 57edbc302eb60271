#include "router/file_routes.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <utility>

#include "api/names.h"
#include "api/rest_exec.h"
#include "api/runtime_protocol.h"
#include "router/reply.h"
#include "router/sandbox_calls.h"

namespace agenttier::router {
namespace {

using Answer = base::Result<http::Response>;

constexpr std::size_t kPathBytesMax = 4096;
constexpr std::size_t kDownloadNameBytesMax = 100;
// What a file's answer keeps of the runtime's headers.
constexpr std::string_view kFileHeaders[] = {"Content-Range", "Accept-Ranges", "ETag",
                                             "Last-Modified"};
// What a read passes on of the caller's headers.
constexpr std::string_view kReadHeaders[] = {"Range", "If-Range", "If-None-Match"};

std::string with_path(std::string_view target, std::string_view path) {
  return std::string(target) + "?path=" + http::percent_encode_path(path);
}

base::Result<std::string> query_path(const Call& call) {
  return parse_file_path(call.query("path").value_or(std::string(api::names::kWorkspacePath)));
}

base::Result<std::string> path_of(const Call& call) {
  return parse_file_path(call.parameter("path"));
}

// Sandbox code chose these bytes: no browser may take them for a page.
void forbid_sniffing(http::Response& response) {
  response.headers.set("X-Content-Type-Options", "nosniff");
}

http::Response json_of_runtime(http::Response answer, int status) {
  http::Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  forbid_sniffing(response);
  response.body = std::move(answer.body);
  return response;
}

http::Response file_answer(http::Response answer, std::string_view path) {
  http::Response response;
  response.status = answer.status;
  for (const std::string_view name : kFileHeaders) {
    if (const auto value = answer.headers.find(name)) {
      response.headers.set(name, std::string(*value));
    }
  }
  response.headers.set("Content-Type", "application/octet-stream");
  response.headers.set("Content-Disposition",
                       "attachment; filename=\"" + download_name(path) + "\"");
  forbid_sniffing(response);
  response.body = std::move(answer.body);
  return response;
}

async::Task<Answer> list_files(SandboxCalls& calls, Call call) {
  AT_CO_TRY(const std::string path, query_path(call));
  RuntimeCall list{.target = with_path("/v1/files", path)};
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(list)));
  co_return json_of_runtime(std::move(answer), 200);
}

async::Task<Answer> read_file(SandboxCalls& calls, Call call) {
  if (call.parameter("path").empty()) co_return co_await list_files(calls, std::move(call));
  AT_CO_TRY(std::string path, path_of(call));
  RuntimeCall read{.target = with_path("/v1/files/content", path)};
  for (const std::string_view name : kReadHeaders) {
    if (const auto value = call.request.headers.find(name)) {
      read.headers.set(name, std::string(*value));
    }
  }
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(read)));
  co_return file_answer(std::move(answer), path);
}

// The head of a file's answer, from its entry: nothing of the file is read.
async::Task<Answer> head_file(SandboxCalls& calls, Call call) {
  AT_CO_TRY(std::string path, path_of(call));
  RuntimeCall stat{.target = with_path("/v1/files/stat", path)};
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(stat)));
  AT_CO_TRY(std::string text, co_await answer.body.read_all(kRuntimeErrorBytesMax));
  boost::system::error_code error;
  const auto entry = api::FileEntry::from_json(boost::json::parse(text, error));
  if (error || !entry) co_return base::unavailable("the sandbox's runtime sent a broken entry");
  if (entry->is_dir) co_return base::invalid("path: " + path + " is a folder, not a file");
  http::Response head = file_answer(http::Response(), path);
  head.headers.set("Content-Length", std::to_string(entry->size));
  head.headers.set("Accept-Ranges", "bytes");
  co_return std::move(head);
}

async::Task<Answer> write_file(SandboxCalls& calls, Call call, FileOptions options) {
  AT_CO_TRY(std::string path, path_of(call));
  if (const auto length = call.request.body.length();
      length && *length > options.upload_bytes_max) {
    base::Error error = base::invalid("the file is larger than the limit of " +
                                      std::to_string(options.upload_bytes_max) + " bytes");
    error.reason = "body_too_large";
    co_return error;
  }
  RuntimeCall write{.method = "PUT", .target = with_path("/v1/files/content", path)};
  if (const auto mode = call.query("mode")) {
    write.target += "&mode=" + http::percent_encode(*mode);
  }
  write.headers.set("Content-Type", "application/octet-stream");
  write.headers.set("X-Body-Limit", std::to_string(options.upload_bytes_max));
  write.body = std::move(call.request.body);
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(write)));
  co_return json_of_runtime(std::move(answer), 201);
}

async::Task<Answer> delete_file(SandboxCalls& calls, Call call) {
  AT_CO_TRY(std::string path, path_of(call));
  AT_CO_TRY(const bool recursive, call.query_flag("recursive"));
  RuntimeCall remove{.method = "DELETE", .target = with_path("/v1/files", path)};
  if (recursive) remove.target += "&recursive=true";
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(remove)));
  co_return reply_empty(204);
}

async::Task<Answer> stat_file(SandboxCalls& calls, Call call) {
  AT_CO_TRY(std::string path, path_of(call));
  RuntimeCall stat{.target = with_path("/v1/files/stat", path)};
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(stat)));
  co_return json_of_runtime(std::move(answer), 200);
}

async::Task<Answer> make_directory(SandboxCalls& calls, Call call) {
  AT_CO_TRY(const auto request, co_await read_json<api::MakeDirectoryRequest>(call));
  AT_CO_TRY(const std::string path, parse_file_path(request.path));
  RuntimeCall make{.method = "POST", .target = with_path("/v1/files/mkdir", path)};
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(make)));
  co_return reply_empty(answer.status);
}

async::Task<Answer> move_file(SandboxCalls& calls, Call call) {
  AT_CO_TRY(const auto request, co_await read_json<api::MoveFileRequest>(call));
  AT_CO_TRY(const std::string from, parse_file_path(request.from));
  AT_CO_TRY(const std::string to, parse_file_path(request.to));
  RuntimeCall move{.method = "POST",
                   .target = "/v1/files/move?from=" + http::percent_encode_path(from) +
                             "&to=" + http::percent_encode_path(to)};
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(move)));
  co_return reply_empty(204);
}

bool lies_in_workspace(std::string_view path) {
  constexpr std::string_view kRoot = api::names::kWorkspacePath;
  return path.starts_with(kRoot) && (path.size() == kRoot.size() || path[kRoot.size()] == '/');
}

async::Task<Answer> archive(SandboxCalls& calls, Call call) {
  AT_CO_TRY(std::string path, query_path(call));
  if (!lies_in_workspace(path)) {
    co_return base::invalid_field(
        "path", "must be " + std::string(api::names::kWorkspacePath) + " or a folder below it");
  }
  RuntimeCall read{.target = with_path("/v1/archive", path)};
  AT_CO_TRY(http::Response answer,
            co_await calls.call(call.caller, call.parameter("id"), std::move(read)));
  http::Response response;
  response.headers.set("Content-Type", "application/zip");
  response.headers.set("Content-Disposition", "attachment; filename=\"" + call.parameter("id") +
                                                  "-" + download_name(path) + ".zip\"");
  response.headers.set("Cache-Control", "no-store");
  forbid_sniffing(response);
  response.body = std::move(answer.body);
  co_return std::move(response);
}

}  // namespace

base::Result<std::string> parse_file_path(std::string_view rest) {
  std::string path;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view step = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (step.empty() || step == ".") continue;
    if (step == "..") return base::invalid_field("path", "must not contain the step ..");
    if (step.find('\0') != std::string_view::npos) {
      return base::invalid_field("path", "must not contain a NUL byte");
    }
    path += "/" + std::string(step);
  }
  if (path.empty()) return base::invalid_field("path", "must name a file, for example workspace/a");
  if (path.size() > kPathBytesMax) {
    return base::invalid_field("path",
                               "is longer than " + std::to_string(kPathBytesMax) + " bytes");
  }
  return path;
}

std::string download_name(std::string_view path) {
  std::string name;
  for (const char c : path.substr(path.rfind('/') + 1).substr(0, kDownloadNameBytesMax)) {
    const bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (is_safe) name.push_back(c);
  }
  return name.empty() ? "file" : name;
}

void add_file_routes(Handlers& handlers, SandboxCalls& calls, FileOptions options) {
  handlers.add("listFiles", [&calls](Call call) { return list_files(calls, std::move(call)); });
  handlers.add("readFile", [&calls](Call call) { return read_file(calls, std::move(call)); });
  handlers.add("headFile", [&calls](Call call) { return head_file(calls, std::move(call)); });
  handlers.add("writeFile", [&calls, options](Call call) {
    return write_file(calls, std::move(call), options);
  });
  handlers.add("deleteFile", [&calls](Call call) { return delete_file(calls, std::move(call)); });
  handlers.add("statFile", [&calls](Call call) { return stat_file(calls, std::move(call)); });
  handlers.add("makeDirectory",
               [&calls](Call call) { return make_directory(calls, std::move(call)); });
  handlers.add("moveFile", [&calls](Call call) { return move_file(calls, std::move(call)); });
  handlers.add("archive", [&calls](Call call) { return archive(calls, std::move(call)); });
}

}  // namespace agenttier::router
