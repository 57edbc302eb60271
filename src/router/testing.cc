#include "router/testing.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "api/names.h"
#include "api/sandbox.h"
#include "api/secret.h"
#include "api/template.h"
#include "async/event.h"
#include "base/bytes.h"
#include "base/time_format.h"
#include "kube/typed.h"
#include "router/frames.h"

namespace agenttier::router {
namespace {

namespace json = boost::json;

// Gives its pieces, then waits until it is destroyed or its task is cancelled.
class HangingReader final : public http::BodyReader {
 public:
  HangingReader(async::Executor executor, std::string first, int* open)
      : never_(std::move(executor)), first_(std::move(first)), open_(open) {
    ++*open_;
  }
  ~HangingReader() override { --*open_; }

  async::Task<base::Result<std::string>> read() override {
    if (!first_.empty()) co_return std::exchange(first_, {});
    while (co_await never_.wait() != async::Wake::kCancelled) {
    }
    co_return base::cancelled("the caller went away");
  }

 private:
  async::Event never_;
  std::string first_;
  int* open_;
};

http::Response json_response(int status, const json::object& body) {
  http::Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = http::Body(json::serialize(body));
  return response;
}

http::Response refusal(int status, std::string_view code, std::string message) {
  return json_response(status, {{"error", code}, {"message", std::move(message)}});
}

std::string status_frame(int exit_code, std::string_view reason, std::uint64_t output_bytes) {
  const json::object status = {{"exitCode", exit_code},
                               {"reason", reason},
                               {"durationMs", 3},
                               {"outputBytes", output_bytes},
                               {"truncated", false}};
  return encode_frame(Frame::Channel::kStatus, 0, json::serialize(status));
}

void append_output(std::string& out, std::uint64_t& offset, Frame::Channel channel,
                   std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kFramePayloadBytesMax);
    out += encode_frame(channel, offset, part);
    offset += part.size();
    text.remove_prefix(part.size());
  }
}

const json::object kProcess = {{"id", "p-0123456789abcdef"},
                               {"pid", 7},
                               {"argv", json::array{"sh"}},
                               {"cwd", "/workspace"},
                               {"tty", false},
                               {"state", "running"},
                               {"startedAt", "2030-01-01T00:00:00Z"},
                               {"outputBytes", 0}};

async::Task<http::Response> handle(Router& router, http::Request request) {
  return router.handle(std::move(request));
}

async::Task<Reply> read_reply(Router& router, http::Request request) {
  http::Response response = co_await handle(router, std::move(request));
  Reply reply;
  reply.status = response.status;
  reply.headers = response.headers;
  base::Result<std::string> body = co_await response.body.read_all(1ULL << 30);
  reply.body = body ? *std::move(body) : "(broken: " + body.error().message + ")";
  co_return std::move(reply);
}

async::Task<void> keep_reply(Router& router, http::Request request, std::optional<Reply>& reply) {
  reply = co_await read_reply(router, std::move(request));
}

}  // namespace

async::Task<base::Result<http::Response>> FakeRuntime::send(http::Request request) {
  if (unreachable) co_return *unreachable;
  Seen now{request.method, request.target, request.authority, {}, request.headers};
  AT_CO_TRY(now.body, co_await request.body.read_all(1ULL << 30));
  seen.push_back(now);
  if (next) {
    http::Response given = std::move(*next);
    next.reset();
    co_return std::move(given);
  }
  if (now.headers.find("Authorization") != "Bearer " + token) {
    co_return refusal(401, "unauthenticated", "wrong token");
  }
  co_return answer(now);
}

http::Response FakeRuntime::answer(const Seen& request) {
  const auto target = http::parse_target(request.target);
  const std::string& path = target->path;
  if (path == "/v1/exec") return exec(request);
  if (path.starts_with("/v1/files") || path == "/v1/archive") return file_call(request, *target);
  if (path == "/v1/processes" && request.method == "POST") return json_response(201, kProcess);
  if (path == "/v1/processes") {
    return json_response(200, {{"processes", json::array{kProcess}}});
  }
  if (path.find("/p-none") != std::string::npos) {
    return refusal(404, "not_found", "there is no process p-none");
  }
  if (path.ends_with("/output")) {
    http::Response response;
    response.body =
        http::Body(encode_frame(Frame::Channel::kStdout, 0, "hi\n") + status_frame(0, "exited", 3));
    return response;
  }
  if (request.method == "GET") return json_response(200, kProcess);
  http::Response done;
  done.status = 204;
  return done;
}

