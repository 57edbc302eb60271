#include "identity/api_key_record.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "api/names.h"
#include "base/bytes.h"
#include "base/time_format.h"

namespace agenttier::identity {
namespace {

namespace json = boost::json;
namespace names = api::names;

constexpr std::size_t kHashSize = 64;

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* field = object.if_contains(name);
  if (field == nullptr || !field->is_string()) return {};
  return std::string(field->get_string());
}

std::optional<std::string> optional_text(const json::object& object, std::string_view name) {
  const json::value* field = object.if_contains(name);
  if (field == nullptr || field->is_null()) return std::nullopt;
  return text_of(object, name);  // of another type: empty, which is no time and so has passed
}

std::vector<std::string> texts_of(const json::object& object, std::string_view name) {
  std::vector<std::string> texts;
  const json::value* field = object.if_contains(name);
  if (field == nullptr || !field->is_array()) return texts;
  for (const json::value& item : field->get_array()) {
    if (item.is_string()) texts.emplace_back(item.get_string());
  }
  return texts;
}

base::Result<std::string> data_of(const api::Secret& secret, std::string_view key) {
  const auto found = secret.data.find(std::string(key));
  if (found == secret.data.end()) return base::internal("no data key " + std::string(key));
  return base::from_base64(found->second);
}

// A binding that names no sandbox must never become a key without a binding.
base::Status check_binding(const json::object& object) {
  const json::value* bound = object.if_contains("sandboxId");
  if (bound == nullptr || bound->is_null()) return {};
  if (!bound->is_string() || bound->get_string().empty()) {
    return base::internal("sandboxId is not the name of a sandbox");
  }
  return {};
}

}  // namespace

base::Result<ApiKeyRecord> ApiKeyRecord::from_json(std::string_view text) {
  json::error_code failure;
  const json::value parsed = json::parse(text, failure);
  if (failure || !parsed.is_object()) return base::internal("the record is not a JSON object");
  const json::object& object = parsed.get_object();
  AT_OK(check_binding(object));
  ApiKeyRecord record;
  record.key_hash = text_of(object, "keyHash");
  record.user_id = text_of(object, "userId");
  if (record.user_id.empty()) return base::internal("the record has no userId");
  record.email = text_of(object, "email");
  record.name = text_of(object, "name");
  record.sandbox_id = text_of(object, "sandboxId");
  record.sandbox_uid = text_of(object, "sandboxUid");
  record.action_groups = texts_of(object, "actionGroups");
  const json::value* admin = object.if_contains("isAdmin");
  record.is_admin = admin != nullptr && admin->is_bool() && admin->get_bool();
  record.created_with = text_of(object, "createdWith");
  record.created_at = text_of(object, "createdAt");
  record.expires_at = optional_text(object, "expiresAt");
  record.last_used_at = optional_text(object, "lastUsedAt");
  return record;
}

boost::json::object ApiKeyRecord::to_json() const {
  json::object object{{"keyHash", key_hash}, {"userId", user_id}, {"email", email},
                      {"name", name},        {"scopes", nullptr}, {"allowedNamespaces", nullptr}};
  if (!sandbox_id.empty()) {
    object["sandboxId"] = sandbox_id;
    object["actionGroups"] = json::array(action_groups.begin(), action_groups.end());
  }
  if (!sandbox_uid.empty()) object["sandboxUid"] = sandbox_uid;
  if (is_admin) object["isAdmin"] = true;
  if (!created_with.empty()) object["createdWith"] = created_with;
  object["createdAt"] = created_at;
  if (expires_at) object["expiresAt"] = *expires_at;
  if (last_used_at) object["lastUsedAt"] = *last_used_at;
  return object;
}

base::Result<ApiKey> api_key_of(const api::Secret& secret) {
  AT_TRY(const std::string hash, data_of(secret, names::kApiKeyHashKey));
  AT_TRY(const std::string text, data_of(secret, names::kApiKeyRecordKey));
  AT_TRY(ApiKeyRecord record, ApiKeyRecord::from_json(text));
  if (hash.size() != kHashSize || secret.metadata.name != names::api_key_secret_of(hash)) {
    return base::internal("the hash does not fit the Secret's name");
  }
  if (!record.key_hash.empty() && record.key_hash != hash) {
    return base::internal("the record is that of another key");
  }
  record.key_hash = hash;
  return ApiKey{secret.metadata.name, secret.metadata.uid, std::move(record)};
}

api::Secret secret_of(const ApiKeyRecord& record, const std::string& ns) {
  api::Secret secret;
  secret.metadata.name = names::api_key_secret_of(record.key_hash);
  secret.metadata.ns = ns;
  secret.metadata.labels[std::string(names::kSecretPurposeLabel)] = names::kPurposeApiKey;
  secret.metadata.labels[std::string(names::kApiKeyUserLabel)] =
      names::label_value_of(record.user_id);
  secret.type = "Opaque";
  secret.data[std::string(names::kApiKeyHashKey)] = base::to_base64(record.key_hash);
  secret.data[std::string(names::kApiKeyRecordKey)] =
      base::to_base64(json::serialize(record.to_json()));
  return secret;
}

bool is_expired(const ApiKeyRecord& record, base::WallTime now) {
  if (!record.expires_at) return false;
  const auto end = base::parse_rfc3339(*record.expires_at);
  return !end || *end <= now;
}

Claims claims_of(const ApiKey& key) {
  Claims claims;
  claims.sub = key.record.user_id;
  claims.email = key.record.email;
  claims.name = key.record.name;
  claims.sandbox_id = key.record.sandbox_id;
  claims.sandbox_uid = key.record.sandbox_uid;
  claims.action_groups = key.record.action_groups;
  claims.is_admin = key.record.is_admin && !claims.is_bound();
  claims.key_id = key.id;
  if (key.record.expires_at) {
    if (auto end = base::parse_rfc3339(*key.record.expires_at)) claims.expires_at = *end;
  }
  return claims;
}

}  // namespace agenttier::identity
