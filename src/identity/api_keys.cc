#include "identity/api_keys.h"

#include <algorithm>
#include <utility>

#include "api/names.h"
#include "base/bytes.h"
#include "base/time_format.h"
#include "identity/sha256.h"
#include "kube/typed.h"
#include "observe/log.h"

namespace agenttier::identity {
namespace {

namespace names = api::names;

constexpr std::size_t kKeyBytesMax = 256;
constexpr std::size_t kKeyTextSize = 43;  // 32 bytes as base64url
constexpr std::string_view kSecretPrefix = "agenttier-apikey-";

base::Error refused() {
  base::Error error = base::unauthenticated("the API key is unknown, revoked or expired");
  error.reason = "invalid_api_key";
  return error;
}

base::Error no_such_key() {
  base::Error error = base::not_found("there is no such API key");
  error.reason = "api_key_not_found";
  return error;
}

std::string purpose_selector() {
  return std::string(names::kSecretPurposeLabel) + "=" + std::string(names::kPurposeApiKey);
}

std::string user_selector(const std::string& user_id) {
  return purpose_selector() + "," + std::string(names::kApiKeyUserLabel) + "=" +
         names::label_value_of(user_id);
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

base::Status check_name(const std::string& name) {
  if (name.size() > kApiKeyNameBytesMax) {
    return base::invalid_field("name", "must be at most 128 bytes");
  }
  if (!base::is_valid_utf8(name) || std::ranges::any_of(name, is_control)) {
    return base::invalid_field("name", "must be UTF-8 text without control characters");
  }
  return {};
}

base::Status check_binding(const NewApiKey& wanted) {
  if (wanted.sandbox_id.empty()) {
    if (wanted.action_groups.empty()) return {};
    return base::invalid_field("scopes", "need a sandboxId: only a key of one sandbox has scopes");
  }
  if (wanted.sandbox_uid.empty()) return base::internal("a bound key needs the sandbox's UID");
  const auto& known = action_groups();
  for (const std::string& group : wanted.action_groups) {
    if (std::ranges::find(known, group) == known.end()) {
      return base::invalid_field("scopes", "unknown scope " + base::to_valid_utf8(group));
    }
  }
  return {};
}

base::Status check_rights(const Claims& maker, const NewApiKey& wanted) {
  if (maker.sub.empty()) return base::denied("a caller without an identity makes no API keys");
  if (maker.is_bound()) return base::denied("an API key bound to a sandbox makes no API keys");
  if (wanted.rights == KeyRights::kAdmin && !maker.is_admin) {
    return base::denied("only an administrator makes API keys of administrators");
  }
  if (wanted.rights == KeyRights::kAdmin && !wanted.sandbox_id.empty()) {
    return base::invalid_field("sandboxId", "a key of one sandbox is never an administrator's");
  }
  return {};
}

// The end of the key's life: as asked for, and not after that of the maker's own credential.
base::Result<std::optional<base::WallTime>> end_of(const Claims& maker, const NewApiKey& wanted,
                                                   base::WallTime now) {
  if (!wanted.expires_in) return maker.expires_at;
  if (wanted.expires_in->count() <= 0 || *wanted.expires_in > kApiKeyLifeMax) {
    return base::invalid_field("expiresIn", "must be positive and at most ten years");
  }
  const base::WallTime end = now + std::chrono::floor<base::WallTime::duration>(*wanted.expires_in);
  if (maker.expires_at && end > *maker.expires_at) {
    return base::invalid_field("expiresIn", "must not end after the key that asks for it, at " +
                                                base::format_rfc3339(*maker.expires_at));
  }
  return std::optional<base::WallTime>(end);
}

}  // namespace

const std::vector<std::string>& action_groups() {
  static const std::vector<std::string> kGroups{"run-command", "files:read",   "files:write",
                                                "ports",       "agent:invoke", "agent:configure",
                                                "resume",      "stop"};
  return kGroups;
}

std::string make_api_key(base::Random& random) {
  return std::string(kApiKeyPrefix) + random.token();
}

bool looks_like_api_key(std::string_view text) {
  if (!text.starts_with(kApiKeyPrefix)) return false;
  text.remove_prefix(kApiKeyPrefix.size());
  const auto is_base64url = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return text.size() == kKeyTextSize && std::ranges::all_of(text, is_base64url);
}

ApiKeys::ApiKeys(kube::Client& client, async::Timers& timers, base::Random& random,
                 async::Executor executor, Options options)
    : client_(client),
      timers_(timers),
      random_(random),
      options_(std::move(options)),
      secrets_(client, timers, random, std::move(executor),
               {.ns = options_.ns, .label_selector = purpose_selector()}) {}

async::Task<base::Result<Claims>> ApiKeys::verify(std::string key) {
  if (key.empty() || key.size() > kKeyBytesMax) co_return refused();
  const std::string hash = sha256_hex(key);
  auto found = co_await look_up(names::api_key_secret_of(hash));
  if (!found) {
    if (found.error().code == base::ErrorCode::kNotFound) co_return refused();
    co_return std::move(found).error().context("look up the API key");
  }
  if (!base::equal_constant_time(found->record.key_hash, hash)) co_return refused();
  if (is_expired(found->record, timers_.clock().now())) co_return refused();
  co_return claims_of(*found);
}

// What run() knows is enough only if the API was asked a short while ago: a watch that is cut off
// must not keep a revoked key alive.
const ApiKeys::Cached* ApiKeys::trusted(const std::string& id) const {
  const auto known = cache_.find(id);
  if (known == cache_.end() || !secrets_.synced()) return nullptr;
  const auto age = timers_.clock().monotonic() - known->second.asked_at;
  if (age >= options_.trust_time_max) return nullptr;
  const auto seen = secrets_.find(options_.ns, id);
  if (!seen || seen->metadata.resource_version != known->second.resource_version) return nullptr;
  return &known->second;
}

async::Task<base::Result<ApiKey>> ApiKeys::look_up(std::string id) {
  if (const Cached* known = trusted(id)) co_return known->key;
  AT_CO_TRY(kube::json::object object, co_await client_.get(api::Secret::kType, {options_.ns, id}));
  if (!kube::metadata_text(object, "deletionTimestamp").empty()) co_return no_such_key();
  std::string version(kube::metadata_text(object, "resourceVersion"));
  const auto known = cache_.find(id);
  if (known != cache_.end() && known->second.resource_version == version &&
      known->second.key.uid == kube::metadata_text(object, "uid")) {
    known->second.asked_at = timers_.clock().monotonic();
    co_return known->second.key;
  }
  AT_CO_TRY(const api::Secret secret, kube::decode<api::Secret>(std::move(object)));
  auto key = api_key_of(secret);
  if (!key) co_return std::move(key).error().context("Secret " + id);
  co_return remember(id, std::move(version), *std::move(key));
}

const ApiKey& ApiKeys::remember(const std::string& id, std::string resource_version, ApiKey key) {
  auto [entry, is_new] = cache_.try_emplace(id);
  entry->second = Cached{std::move(resource_version), std::move(key), timers_.clock().monotonic()};
  if (is_new) cache_order_.push_back(id);
  if (cache_order_.size() > options_.cached_max) {
    cache_.erase(cache_order_.front());
    cache_order_.pop_front();
  }
  return cache_.at(id).key;
}

base::Result<ApiKeyRecord> ApiKeys::record_for(const Claims& maker, const NewApiKey& wanted) const {
  AT_OK(check_rights(maker, wanted));
  AT_OK(check_name(wanted.name));
  AT_OK(check_binding(wanted));
  const base::WallTime now = timers_.clock().now();
  AT_TRY(const std::optional<base::WallTime> end, end_of(maker, wanted, now));
  ApiKeyRecord record;
  record.user_id = maker.sub;
  record.email = maker.email;
  record.name = wanted.name;
  record.sandbox_id = wanted.sandbox_id;
  record.sandbox_uid = wanted.sandbox_uid;
  record.is_admin = wanted.rights == KeyRights::kAdmin;
  record.created_with = maker.key_id;
  record.created_at = base::format_rfc3339(now);
  if (end) record.expires_at = base::format_rfc3339(*end);
  if (wanted.sandbox_id.empty()) return record;
  record.action_groups = wanted.action_groups.empty() ? action_groups() : wanted.action_groups;
  return record;
}

async::Task<base::Result<MintedApiKey>> ApiKeys::mint(Claims maker, NewApiKey wanted) {
  AT_CO_TRY(ApiKeyRecord record, record_for(maker, wanted));
  ++minting_[maker.sub];
  base::Status room = co_await make_room(maker.sub);
  base::Result<MintedApiKey> minted = base::internal("make an API key");
  if (room) {
    std::string key = make_api_key(random_);
    record.key_hash = sha256_hex(key);
    auto created = co_await kube::create<api::Secret>(client_, secret_of(record, options_.ns));
    if (created) {
      ApiKey info{created->metadata.name, created->metadata.uid, std::move(record)};
      minted = MintedApiKey{std::move(key), std::move(info)};
    } else {
      minted = std::move(created).error().context("make an API key");
    }
  } else {
    minted = std::move(room).error();
  }
  if (--minting_[maker.sub] == 0) minting_.erase(maker.sub);
  co_return minted;
}

// Counts the user's keys, those that are being made included. Expired ones go when room is needed.
async::Task<base::Status> ApiKeys::make_room(std::string user_id) {
  AT_CO_TRY(std::vector<ApiKey> keys, co_await list(user_id));
  std::size_t count = keys.size() + minting_[user_id] - 1;
  for (const ApiKey& key : keys) {
    if (count < kApiKeysPerUserMax) break;
    if (!is_expired(key.record, timers_.clock().now())) continue;
    kube::DeleteOptions options;
    options.uid = key.uid;
    const base::Status removed =
        co_await kube::remove<api::Secret>(client_, {options_.ns, key.id}, options);
    if (removed || removed.error().code == base::ErrorCode::kNotFound) --count;
  }
  if (count < kApiKeysPerUserMax) co_return base::Status();
  base::Error full = base::exhausted("a user has at most " + std::to_string(kApiKeysPerUserMax) +
                                     " API keys; revoke one that is not needed");
  full.reason = "api_key_limit";
  co_return full;
}

async::Task<base::Result<ApiKey>> ApiKeys::ensure(std::string key, ApiKeyRecord record) {
  record.key_hash = sha256_hex(key);
  record.created_at = base::format_rfc3339(timers_.clock().now());
  const api::Secret wanted = secret_of(record, options_.ns);
  auto created = co_await kube::create<api::Secret>(client_, wanted);
  if (created) co_return ApiKey{created->metadata.name, created->metadata.uid, std::move(record)};
  if (created.error().code != base::ErrorCode::kExists) co_return std::move(created).error();
  AT_CO_TRY(ApiKey existing, co_await look_up(wanted.metadata.name));
  const bool same = existing.record.key_hash == record.key_hash &&
                    existing.record.user_id == record.user_id &&
                    existing.record.is_admin == record.is_admin &&
                    existing.record.sandbox_uid == record.sandbox_uid;
  if (same) co_return existing;
  co_return base::conflict("the API key is stored already, with other rights: Secret " +
                           existing.id);
}

async::Task<base::Result<std::vector<ApiKey>>> ApiKeys::list_selected(std::string selector) {
  kube::ListOptions options;
  options.ns = options_.ns;
  options.label_selector = std::move(selector);
  auto secrets = co_await kube::list_all<api::Secret>(client_, std::move(options));
  if (!secrets) co_return std::move(secrets).error().context("list API keys");
  std::vector<ApiKey> keys;
  for (const api::Secret& secret : secrets->items) {
    auto key = api_key_of(secret);
    if (key) {
      keys.push_back(*std::move(key));
    } else {
      observe::log_warning("Secret is no API key",
                           {{"secret", secret.metadata.name}, {"error", key.error().message}});
    }
  }
  std::ranges::sort(keys, [](const ApiKey& a, const ApiKey& b) {
    return std::tie(a.record.created_at, a.id) < std::tie(b.record.created_at, b.id);
  });
  co_return keys;
}

// The label is cut and cleaned, so two users may share it: the record decides.
async::Task<base::Result<std::vector<ApiKey>>> ApiKeys::list(std::string user_id) {
  AT_CO_TRY(std::vector<ApiKey> keys, co_await list_selected(user_selector(user_id)));
  std::erase_if(keys, [&](const ApiKey& key) { return key.record.user_id != user_id; });
  co_return keys;
}

async::Task<base::Result<std::vector<ApiKey>>> ApiKeys::list_bound(std::string sandbox_uid) {
  AT_CO_TRY(std::vector<ApiKey> keys, co_await list_selected(purpose_selector()));
  std::erase_if(keys, [&](const ApiKey& key) {
    return sandbox_uid.empty() || key.record.sandbox_uid != sandbox_uid;
  });
  co_return keys;
}

async::Task<base::Status> ApiKeys::revoke(Claims caller, std::string id) {
  if (!id.starts_with(kSecretPrefix)) co_return no_such_key();
  const kube::ObjectKey place{options_.ns, id};
  auto secret = co_await kube::get<api::Secret>(client_, place);
  if (!secret) {
    const auto code = secret.error().code;
    const bool absent = code == base::ErrorCode::kNotFound || code == base::ErrorCode::kInvalid;
    if (absent) co_return no_such_key();
    co_return std::move(secret).error().context("revoke the API key");
  }
  const auto key = api_key_of(*secret);
  const bool owns = key && !caller.sub.empty() && key->record.user_id == caller.sub;
  if (caller.is_bound() || (!owns && !caller.is_admin)) co_return no_such_key();
  kube::DeleteOptions options;
  options.uid = secret->metadata.uid;
  base::Status removed = co_await kube::remove<api::Secret>(client_, place, options);
  cache_.erase(id);
  std::erase(cache_order_, id);
  if (removed || removed.error().code == base::ErrorCode::kNotFound) co_return base::Status();
  co_return std::move(removed).error().context("revoke the API key");
}

}  // namespace agenttier::identity
