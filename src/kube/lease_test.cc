#include "kube/lease.h"

#include <gtest/gtest.h>

#include "kube/testing_store.h"
#include "kube/typed.h"

namespace agenttier::kube {
namespace {

using namespace std::chrono_literals;
using api::Lease;

const ObjectKey kLease{"agenttier", "controller"};

// One replica with a network of its own.
struct Replica {
  Replica(StoreFixture& fixture, std::string identity)
      : loop(fixture.loop),
        network(*fixture.transport, fixture.loop.executor()),
        client(network, {}),
        election(client, fixture.loop.timers(), fixture.loop.random(),
                 {.lease = kLease, .identity = std::move(identity)}),
        forever(fixture.loop.executor()) {}

  void start() {
    group.emplace(loop.executor(), async::TaskGroup::Options{.name = "replica", .tasks_max = 1});
    ASSERT_TRUE(group->spawn(election.run([this] { return lead(this); })));
    loop.run_until_idle();
  }
  void stop() {
    if (!group) return;
    loop.run(group->close());
    group.reset();
  }
  static async::Task<void> lead(Replica* self) {
    self->leading = true;
    ++self->terms;
    if (!self->leave) (void)co_await self->forever.wait();
    self->leading = false;
    self->wrote_after_term = self->election.may_write();
  }

  TestLoop& loop;
  FaultyClient network;
  Client client;
  LeaderElection election;
  async::Event forever;
  std::optional<async::TaskGroup> group;
  bool leading = false;
  bool leave = false;
  bool wrote_after_term = false;
  int terms = 0;
};

struct Bench : StoreFixture {
  Replica a{*this, "a"};
  Replica b{*this, "b"};
  ~Bench() {
    a.stop();
    b.stop();
  }
  std::string holder() {
    auto lease = loop.run(get<Lease>(*client, kLease));
    return lease ? lease->spec.holder_identity.value_or("") : "none";
  }
  // Lets time pass and checks at every step that not both lead.
  void pass(std::chrono::milliseconds total) {
    for (auto left = total; left.count() > 0; left -= 100ms) {
      loop.advance(100ms);
      ASSERT_FALSE(a.leading && b.leading);
    }
  }
};

TEST(LeaderElection, TheFirstLeadsAndTheSecondWaits) {
  Bench bench;
  bench.a.start();
  EXPECT_TRUE(bench.a.leading);
  EXPECT_TRUE(bench.a.election.may_write());
  bench.b.start();
  bench.pass(120s);
  EXPECT_TRUE(bench.a.leading);
  EXPECT_EQ(bench.b.terms, 0);
  EXPECT_EQ(bench.holder(), "a");
}

TEST(LeaderElection, GivesTheLeaseBackWhenStopped) {
  Bench bench;
  bench.a.start();
  bench.b.start();
  bench.a.stop();
  EXPECT_FALSE(bench.a.leading);
  EXPECT_EQ(bench.holder(), "");
  bench.pass(2500ms);
  EXPECT_TRUE(bench.b.leading);
  EXPECT_EQ(bench.b.election.term(), 2);
}

TEST(LeaderElection, EndsWhenItsTaskEnds) {
  Bench bench;
  bench.a.leave = true;
  bench.a.start();
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.a.group->size(), 0U);
  EXPECT_EQ(bench.holder(), "");
}

TEST(LeaderElection, ALeaderCutOffStopsBeforeAnotherStarts) {
  Bench bench;
  bench.a.start();
  bench.b.start();
  bench.pass(5s);
  bench.a.network.partition();
  bench.pass(9s);
  EXPECT_FALSE(bench.b.leading);
  bench.pass(2s);
  EXPECT_FALSE(bench.a.leading);
  EXPECT_FALSE(bench.a.wrote_after_term);
  EXPECT_FALSE(bench.a.election.may_write());
  EXPECT_FALSE(bench.b.leading);  // not before the lease time has passed
  bench.pass(15s);
  EXPECT_TRUE(bench.b.leading);
  bench.a.network.heal();
  bench.pass(60s);
  EXPECT_TRUE(bench.b.leading);
  EXPECT_EQ(bench.a.terms, 1);
}

TEST(LeaderElection, AShortOutageCostsNothing) {
  Bench bench;
  bench.a.start();
  bench.pass(5s);
  bench.a.network.partition();
  bench.pass(6s);
  bench.a.network.heal();
  bench.pass(60s);
  EXPECT_EQ(bench.a.terms, 1);
  EXPECT_TRUE(bench.a.leading);
}

TEST(LeaderElection, ARenewalWhoseAnswerIsLostIsStillItsOwn) {
  for (std::size_t n = 1; n <= 6; ++n) {
    Bench bench;
    bench.a.start();
    bench.b.start();
    bench.a.network.fail_request(n, FaultyClient::When::kAfter);
    bench.pass(60s);
    EXPECT_TRUE(bench.a.leading) << n;
    EXPECT_EQ(bench.a.terms, 1) << n;
  }
}

TEST(LeaderElection, TheFirstWriteMayFailAnywhere) {
  for (const auto when : {FaultyClient::When::kBefore, FaultyClient::When::kAfter}) {
    for (std::size_t n = 1; n <= 3; ++n) {
      Bench bench;
      bench.a.network.fail_request(n, when);
      bench.a.start();
      bench.pass(10s);
      EXPECT_TRUE(bench.a.leading) << n;
    }
  }
}

TEST(LeaderElection, ATakenLeaseEndsTheTermAtTheNextRenewal) {
  Bench bench;
  bench.a.start();
  auto lease = bench.loop.run(get<Lease>(*bench.client, kLease));
  ASSERT_TRUE(lease);
  lease->spec.holder_identity = "thief";
  ASSERT_TRUE(bench.loop.run(update<Lease>(*bench.client, *lease)));
  bench.pass(2500ms);
  EXPECT_FALSE(bench.a.leading);
  EXPECT_EQ(bench.holder(), "thief");
  bench.pass(20s);
  EXPECT_TRUE(bench.a.leading);  // the thief never renewed
  EXPECT_EQ(bench.a.election.term(), 2);
}

TEST(LeaderElection, AForeignChangeOfTheLeaseIsNoLoss) {
  Bench bench;
  bench.a.start();
  ASSERT_TRUE(bench.loop.run(patch<Lease>(*bench.client, kLease, PatchType::kMerge,
                                          json::object{{"metadata", {{"labels", {{"x", "y"}}}}}})));
  bench.pass(60s);
  EXPECT_EQ(bench.a.terms, 1);
  EXPECT_TRUE(bench.a.leading);
}

}  // namespace
}  // namespace agenttier::kube
