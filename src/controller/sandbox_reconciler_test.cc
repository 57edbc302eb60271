// The controller against the real store: lives of sandboxes, and every call failing once.

#include "controller/sandbox_reconciler.h"

#include <gtest/gtest.h>

#include "api/meta.h"
#include "api/names.h"
#include "api/spec_hash.h"
#include "controller/default_templates.h"
#include "controller/sandbox_objects.h"
#include "controller/testing.h"

namespace agenttier::controller {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;
namespace names = api::names;
using When = kube::FaultyClient::When;

TEST(SandboxReconciler, MakesANewSandboxRun) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Running");
  EXPECT_TRUE(plane.object<api::Pod>("demo-pod"));
  EXPECT_TRUE(plane.object<api::PersistentVolumeClaim>("demo-workspace"));
  EXPECT_TRUE(plane.object<api::NetworkPolicy>("demo-netpol"));
  EXPECT_TRUE(plane.object<api::Secret>("demo-runtime-token"));
  EXPECT_EQ(plane.events(), (std::set<std::string>{"Creating", "Running"}));
}

TEST(SandboxReconciler, NeedsSixWritesForACreation) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  EXPECT_EQ(plane.writes().size(), 6U) << testing::PrintToString(plane.writes());
}

TEST(SandboxReconciler, NeedsNoTimeToPass) {
  TestPlane plane;
  plane.create("demo");
  plane.loop().run_until_idle();
  EXPECT_EQ(plane.phase("demo"), "Running");
}

TEST(SandboxReconciler, PodCarriesTheHashOfTheStoredToken) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  const std::string token = token_of(*plane.object<api::Secret>("demo-runtime-token"));
  EXPECT_EQ(token.size(), 43U);
  EXPECT_EQ(token_sha256_of(*plane.object<api::Pod>("demo-pod")), api::sha256_hex(token));
}

TEST(SandboxReconciler, WaitsForTheRuntimeAtGrowingIntervalsOfMilliseconds) {
  TestPlane plane;
  plane.probe().healthy = false;
  plane.create("demo");
  plane.settle(1000ms);
  EXPECT_EQ(plane.phase("demo"), "Creating");
  EXPECT_GT(plane.probe().health_checks, 8);
  EXPECT_LT(plane.probe().health_checks, 40);
  plane.probe().healthy = true;
  plane.settle(110ms);
  EXPECT_EQ(plane.phase("demo"), "Running");
}

TEST(SandboxReconciler, StopKeepsTheVolumeAndResumeComesBackToIt) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  const auto before = plane.object<api::PersistentVolumeClaim>("demo-workspace");
  plane.stop("demo");
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Stopped");
  EXPECT_FALSE(plane.object<api::Pod>("demo-pod"));
  plane.resume("demo");
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Running");
  const auto after = plane.object<api::PersistentVolumeClaim>("demo-workspace");
  EXPECT_EQ(before->metadata.uid, after->metadata.uid);
  EXPECT_TRUE(plane.find("demo")->metadata.annotations.empty());
}

TEST(SandboxReconciler, StopThenResumeBackToBackAlwaysEndsRunning) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  for (int i = 0; i < 50; ++i) {
    plane.stop("demo");
    for (int polls = 0; polls < i; ++polls) plane.loop().timers().advance(0s);
    if (i % 3 == 1) plane.loop().run_until_idle();
    plane.resume("demo");
    plane.settle(500ms);
    ASSERT_EQ(plane.phase("demo"), "Running") << i;
    ASSERT_EQ(plane.find("demo")->status->restart_count, 0) << i;
  }
  EXPECT_TRUE(plane.kubelet().breaches().empty()) << plane.kubelet().breaches()[0];
}

TEST(SandboxReconciler, StopAnnotationWorksAfterTheControllerWasAway) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  plane.stop_controller();
  plane.patch("demo", {{"metadata", {{"annotations", {{"agenttier.io/action", "stop"}}}}}});
  plane.advance(60s);
  plane.start_controller();
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Stopped");
  EXPECT_TRUE(plane.find("demo")->metadata.annotations.empty());
}

