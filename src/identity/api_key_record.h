#pragma once
// What is stored of an API key: everything but the key.
//
// One Opaque Secret per key, named after the key's hash, with the data keys "keyHash" and "record"
// (this type as JSON). isAdmin, sandboxUid and createdWith are ours; the other fields are those
// that existing installations have.

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/secret.h"
#include "base/clock.h"
#include "base/result.h"
#include "identity/claims.h"

namespace agenttier::identity {

struct ApiKeyRecord {
  std::string key_hash;
  std::string user_id;
  std::string email;
  std::string name;
  std::string sandbox_id;  // empty: not bound
  std::string sandbox_uid;
  std::vector<std::string> action_groups;
  bool is_admin = false;
  std::string created_with;  // id of the key that made this one; empty if none did
  std::string created_at;
  std::optional<std::string> expires_at;
  std::optional<std::string> last_used_at;

  static base::Result<ApiKeyRecord> from_json(std::string_view text);
  boost::json::object to_json() const;
  bool operator==(const ApiKeyRecord&) const = default;
};

struct ApiKey {
  std::string id;   // name of its Secret
  std::string uid;  // of its Secret
  ApiKeyRecord record;
};

// Fails (kInternal) if the Secret is no API key: no hash, or a record that is not whole.
base::Result<ApiKey> api_key_of(const api::Secret& secret);
api::Secret secret_of(const ApiKeyRecord& record, const std::string& ns);

// True from the moment of expiry on, and for a time that cannot be read.
bool is_expired(const ApiKeyRecord& record, base::WallTime now);
Claims claims_of(const ApiKey& key);

}  // namespace agenttier::identity