http::Response FakeRuntime::exec(const Seen& request) {
  const json::object spec = json::parse(request.body).as_object();
  std::string line = spec.contains("command") ? std::string(spec.at("command").as_string()) : "";
  std::string frames;
  std::uint64_t offset = 0;
  std::string_view reason = "exited";
  int exit_code = 0;
  http::Response response;
  while (!line.empty()) {
    const std::string step = line.substr(0, line.find(';'));
    line.erase(0, step.size() + 1);
    const std::string word = step.substr(0, step.find(' '));
    const std::string rest = word.size() < step.size() ? step.substr(word.size() + 1) : "";
    if (word == "out") append_output(frames, offset, Frame::Channel::kStdout, rest);
    if (word == "err") append_output(frames, offset, Frame::Channel::kStderr, rest);
    if (word == "big") {
      append_output(frames, offset, Frame::Channel::kStdout, std::string(std::stoul(rest), 'x'));
    }
    if (word == "exit") exit_code = std::stoi(rest);
    if (word == "timeout") {
      reason = "timeout";
      exit_code = 143;
    }
    if (word == "cut") {
      response.body = http::Body(std::move(frames));
      return response;
    }
    if (word == "hang") {
      response.body =
          http::Body(std::make_unique<HangingReader>(executor_, std::move(frames), &streams_open));
      return response;
    }
  }
  response.body = http::Body(frames + status_frame(exit_code, reason, offset));
  return response;
}

http::Response FakeRuntime::content(const Seen& request, const std::string& path) {
  http::Response response;
  if (request.method == "PUT") {
    files[path] = request.body;
    return json_response(201, {{"path", path}, {"bytes", request.body.size()}});
  }
  const auto found = files.find(path);
  if (found == files.end()) return refusal(404, "not_found", path + ": no such file");
  response.headers.set("ETag", "\"1\"");
  response.headers.set("Set-Cookie", "stolen=1");
  if (const auto range = request.headers.find("Range")) {
    response.status = 206;
    response.headers.set("Content-Range", "bytes 2-4/" + std::to_string(found->second.size()));
    response.body = http::Body(found->second.substr(2, 3));
    return response;
  }
  response.body = http::Body(found->second);
  return response;
}

http::Response FakeRuntime::file_call(const Seen& request, const http::Target& target) {
  const std::string path(target.find("path").value_or(target.find("from").value_or("")));
  if (!path.starts_with("/workspace") && !path.starts_with("/tmp")) {
    return refusal(403, "outside_workspace", path + " is outside the workspace");
  }
  if (target.path == "/v1/files/content") return content(request, path);
  if (target.path == "/v1/archive") {
    http::Response response;
    response.body = http::Body("PK");
    return response;
  }
  if (target.path == "/v1/files/mkdir") return json_response(201, {});
  if (target.path == "/v1/files/stat") {
    const auto found = files.find(path);
    if (found == files.end()) return refusal(404, "not_found", path + ": no such file");
    return json_response(200, {{"name", path.substr(path.rfind('/') + 1)},
                               {"size", found->second.size()},
                               {"isDir", false},
                               {"mode", "-rw-r--r--"},
                               {"modifiedAt", 1}});
  }
  http::Response done;
  done.status = 204;
  if (request.method == "DELETE" && files.erase(path) == 0) {
    return refusal(404, "not_found", path + ": no such file");
  }
  if (request.method != "GET") return done;
  return json_response(200, {{"path", path}, {"entries", json::array()}});
}

async::Task<base::Result<http::Response>> MeddlingClient::send(http::Request request) {
  if (request.target.find("/log?") != std::string::npos) {
    last_log_target = request.target;
    http::Response log;
    log.body = http::Body("line 1\nline 2\n");
    co_return std::move(log);
  }
  if (request.method == "PATCH" && writes > 0) {
    --writes;
    http::Request first;
    first.method = "PATCH";
    first.target = request.target;
    first.headers = request.headers;
    first.body = http::Body(R"({"metadata":{"annotations":{"meddled":")" + std::to_string(writes) +
                            R"("}}})");
    AT_CO_TRY(http::Response done, co_await transport_.send(std::move(first)));
    AT_ASSERT(done.status == 200);
  }
  co_return co_await transport_.send(std::move(request));
}

json::object Reply::json() const {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  return !error && value.is_object() ? value.get_object() : json::object();
}