TEST(SandboxReconciler, DeletionLeavesNothing) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  plane.remove("demo");
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "gone");
  EXPECT_TRUE(plane.all<api::Pod>().empty());
  EXPECT_TRUE(plane.all<api::PersistentVolumeClaim>().empty());
  EXPECT_TRUE(plane.all<api::NetworkPolicy>().empty());
  EXPECT_TRUE(plane.all<api::Secret>().empty());
  EXPECT_TRUE(plane.events().contains("Deleted"));
}

TEST(SandboxReconciler, PolicyOutlivesThePod) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  plane.kubelet().hold_ends();
  plane.remove("demo");
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Deleting");
  EXPECT_TRUE(plane.object<api::Pod>("demo-pod"));
  EXPECT_TRUE(plane.object<api::NetworkPolicy>("demo-netpol"));
  plane.kubelet().release_ends();
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "gone");
}

TEST(SandboxReconciler, NameCanBeUsedAgainAtOnce) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  const auto first = plane.object<api::PersistentVolumeClaim>("demo-workspace");
  plane.remove("demo");
  plane.loop().run_until_idle();
  ASSERT_EQ(plane.phase("demo"), "gone");
  plane.create("demo");
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Running");
  const auto second = plane.object<api::PersistentVolumeClaim>("demo-workspace");
  EXPECT_NE(first->metadata.uid, second->metadata.uid);
}

TEST(SandboxReconciler, ForeignVolumeOfTheNameIsWaitedForAndNeverMounted) {
  TestPlane plane;
  json::object claim = {
      {"metadata", {{"name", "demo-workspace"}, {"namespace", "default"}}},
      {"spec",
       {{"accessModes", {"ReadWriteOnce"}}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}};
  ASSERT_TRUE(
      plane.loop().run(plane.direct().create(api::PersistentVolumeClaim::kType, std::move(claim))));
  plane.create("demo");
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Creating");
  EXPECT_FALSE(plane.object<api::Pod>("demo-pod"));
  EXPECT_NE(plane.find("demo")->status->message.find("demo-workspace"), std::string::npos);
  ASSERT_TRUE(plane.loop().run(
      plane.direct().remove(api::PersistentVolumeClaim::kType, {"default", "demo-workspace"})));
  plane.settle(60000ms);
  EXPECT_EQ(plane.phase("demo"), "Running");
}

TEST(SandboxReconciler, PodKilledForMemoryComesBackAfterItsDelay) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  plane.kubelet().end_pod("demo-pod", "OOMKilled", 137);
  plane.settle(1000ms);
  EXPECT_EQ(plane.phase("demo"), "Error");
  EXPECT_FALSE(plane.object<api::Pod>("demo-pod"));
  plane.settle(7000ms);
  EXPECT_EQ(plane.phase("demo"), "Error");
  plane.settle(3000ms);
  EXPECT_EQ(plane.phase("demo"), "Running");
  const auto status = *plane.find("demo")->status;
  EXPECT_EQ(status.restart_count, 1);
  EXPECT_EQ(status.last_failure->reason, "OOMKilled");
}

TEST(SandboxReconciler, PodDeletedByHandIsMissedAndReplaced) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  plane.kubelet().drop_pod("demo-pod");
  plane.settle(1000ms);
  EXPECT_EQ(plane.phase("demo"), "Error");
  plane.settle(10000ms);
  EXPECT_EQ(plane.phase("demo"), "Running");
}

TEST(SandboxReconciler, TemplateThatComesLaterIsUsed) {
  TestPlane plane;
  plane.create("demo", {{"templateRef", {{"name", "late"}, {"kind", "ClusterSandboxTemplate"}}}});
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Error");
  EXPECT_EQ(plane.find("demo")->status->reason, "TemplateNotFound");
  api::ClusterSandboxTemplate late;
  late.metadata.name = "late";
  late.spec.image.emplace().repository = "late:1";
  ASSERT_TRUE(plane.loop().run(kube::create(plane.direct(), late)));
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Running");
  EXPECT_EQ(plane.object<api::Pod>("demo-pod")->spec.containers[0].image, "late:1");
}

