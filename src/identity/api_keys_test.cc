#include "identity/api_keys.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "api/names.h"
#include "base/bytes.h"
#include "identity/authenticator.h"
#include "identity/sha256.h"
#include "kube/testing_store.h"
#include "kube/typed.h"

namespace agenttier::identity {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using kube::FaultyClient;

Claims user(const std::string& sub) {
  Claims claims;
  claims.sub = sub;
  claims.email = sub + "@example.com";
  return claims;
}

Claims admin() {
  Claims claims = user("admin");
  claims.is_admin = true;
  return claims;
}

struct Bench : kube::StoreFixture {
  ApiKeys keys{*client, loop.timers(), loop.random(), loop.executor(), {}};
  ~Bench() { loop.close(); }

  MintedApiKey mint(const Claims& maker, NewApiKey wanted = {.name = "laptop"}) {
    auto minted = loop.run(keys.mint(maker, std::move(wanted)));
    EXPECT_TRUE(minted) << minted.error().message;
    return *std::move(minted);
  }
  base::Error refusal(const Claims& maker, NewApiKey wanted) {
    auto minted = loop.run(keys.mint(maker, std::move(wanted)));
    EXPECT_FALSE(minted);
    return std::move(minted).error();
  }
  base::Result<Claims> verify(const std::string& key) { return loop.run(keys.verify(key)); }
};

void expect_refused(const base::Result<Claims>& verified) {
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(verified.error().reason, "invalid_api_key");
  EXPECT_EQ(verified.error().message, "the API key is unknown, revoked or expired");
}

TEST(ApiKeys, AKeyIsVerifiedAsItsMaker) {
  Bench bench;
  const auto minted = bench.mint(user("ada"));
  EXPECT_TRUE(looks_like_api_key(minted.key));
  const auto claims = bench.verify(minted.key);
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->sub, "ada");
  EXPECT_EQ(claims->email, "ada@example.com");
  EXPECT_EQ(claims->name, "laptop");
  EXPECT_EQ(claims->key_id, minted.info.id);
  EXPECT_FALSE(claims->is_admin);
  EXPECT_FALSE(claims->is_bound());
}

TEST(ApiKeys, StoresTheHashAndNeverTheKey) {
  Bench bench;
  const auto minted = bench.mint(user("ada:b"));
  const std::string hash = sha256_hex(minted.key);
  const auto secret =
      bench.loop.run(kube::get<api::Secret>(*bench.client, {"agenttier", minted.info.id}));
  ASSERT_TRUE(secret);
  EXPECT_EQ(secret->metadata.name, "agenttier-apikey-" + hash.substr(0, 40));
  EXPECT_EQ(secret->type, "Opaque");
  EXPECT_EQ(secret->metadata.labels.at("agenttier.io/secret-purpose"), "api-key");
  EXPECT_EQ(secret->metadata.labels.at("agenttier.io/api-key-user"), "ada-b");
  EXPECT_EQ(*base::from_base64(secret->data.at("keyHash")), hash);
  const std::string text = *base::from_base64(secret->data.at("record"));
  const auto record = boost::json::parse(text);
  EXPECT_EQ(record.at("keyHash").as_string(), hash);
  EXPECT_EQ(record.at("userId").as_string(), "ada:b");
  EXPECT_TRUE(record.at("scopes").is_null());
  EXPECT_TRUE(record.at("allowedNamespaces").is_null());
  EXPECT_EQ(record.at("createdAt").as_string(), "2030-01-01T00:00:00Z");
  EXPECT_FALSE(record.as_object().contains("isAdmin"));
  EXPECT_FALSE(record.as_object().contains("sandboxId"));
  EXPECT_EQ(text.find(minted.key), std::string::npos);
}

