#include "router/sandbox_runtimes.h"

#include <utility>

#include "api/meta.h"
#include "api/names.h"
#include "base/bytes.h"
#include "kube/typed.h"

namespace agenttier::router {
namespace {

base::Result<std::string> read_token(const api::Secret& secret, const api::Sandbox& sandbox) {
  const auto found = secret.data.find(std::string(api::names::kTokenKey));
  if (found == secret.data.end() || !api::is_owned_by(secret.metadata, sandbox.metadata.uid)) {
    return base::unavailable("sandbox " + sandbox.metadata.name +
                             " is not ready to be called yet; try again");
  }
  return base::from_base64(found->second);
}

std::string_view what_to_do(api::Phase phase) {
  switch (phase) {
    case api::Phase::kStopped:
      return "resume it first";
    case api::Phase::kError:
      return "see its message, then resume it";
    case api::Phase::kDeleting:
      return "it is being deleted";
    default:
      return "wait until it is Running";
  }
}

}  // namespace

base::Status check_running(const api::Sandbox& sandbox) {
  const api::Phase phase = phase_of(sandbox);
  if (phase == api::Phase::kRunning) return {};
  const api::Phase shown = phase == api::Phase::kNew ? api::Phase::kCreating : phase;
  base::Error error = base::conflict("sandbox " + sandbox.metadata.name + " is " +
                                     std::string(api::phase_name(shown)) + ", not Running; " +
                                     std::string(what_to_do(phase)));
  error.reason = "sandbox_not_running";
  return error;
}

async::Task<base::Result<RuntimeEndpoint>> SandboxRuntimes::endpoint_of(SandboxPointer sandbox) {
  AT_CO_OK(check_running(*sandbox));
  const std::string& address = sandbox->status->pod_ip;
  if (address.empty()) {
    co_return base::unavailable("sandbox " + sandbox->metadata.name +
                                " has no address yet; try again");
  }
  AT_CO_TRY(std::string token, co_await token_of(sandbox));
  const bool is_v6 = address.find(':') != std::string::npos;
  RuntimeEndpoint endpoint;
  endpoint.sandbox = sandbox->metadata.name;
  endpoint.authority =
      (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(api::names::kRuntimePort);
  endpoint.token = std::move(token);
  co_return std::move(endpoint);
}

async::Task<base::Result<std::string>> SandboxRuntimes::token_of(SandboxPointer sandbox) {
  const kube::ObjectKey key{sandbox->metadata.ns,
                            api::names::token_secret_of(sandbox->metadata.name)};
  const auto cached = tokens_.find(key);
  if (cached && api::is_owned_by(cached->metadata, sandbox->metadata.uid)) {
    co_return read_token(*cached, *sandbox);
  }
  // The Secret may be newer than what the watch has brought.
  auto read = co_await kube::get<api::Secret>(client_, key);
  if (!read && read.error().code != base::ErrorCode::kNotFound) {
    co_return std::move(read).error().context("read the token of sandbox " +
                                              sandbox->metadata.name);
  }
  co_return read_token(read ? *read : api::Secret(), *sandbox);
}

}  // namespace agenttier::router
