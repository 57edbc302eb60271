#pragma once
// ApiKeys makes, verifies, lists and revokes API keys, which are kept as Secrets
// (api_key_record.h).
//
// Guarantees: the key itself exists in the answer to mint() only; what is stored is its SHA-256. A
// revoked or expired key is refused by the next verify() of this program, and of another within
// Options::trust_time_max, whatever became of its watch. Unknown, revoked and expired keys are
// refused with the same words. A key cannot make one that may do more or lives longer than itself,
// and a key bound to a sandbox makes none.
//
// verify() asks the API for the key's Secret each time; where that is a network away, run() keeps
// the Secrets in memory and each is asked for once per trust_time_max.
//
// Example (identity/api_keys_test.cc):
//   ApiKeys keys(client, timers, random, executor, {.ns = "agenttier"});
//   AT_CO_TRY(auto minted, co_await keys.mint(caller, {.name = "laptop"}));
//   show_once(minted.key);
//   AT_CO_TRY(Claims caller, co_await keys.verify(key));

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/secret.h"
#include "async/timers.h"
#include "base/random.h"
#include "identity/api_key_record.h"
#include "identity/claims.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace agenttier::identity {

inline constexpr std::string_view kApiKeyPrefix = "atk_";
inline constexpr std::size_t kApiKeysPerUserMax = 100;
inline constexpr std::size_t kApiKeyNameBytesMax = 128;
inline constexpr std::chrono::hours kApiKeyLifeMax{24 * 3660};

// Every action group that a bound key can have.
const std::vector<std::string>& action_groups();

// A new key for `sub` that no other text of this program knows: "atk_" and 43 characters.
std::string make_api_key(base::Random& random);
bool looks_like_api_key(std::string_view text);

enum class KeyRights { kUser, kAdmin };

struct NewApiKey {
  std::string name;
  std::optional<std::chrono::nanoseconds> expires_in;
  // Binds the key to one sandbox. The caller has checked that the maker owns it.
  std::string sandbox_id;
  std::string sandbox_uid;
  std::vector<std::string> action_groups;  // bound keys; empty: all of them
  KeyRights rights = KeyRights::kUser;     // kAdmin: only an admin may make such a key
};

struct MintedApiKey {
  std::string key;  // to be shown once and forgotten
  ApiKey info;
};

class ApiKeys {
 public:
  struct Options {
    std::string ns = "agenttier";
    // While run() has seen a key's Secret, it is not asked for again within this time.
    std::chrono::milliseconds trust_time_max{2000};
    std::size_t cached_max = 4096;
  };

  // The references outlive the keys.
  ApiKeys(kube::Client& client, async::Timers& timers, base::Random& random,
          async::Executor executor, Options options);

  // Follows the Secrets of keys until cancelled. Without it verify() asks each time.
  async::Task<void> run() { return secrets_.run(); }

  // kUnauthenticated, reason "invalid_api_key"; or why the key cannot be looked up.
  async::Task<base::Result<Claims>> verify(std::string key);
  // A key of the maker. kInvalid names the field; kDenied; kExhausted at the limit.
  async::Task<base::Result<MintedApiKey>> mint(Claims maker, NewApiKey wanted);
  // Stores an existing key of this record if it is not stored; kConflict if the key is another's.
  async::Task<base::Result<ApiKey>> ensure(std::string key, ApiKeyRecord record);
  // The keys of a user, expired ones too, oldest first.
  async::Task<base::Result<std::vector<ApiKey>>> list(std::string user_id);
  // Every key bound to a sandbox, for admins.
  async::Task<base::Result<std::vector<ApiKey>>> list_bound(std::string sandbox_uid);
  // kNotFound also for another user's key, unless the caller is an admin.
  async::Task<base::Status> revoke(Claims caller, std::string id);

 private:
  struct Cached {
    std::string resource_version;
    ApiKey key;
    base::MonotonicTime asked_at;
  };

  async::Task<base::Result<ApiKey>> look_up(std::string id);
  async::Task<base::Result<std::vector<ApiKey>>> list_selected(std::string selector);
  async::Task<base::Status> make_room(std::string user_id);
  base::Result<ApiKeyRecord> record_for(const Claims& maker, const NewApiKey& wanted) const;
  const Cached* trusted(const std::string& id) const;
  const ApiKey& remember(const std::string& id, std::string resource_version, ApiKey key);

  kube::Client& client_;
  async::Timers& timers_;
  base::Random& random_;
  const Options options_;
  kube::Informer<api::Secret> secrets_;
  std::unordered_map<std::string, Cached> cache_;
  std::list<std::string> cache_order_;          // oldest first
  std::map<std::string, std::size_t> minting_;  // per user, keys that are being made
};

}  // namespace agenttier::identity