TEST(ApiKeys, ReadsARecordOfAnExistingInstallation) {
  Bench bench;
  const std::string key = "atk_" + std::string(43, 'x');
  const std::string hash = sha256_hex(key);
  api::Secret secret;
  secret.metadata.ns = "agenttier";
  secret.metadata.name = api::names::api_key_secret_of(hash);
  secret.data["keyHash"] = base::to_base64(hash);
  secret.data["record"] = base::to_base64(
      R"({"keyHash":")" + hash +
      R"(","userId":"u","email":"e","name":"n","scopes":null,"allowedNamespaces":null,)"
      R"("sandboxId":"box","actionGroups":["run-command"],"createdAt":"2026-01-01T00:00:00Z"})");
  ASSERT_TRUE(bench.loop.run(kube::create<api::Secret>(*bench.client, secret)));
  const auto claims = bench.verify(key);
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->sandbox_id, "box");
  EXPECT_EQ(claims->action_groups, std::vector<std::string>{"run-command"});
  EXPECT_TRUE(claims->may_reach("box", "any"));
  EXPECT_FALSE(claims->may_reach("other", "any"));
}

TEST(ApiKeys, RefusesWhatItDoesNotKnowInTheSameWords) {
  Bench bench;
  const auto minted = bench.mint(user("ada"));
  std::string near = minted.key;
  near.back() = near.back() == 'A' ? 'B' : 'A';
  for (const std::string& key :
       {std::string(), std::string("x"), near, minted.key + "x", "atk_" + std::string(43, 'a'),
        std::string(100'000, 'k'), std::string("../../x"), std::string("a\0b", 3)}) {
    expect_refused(bench.verify(key));
  }
}

TEST(ApiKeys, ARevokedKeyFailsAtOnce) {
  Bench bench;
  const auto minted = bench.mint(user("ada"));
  ASSERT_TRUE(bench.verify(minted.key));
  ASSERT_TRUE(bench.loop.run(bench.keys.revoke(user("ada"), minted.info.id)));
  expect_refused(bench.verify(minted.key));
}

TEST(ApiKeys, AKeyWhoseSecretIsDeletedFailsAtOnce) {
  Bench bench;
  bench.loop.spawn(bench.keys.run());
  bench.loop.run_until_idle();
  const auto minted = bench.mint(user("ada"));
  ASSERT_TRUE(bench.verify(minted.key));
  ASSERT_TRUE(
      bench.loop.run(kube::remove<api::Secret>(*bench.client, {"agenttier", minted.info.id})));
  bench.loop.run_until_idle();
  expect_refused(bench.verify(minted.key));
}

// Goal: another replica's revocation reaches this one even if its watch is dead.
TEST(ApiKeys, AWatchThatIsCutOffKeepsNoRevokedKeyAlive) {
  Bench bench;
  bench.loop.spawn(bench.keys.run());
  bench.loop.run_until_idle();
  const auto minted = bench.mint(user("ada"));
  bench.loop.run_until_idle();
  ASSERT_TRUE(bench.verify(minted.key));
  bench.faulty->partition();
  bench.faulty->drop_watches();
  kube::Client other(*bench.transport, {});
  ASSERT_TRUE(bench.loop.run(kube::remove<api::Secret>(other, {"agenttier", minted.info.id})));
  bench.loop.timers().advance(2s);
  const auto cut_off = bench.verify(minted.key);
  ASSERT_FALSE(cut_off);
  EXPECT_EQ(cut_off.error().code, ErrorCode::kUnavailable);
  bench.faulty->heal();
  expect_refused(bench.verify(minted.key));
}

TEST(ApiKeys, WhereSecretsAreFollowedMostChecksAskNobody) {
  Bench bench;
  bench.loop.spawn(bench.keys.run());
  bench.loop.run_until_idle();
  const auto minted = bench.mint(user("ada"));
  bench.loop.run_until_idle();
  ASSERT_TRUE(bench.verify(minted.key));
  const std::size_t sent = bench.faulty->sent();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(bench.verify(minted.key));
  EXPECT_EQ(bench.faulty->sent(), sent);
}

TEST(ApiKeys, AChangedRecordCountsAtOnce) {
  Bench bench;
  const auto minted = bench.mint(user("ada"));
  ASSERT_TRUE(bench.verify(minted.key));
  ApiKeyRecord record = minted.info.record;
  record.expires_at = "2029-12-31T00:00:00Z";
  api::Secret secret = secret_of(record, "agenttier");
  ASSERT_TRUE(bench.loop.run(kube::update<api::Secret>(*bench.client, secret)));
  expect_refused(bench.verify(minted.key));
}

TEST(ApiKeys, AKeyEndsAtItsExpiry) {
  Bench bench;
  const auto minted = bench.mint(user("ada"), {.name = "short", .expires_in = 2s});
  EXPECT_EQ(minted.info.record.expires_at, "2030-01-01T00:00:02Z");
  bench.loop.timers().advance(1999ms);
  EXPECT_TRUE(bench.verify(minted.key));
  bench.loop.timers().advance(1ms);
  expect_refused(bench.verify(minted.key));
}

TEST(ApiKeys, AnExpiryThatCannotBeReadHasPassed) {
  ApiKeyRecord record;
  record.expires_at = "soon";
  EXPECT_TRUE(is_expired(record, base::WallTime()));
  record.expires_at = "";
  EXPECT_TRUE(is_expired(record, base::WallTime()));
}

TEST(ApiKeys, AnApiInTroubleIsNotABadKey) {
  Bench bench;
  const auto minted = bench.mint(user("ada"));
  bench.faulty->partition();
  const auto verified = bench.verify(minted.key);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, ErrorCode::kUnavailable);
  bench.faulty->heal();
  EXPECT_TRUE(bench.verify(minted.key));
}

TEST(ApiKeys, AStolenHashOpensNothing) {
  Bench bench;
  const auto minted = bench.mint(user("ada"));
  expect_refused(bench.verify(minted.info.record.key_hash));
  expect_refused(bench.verify(minted.info.id));
}

TEST(ApiKeys, AKeyMakesNoneThatLivesLonger) {
  Bench bench;
  const auto parent = bench.mint(user("ada"), {.name = "p", .expires_in = 1h});
  const Claims maker = *bench.verify(parent.key);
  const auto refused = bench.refusal(maker, {.name = "c", .expires_in = 2h});
  EXPECT_EQ(refused.code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.causes.at(0).field, "expiresIn");
  EXPECT_TRUE(bench.mint(maker, {.name = "c", .expires_in = 30min}).info.record.expires_at);
  const auto child = bench.mint(maker, {.name = "c"});
  EXPECT_EQ(child.info.record.expires_at, parent.info.record.expires_at);
  EXPECT_EQ(child.info.record.created_with, parent.info.id);
}

TEST(ApiKeys, AKeyMakesNoneThatMayDoMore) {
  Bench bench;
  const NewApiKey wanted{.name = "a", .rights = KeyRights::kAdmin};
  EXPECT_EQ(bench.refusal(user("ada"), wanted).code, ErrorCode::kDenied);
  Claims bound = user("ada");
  bound.sandbox_id = "box";
  EXPECT_EQ(bench.refusal(bound, {.name = "x"}).code, ErrorCode::kDenied);
  EXPECT_EQ(bench.refusal(Claims(), {.name = "x"}).code, ErrorCode::kDenied);

  const auto made = bench.mint(admin(), wanted);
  EXPECT_TRUE(bench.verify(made.key)->is_admin);
  // Even an admin's key is not an admin key unless that was asked for.
  EXPECT_FALSE(bench.verify(bench.mint(admin()).key)->is_admin);
}

TEST(ApiKeys, ABoundKeyReachesItsSandboxAndNotItsSuccessor) {
  Bench bench;
  const auto minted =
      bench.mint(user("ada"), {.name = "b", .sandbox_id = "box", .sandbox_uid = "u1"});
  const Claims claims = *bench.verify(minted.key);
  EXPECT_EQ(claims.action_groups, action_groups());
  EXPECT_TRUE(claims.may_reach("box", "u1"));
  EXPECT_FALSE(claims.may_reach("box", "u2"));
  EXPECT_FALSE(claims.may_reach("other", "u1"));
}

TEST(ApiKeys, ABoundKeyIsNeverAnAdmins) {
  Bench bench;
  EXPECT_EQ(
      bench
          .refusal(
              admin(),
              {.name = "x", .sandbox_id = "box", .sandbox_uid = "u", .rights = KeyRights::kAdmin})
          .code,
      ErrorCode::kInvalid);
  ApiKey forged;
  forged.record.user_id = "u";
  forged.record.is_admin = true;
  forged.record.sandbox_id = "box";
  EXPECT_FALSE(claims_of(forged).is_admin);
}

TEST(ApiKeys, BadWishesNameTheirField) {
  Bench bench;
  const auto field = [&](NewApiKey wanted) {
    const auto error = bench.refusal(user("ada"), std::move(wanted));
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    return error.causes.empty() ? "" : error.causes[0].field;
  };
  EXPECT_EQ(field({.name = std::string(129, 'n')}), "name");
  EXPECT_EQ(field({.name = "a\nb"}), "name");
  EXPECT_EQ(field({.name = "\xff"}), "name");
  EXPECT_EQ(field({.name = "x", .expires_in = 0s}), "expiresIn");
  EXPECT_EQ(field({.name = "x", .expires_in = -1s}), "expiresIn");
  EXPECT_EQ(field({.name = "x", .expires_in = std::chrono::hours(24 * 4000)}), "expiresIn");
  EXPECT_EQ(field({.name = "x", .action_groups = {"run-command"}}), "scopes");
  EXPECT_EQ(field({.name = "x",
                   .sandbox_id = "box",
                   .sandbox_uid = "u",
                   .action_groups = {"run-command", "delete"}}),
            "scopes");
}

TEST(ApiKeys, ListsAUsersKeysAndNobodyElses) {
  Bench bench;
  bench.mint(user("a:b"), {.name = "first"});
  bench.loop.timers().advance(1s);
  bench.mint(user("a:b"), {.name = "second"});
  bench.mint(user("a-b"), {.name = "another's"});  // the same label
  const auto listed = bench.loop.run(bench.keys.list("a:b"));
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ((*listed)[0].record.name, "first");
  EXPECT_EQ((*listed)[1].record.name, "second");
}

TEST(ApiKeys, ListsTheKeysOfASandboxByItsUid) {
  Bench bench;
  bench.mint(user("ada"), {.name = "1", .sandbox_id = "box", .sandbox_uid = "u1"});
  bench.mint(user("ada"), {.name = "2", .sandbox_id = "box", .sandbox_uid = "u2"});
  bench.mint(user("ada"));
  const auto listed = bench.loop.run(bench.keys.list_bound("u2"));
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ((*listed)[0].record.name, "2");
}

TEST(ApiKeys, OnlyItsOwnerAndAdminsRevokeAKey) {
  Bench bench;
  const auto minted = bench.mint(user("ada"));
  const auto code = [&](const Claims& caller, const std::string& id) {
    const auto revoked = bench.loop.run(bench.keys.revoke(caller, id));
    return revoked ? ErrorCode::kInternal : revoked.error().code;
  };
  EXPECT_EQ(code(user("eve"), minted.info.id), ErrorCode::kNotFound);
  Claims bound = user("ada");
  bound.sandbox_id = "box";
  EXPECT_EQ(code(bound, minted.info.id), ErrorCode::kNotFound);
  EXPECT_TRUE(bench.verify(minted.key));
  EXPECT_TRUE(bench.loop.run(bench.keys.revoke(admin(), minted.info.id)));
  EXPECT_EQ(code(admin(), minted.info.id), ErrorCode::kNotFound);
}

TEST(ApiKeys, RevokingReachesNoOtherSecret) {
  Bench bench;
  api::Secret other;
  other.metadata.ns = "agenttier";
  other.metadata.name = "important";
  ASSERT_TRUE(bench.loop.run(kube::create<api::Secret>(*bench.client, other)));
  for (const char* id : {"important", "", "agenttier-apikey-", "agenttier-apikey-../important",
                         "agenttier-apikey-x/../../important"}) {
    const auto revoked = bench.loop.run(bench.keys.revoke(admin(), id));
    ASSERT_FALSE(revoked) << id;
    EXPECT_EQ(revoked.error().code, ErrorCode::kNotFound) << id;
  }
  EXPECT_TRUE(bench.loop.run(kube::get<api::Secret>(*bench.client, {"agenttier", "important"})));
}

TEST(ApiKeys, AUserHasAtMostAHundredThatAreValid) {
  Bench bench;
  for (std::size_t i = 0; i < kApiKeysPerUserMax; ++i) {
    bench.mint(user("ada"), {.name = "x", .expires_in = i == 0 ? 1min : 1h});
  }
  const auto refused = bench.refusal(user("ada"), {.name = "more"});
  EXPECT_EQ(refused.code, ErrorCode::kExhausted);
  EXPECT_EQ(refused.reason, "api_key_limit");
  bench.mint(user("bob"));
  bench.loop.timers().advance(2min);  // one has expired and makes room
  bench.mint(user("ada"));
  EXPECT_EQ(bench.loop.run(bench.keys.list("ada"))->size(), kApiKeysPerUserMax);
}

TEST(ApiKeys, AMintThatFailsLeavesTheLimitAsItWas) {
  Bench bench;
  for (int i = 0; i < 3; ++i) {
    bench.faulty->fail_request(2, FaultyClient::When::kBefore);
    EXPECT_FALSE(bench.loop.run(bench.keys.mint(user("ada"), {.name = "x"})));
  }
  for (std::size_t i = 0; i < kApiKeysPerUserMax; ++i) bench.mint(user("ada"));
}

TEST(ApiKeys, AKeyWithoutAWholeRecordIsRefused) {
  const std::string hash = sha256_hex("key");
  const auto reads = [&](const std::string& record) {
    api::Secret secret;
    secret.metadata.name = api::names::api_key_secret_of(hash);
    secret.data["keyHash"] = base::to_base64(hash);
    secret.data["record"] = base::to_base64(record);
    return api_key_of(secret).has_value();
  };
  EXPECT_TRUE(reads(R"({"userId":"u"})"));
  EXPECT_FALSE(reads(R"({"userId":""})"));
  EXPECT_FALSE(reads(R"({})"));
  EXPECT_FALSE(reads(R"([])"));
  EXPECT_FALSE(reads(R"({"userId":"u","keyHash":"other"})"));
  EXPECT_FALSE(reads(R"({"userId":"u","sandboxId":7})"));
  EXPECT_FALSE(reads(R"({"userId":"u","sandboxId":""})"));
}

TEST(Authenticator, TheApiKeyDecidesAlone) {
  Bench bench;
  Authenticator authenticator(bench.keys, nullptr);
  const auto minted = bench.mint(user("ada"));
  const http::Headers both{{"Authorization", "Bearer x"}, {"x-api-key", minted.key}};
  EXPECT_EQ(bench.loop.run(authenticator.authenticate(both))->sub, "ada");
  const http::Headers bad{{"Authorization", "Bearer x"}, {"X-API-Key", "bad"}};
  expect_refused(bench.loop.run(authenticator.authenticate(bad)));
}

TEST(Authenticator, SaysWhatIsMissing) {
  Bench bench;
  Authenticator authenticator(bench.keys, nullptr);
  const auto reason = [&](const http::Headers& headers) {
    const auto claims = bench.loop.run(authenticator.authenticate(headers));
    EXPECT_FALSE(claims);
    EXPECT_EQ(claims.error().code, ErrorCode::kUnauthenticated);
    return claims.error().reason;
  };
  EXPECT_EQ(reason({}), "missing_authorization");
  EXPECT_EQ(reason({{"X-API-Key", ""}}), "missing_authorization");
  EXPECT_EQ(reason({{"Authorization", "Basic abc"}}), "invalid_authorization_format");
  EXPECT_EQ(reason({{"Authorization", "Bearer"}}), "invalid_authorization_format");
  EXPECT_EQ(reason({{"Authorization", "Bearer "}}), "invalid_authorization_format");
  EXPECT_EQ(reason({{"Authorization", "Bearer a b"}}), "invalid_authorization_format");
  EXPECT_EQ(reason({{"Authorization", "Bearer abc"}}), "invalid_token");
}

class AnyToken final : public TokenVerifier {
 public:
  async::Task<base::Result<Claims>> verify(std::string token) override {
    co_return user("token-" + token);
  }
};

TEST(Authenticator, GivesATokenToTheVerifier) {
  Bench bench;
  AnyToken tokens;
  Authenticator authenticator(bench.keys, &tokens);
  const http::Headers headers{{"Authorization", "bearer abc"}};
  EXPECT_EQ(bench.loop.run(authenticator.authenticate(headers))->sub, "token-abc");
}

}  // namespace
}  // namespace agenttier::identity