TEST(SandboxReconciler, NetworkOfATemplateReachesRunningSandboxes) {
  TestPlane plane;
  api::ClusterSandboxTemplate open;
  open.metadata.name = "open";
  ASSERT_TRUE(plane.loop().run(kube::create(plane.direct(), open)));
  plane.create("demo", {{"templateRef", {{"name", "open"}, {"kind", "ClusterSandboxTemplate"}}}});
  plane.settle();
  EXPECT_TRUE(plane.object<api::NetworkPolicy>("demo-netpol")->spec.egress.empty());
  json::value patch = {{"spec", {{"network", {{"allowInternet", true}}}}}};
  ASSERT_TRUE(plane.loop().run(plane.direct().patch(api::ClusterSandboxTemplate::kType,
                                                    {"", "open"}, kube::PatchType::kMerge, patch)));
  plane.settle();
  EXPECT_EQ(plane.object<api::NetworkPolicy>("demo-netpol")->spec.egress.size(), 1U);
}

TEST(SandboxReconciler, RefusedSpecificationIsAnErrorThatNamesTheField) {
  TestPlane plane;
  plane.create("demo", {{"credentials", {{{"secretName", "victim-runtime-token"}}}}});
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Error");
  EXPECT_NE(plane.find("demo")->status->message.find("spec.credentials[0].secretName"),
            std::string::npos);
  EXPECT_TRUE(plane.all<api::Pod>().empty());
}

TEST(SandboxReconciler, IdleSandboxIsStoppedAfterTheRuntimeWasAsked) {
  TestPlane plane;
  plane.create("demo", {{"idleTimeout", "60s"}});
  plane.settle(100ms);
  plane.advance(50s);
  EXPECT_EQ(plane.probe().token_seen, "");
  plane.advance(20s);
  EXPECT_EQ(plane.phase("demo"), "Stopped");
  EXPECT_EQ(plane.find("demo")->status->reason, "IdleTimeout");
  EXPECT_EQ(plane.probe().token_seen, token_of(*plane.object<api::Secret>("demo-runtime-token")));
}

TEST(SandboxReconciler, BusySandboxIsNotStopped) {
  TestPlane plane;
  plane.probe().activity.open_processes = 1;
  plane.create("demo", {{"idleTimeout", "60s"}});
  plane.advance(600s);
  EXPECT_EQ(plane.phase("demo"), "Running");
  plane.probe().activity.open_processes = 0;
  plane.advance(130s);
  EXPECT_EQ(plane.phase("demo"), "Stopped");
}

TEST(SandboxReconciler, RunningSandboxCostsNoCallsToTheApi) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  const std::size_t before = plane.faults().sent();
  plane.advance(100s);
  EXPECT_EQ(plane.faults().sent(), before);
}

TEST(SandboxReconciler, RestartOfTheControllerChangesNothing) {
  TestPlane plane;
  plane.create("demo");
  plane.settle();
  const auto before = plane.object<api::Pod>("demo-pod");
  const std::size_t writes = plane.writes().size();
  plane.restart_controller();
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Running");
  EXPECT_EQ(plane.object<api::Pod>("demo-pod")->metadata.uid, before->metadata.uid);
  EXPECT_EQ(plane.writes().size(), writes);
}

TEST(SandboxReconciler, ManySandboxesStartTogether) {
  TestPlane plane;
  for (int i = 0; i < 30; ++i) plane.create("s" + std::to_string(i));
  plane.settle();
  for (int i = 0; i < 30; ++i) EXPECT_EQ(plane.phase("s" + std::to_string(i)), "Running");
  EXPECT_TRUE(plane.kubelet().breaches().empty());
}