std::string Reply::text(std::string_view member) const {
  const json::object object = json();
  const json::value* value = object.if_contains(member);
  if (value == nullptr) return "(none)";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

TestPlane::TestPlane() {
  Router::Parts parts{loop.executor(), router_client_, runtime,      authenticator_,
                      keys_,           loop.timers(),  loop.random()};
  router_ = std::make_unique<Router>(parts, RouterOptions{.access_log = AccessLog::kOff});
  AT_ASSERT(router_->start().has_value());
  AT_ASSERT(loop.run(router_->wait_until_ready()).has_value());
}

TestPlane::~TestPlane() {
  loop.close();
  loop.run(router_->close());
}

std::string TestPlane::key_of(std::string_view user) {
  identity::Claims maker;
  maker.sub = user;
  maker.email = std::string(user) + "@example.com";
  maker.is_admin = user == "root";
  identity::NewApiKey wanted;
  wanted.name = std::string(user) + "'s key";
  if (maker.is_admin) wanted.rights = identity::KeyRights::kAdmin;
  auto minted = loop.run(keys_.mint(std::move(maker), std::move(wanted)));
  AT_ASSERT(minted.has_value());
  return minted->key;
}

std::string TestPlane::bound_key_of(std::string_view user, std::string_view sandbox,
                                    std::vector<std::string> groups) {
  identity::Claims maker;
  maker.sub = user;
  identity::NewApiKey wanted;
  wanted.name = "bound";
  wanted.sandbox_id = sandbox;
  wanted.sandbox_uid =
      std::string(stored(sandbox).at("metadata").as_object().at("uid").as_string());
  wanted.action_groups = std::move(groups);
  auto minted = loop.run(keys_.mint(std::move(maker), std::move(wanted)));
  AT_ASSERT(minted.has_value());
  return minted->key;
}

Reply TestPlane::call(std::string_view method, std::string_view path, std::string_view key,
                      std::string body, http::Headers headers) {
  return call_target(method, "/api/v1" + std::string(path), key, std::move(body),
                     std::move(headers));
}

Reply TestPlane::call_target(std::string_view method, std::string_view target, std::string_view key,
                             std::string body, http::Headers headers) {
  http::Request request;
  request.method = method;
  request.target = target;
  request.headers = std::move(headers);
  if (!key.empty()) request.headers.set("X-API-Key", std::string(key));
  request.body = http::Body(std::move(body));
  return loop.run(read_reply(*router_, std::move(request)));
}

void TestPlane::start_call(std::string_view method, std::string_view path, std::string_view key,
                           std::string body, std::optional<Reply>& reply,
                           async::TaskGroup* caller) {
  http::Request request;
  request.method = method;
  request.target = "/api/v1" + std::string(path);
  request.headers.set("X-API-Key", std::string(key));
  request.body = http::Body(std::move(body));
  async::Task<void> task = keep_reply(*router_, std::move(request), reply);
  if (caller == nullptr) return loop.spawn(std::move(task));
  AT_ASSERT(caller->spawn(std::move(task)).has_value());
}

void TestPlane::add_template(std::string_view name) {
  api::ClusterSandboxTemplate wanted;
  wanted.metadata.name = name;
  api::ImageSpec image;
  image.repository = "agenttier/" + std::string(name) + ":1";
  wanted.spec.image = std::move(image);
  AT_ASSERT(
      loop.run(kube::create<api::ClusterSandboxTemplate>(*client, std::move(wanted))).has_value());
  loop.run_until_idle();
}

void TestPlane::create(std::string_view name, std::string_view key) {
  const Reply made =
      post("/sandboxes", key,
           json::serialize(json::object{{"name", name}, {"templateRef", {{"name", "minimal"}}}}));
  AT_ASSERT(made.status == 201);
  set_phase(name, "Creating");
}

void TestPlane::merge(std::string_view name, json::value patch, kube::Subresource subresource) {
  const auto patched =
      loop.run(client->patch(api::Sandbox::kType, {"default", std::string(name)},
                             kube::PatchType::kMerge, std::move(patch), subresource));
  AT_ASSERT(patched.has_value());
  loop.run_until_idle();
}

void TestPlane::set_status(std::string_view name, json::object status) {
  merge(name, json::object{{"status", std::move(status)}}, kube::Subresource::kStatus);
}

void TestPlane::set_phase(std::string_view name, std::string_view phase) {
  set_status(name, {{"phase", phase}});
}

void TestPlane::set_running(std::string_view name) {
  const json::object object = stored(name);
  const auto& metadata = object.at("metadata").as_object();
  api::Secret secret;
  secret.metadata.name = api::names::token_secret_of(name);
  secret.metadata.ns = "default";
  secret.metadata.labels[std::string(api::names::kSecretPurposeLabel)] =
      api::names::kPurposeRuntimeToken;
  api::OwnerReference owner;
  owner.api_version = api::names::kApiVersion;
  owner.kind = "Sandbox";
  owner.name = name;
  owner.uid = std::string(metadata.at("uid").as_string());
  secret.metadata.owner_references = {owner};
  secret.data[std::string(api::names::kTokenKey)] = base::to_base64(runtime.token);
  const auto made = loop.run(kube::create<api::Secret>(*client, std::move(secret)));
  AT_ASSERT(made.has_value() || made.error().code == base::ErrorCode::kExists);
  set_status(name, {{"phase", "Running"},
                    {"podIP", "10.0.0.2"},
                    {"podName", api::names::pod_of(name)},
                    {"pvcName", api::names::claim_of(name)}});
}

void TestPlane::finish_delete(std::string_view name) {
  merge(name, {{"metadata", {{"finalizers", nullptr}}}}, kube::Subresource::kNone);
}

json::object TestPlane::stored(std::string_view name) {
  auto object = loop.run(client->get(api::Sandbox::kType, {"default", std::string(name)}));
  return object ? *std::move(object) : json::object();
}

}  // namespace agenttier::router
