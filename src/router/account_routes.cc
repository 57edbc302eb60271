#include "router/account_routes.h"

#include <utility>

#include "api/rest_account.h"
#include "base/time_format.h"
#include "identity/api_keys.h"
#include "router/reply.h"
#include "router/sandbox_access.h"

namespace agenttier::router {
namespace {

using Answer = base::Result<http::Response>;

async::Task<Answer> me(Call call) {
  api::Me reply;
  reply.sub = call.caller.sub;
  reply.email = call.caller.email;
  reply.name = call.caller.name;
  reply.groups = call.caller.groups;
  reply.is_admin = call.caller.is_admin;
  co_return reply_json(200, reply.to_json());
}

api::ApiKeyView key_view(const identity::ApiKey& key) {
  api::ApiKeyView view;
  view.id = key.id;
  view.user_id = key.record.user_id;
  view.name = key.record.name;
  view.sandbox_id = key.record.sandbox_id;
  view.action_groups = key.record.action_groups;
  view.created_at = key.record.created_at;
  view.expires_at = key.record.expires_at;
  view.last_used_at = key.record.last_used_at;
  return view;
}

async::Task<Answer> list_keys(identity::ApiKeys& keys, Call call) {
  AT_CO_TRY(const auto found, co_await keys.list(call.caller.sub));
  api::ApiKeyList reply;
  for (const identity::ApiKey& key : found) reply.keys.push_back(key_view(key));
  co_return reply_json(200, reply.to_json());
}

base::Result<identity::NewApiKey> wanted_key(api::CreateApiKeyRequest request) {
  if (!request.scopes.empty() && !request.action_groups.empty() &&
      request.scopes != request.action_groups) {
    return base::invalid_field("actionGroups",
                               "differs from scopes, which means the same; give one");
  }
  identity::NewApiKey wanted;
  wanted.name = request.name.value_or("");
  if (request.expires_in) {
    AT_TRY(wanted.expires_in, base::parse_duration(*request.expires_in));
  }
  wanted.action_groups =
      request.scopes.empty() ? std::move(request.action_groups) : std::move(request.scopes);
  wanted.sandbox_id = request.sandbox_id.value_or("");
  if (wanted.sandbox_id.empty() && !wanted.action_groups.empty()) {
    return base::invalid_field("actionGroups",
                               "needs sandboxId: only a key of one sandbox is limited");
  }
  return wanted;
}

std::string key_warning(const identity::ApiKey& key) {
  std::string warning = "store this key now; it is not shown again";
  if (!key.record.expires_at) warning += "; it does not expire, revoke it when it is not needed";
  return warning;
}

async::Task<Answer> create_key(identity::ApiKeys& keys, SandboxAccess& access, Call call) {
  AT_CO_TRY(auto request, co_await read_json<api::CreateApiKeyRequest>(call));
  AT_CO_TRY(identity::NewApiKey wanted, wanted_key(std::move(request)));
  if (!wanted.sandbox_id.empty()) {
    AT_CO_TRY(const SandboxPointer bound, co_await access.read(call.caller, wanted.sandbox_id));
    wanted.sandbox_uid = bound->metadata.uid;
  }
  AT_CO_TRY(const identity::MintedApiKey minted,
            co_await keys.mint(std::move(call.caller), std::move(wanted)));
  api::ApiKeyCreated reply;
  reply.id = minted.info.id;
  reply.key = minted.key;
  reply.name = minted.info.record.name;
  reply.sandbox_id = minted.info.record.sandbox_id;
  reply.action_groups = minted.info.record.action_groups;
  reply.created_at = minted.info.record.created_at;
  reply.expires_at = minted.info.record.expires_at;
  reply.warning = key_warning(minted.info);
  http::Response response = reply_json(201, reply.to_json());
  response.headers.set("Cache-Control", "no-store");
  co_return std::move(response);
}

async::Task<Answer> revoke_key(identity::ApiKeys& keys, Call call) {
  AT_CO_OK(co_await keys.revoke(std::move(call.caller), call.parameter("keyId")));
  api::ApiKeyRevoked reply;
  reply.status = "revoked";
  reply.id = call.parameter("keyId");
  co_return reply_json(200, reply.to_json());
}

}  // namespace

void add_account_routes(Handlers& handlers, identity::ApiKeys& keys, SandboxAccess& access) {
  handlers.add("me", me);
  handlers.add("listApiKeys", [&keys](Call call) { return list_keys(keys, std::move(call)); });
  handlers.add("createApiKey",
               [&keys, &access](Call call) { return create_key(keys, access, std::move(call)); });
  handlers.add("revokeApiKey", [&keys](Call call) { return revoke_key(keys, std::move(call)); });
}

}  // namespace agenttier::router