TEST(SandboxReconciler, SetsTheFinalizerWhereTheCreatorDidNot) {
  TestPlane plane;
  json::object sandbox = {{"metadata", {{"name", "demo"}, {"namespace", "default"}}}};
  ASSERT_TRUE(plane.loop().run(plane.direct().create(api::Sandbox::kType, std::move(sandbox))));
  plane.settle();
  EXPECT_EQ(plane.phase("demo"), "Running");
  EXPECT_TRUE(api::has_finalizer(plane.find("demo")->metadata, names::kSandboxFinalizer));
}

// One life: create, stop, resume, delete. Where it must stand after each step.
void live(TestPlane& plane) {
  plane.create("demo");
  plane.settle(5000ms);
  ASSERT_EQ(plane.phase("demo"), "Running");
  const auto volume = plane.object<api::PersistentVolumeClaim>("demo-workspace");
  ASSERT_TRUE(volume);
  plane.stop("demo");
  plane.settle(5000ms);
  ASSERT_EQ(plane.phase("demo"), "Stopped");
  plane.resume("demo");
  plane.settle(5000ms);
  ASSERT_EQ(plane.phase("demo"), "Running");
  ASSERT_EQ(plane.object<api::PersistentVolumeClaim>("demo-workspace")->metadata.uid,
            volume->metadata.uid);
  ASSERT_EQ(plane.find("demo")->status->restart_count, 0);
  plane.remove("demo");
  plane.settle(5000ms);
  ASSERT_EQ(plane.phase("demo"), "gone");
  ASSERT_TRUE(plane.all<api::Pod>().empty());
  ASSERT_TRUE(plane.all<api::PersistentVolumeClaim>().empty());
  ASSERT_TRUE(plane.all<api::NetworkPolicy>().empty());
}

void live_with_each_call_failing_once(When when) {
  for (std::size_t n = 1; n < 200; ++n) {
    TestPlane plane;
    const std::size_t before = plane.faults().sent();
    plane.faults().fail_request(n, when);
    live(plane);
    if (testing::Test::HasFatalFailure()) {
      FAIL() << "when call " << n << " fails: " << plane.faults().log().at(before + n - 1);
    }
    ASSERT_TRUE(plane.kubelet().breaches().empty())
        << "when call " << n << " fails: " << plane.kubelet().breaches()[0];
    if (plane.faults().sent() < before + n) return;
  }
  FAIL() << "a life needs 200 calls";
}

TEST(SandboxReconcilerFaults, SurvivesEveryRequestThatIsNeverSent) {
  live_with_each_call_failing_once(When::kBefore);
}

TEST(SandboxReconcilerFaults, SurvivesEveryAnswerThatIsLost) {
  live_with_each_call_failing_once(When::kAfter);
}

TEST(DefaultTemplates, AreMadeOnceAndNeverWrittenOver) {
  TestPlane plane;
  const DefaultTemplateOptions options{.minimal_image = "minimal:1",
                                       .general_coding_image = "coding:1"};
  ASSERT_TRUE(plane.loop().run(ensure_default_templates(plane.direct(), options)));
  json::value patch = {{"spec", {{"description", "mine"}}}};
  ASSERT_TRUE(plane.loop().run(plane.direct().patch(
      api::ClusterSandboxTemplate::kType, {"", "minimal"}, kube::PatchType::kMerge, patch)));
  ASSERT_TRUE(plane.loop().run(ensure_default_templates(plane.direct(), options)));
  const auto templates = plane.all<api::ClusterSandboxTemplate>();
  ASSERT_EQ(templates.size(), 2U);
  for (const auto& item : templates) {
    if (item.metadata.name == "minimal") EXPECT_EQ(item.spec.description, "mine");
  }
}

TEST(DefaultTemplates, PassTheRulesForTemplates) {
  for (const auto& item :
       default_templates({.minimal_image = "minimal:1", .general_coding_image = "coding:1"})) {
    EXPECT_TRUE(policy::check_template_spec(item.spec, {})) << item.metadata.name;
  }
}

}  // namespace
}  // namespace agenttier::controller
