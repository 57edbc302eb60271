// Claims about creation, running, failures and time limits. Stop, resume and deletion:
// sandbox_plan_stop_test.cc.

#include "controller/sandbox_plan.h"

#include <gtest/gtest.h>

#include "controller/plan_world_test.h"

namespace agenttier::controller {
namespace {

using namespace std::chrono_literals;

template <class T>
const T* find_action(const Plan& plan) {
  for (const Stage& stage : plan.stages) {
    for (const Action& action : stage) {
      if (const auto* found = std::get_if<T>(&action)) return found;
    }
  }
  return nullptr;
}

std::vector<Part> created_in(const Stage& stage) {
  std::vector<Part> parts;
  for (const Action& action : stage) {
    if (const auto* create = std::get_if<Create>(&action)) parts.push_back(create->part);
  }
  return parts;
}

TEST(SandboxPlan, NewSandboxGetsAllItsObjectsAtOnceAndThePodAfterThem) {
  PlanWorld world;
  const Plan plan = world.plan();
  ASSERT_EQ(plan.stages.size(), 2U);
  EXPECT_EQ(created_in(plan.stages[0]),
            (std::vector<Part>{Part::kPolicy, Part::kToken, Part::kVolume}));
  EXPECT_EQ(created_in(plan.stages[1]), std::vector<Part>{Part::kPod});
  ASSERT_NE(find_action<WriteStatus>(plan), nullptr);
  EXPECT_EQ(find_action<WriteStatus>(plan)->status.phase, "Creating");
}

TEST(SandboxPlan, CreationTakesTwoStatusWritesInAll) {
  PlanWorld world;
  int writes = 0;
  const auto count = [&](const Plan& plan) {
    if (find_action<WriteStatus>(plan) != nullptr) ++writes;
  };
  count(world.step());
  count(world.step());
  world.pod_runs();
  count(world.step());
  world.answering = world.pods[0].metadata.uid;
  count(world.step());
  count(world.step());
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(writes, 2);
}

TEST(SandboxPlan, FinalizerComesBeforeAnyObject) {
  PlanWorld world;
  world.sandbox.metadata.finalizers.clear();
  const Plan plan = world.step();
  EXPECT_EQ(find_action<Create>(plan), nullptr);
  EXPECT_TRUE(api::has_finalizer(world.sandbox.metadata, names::kSandboxFinalizer));
}

TEST(SandboxPlan, RunningOnlyOnceTheRuntimeAnswers) {
  PlanWorld world;
  world.settle();
  world.pod_runs();
  const Plan plan = world.step();
  EXPECT_EQ(world.phase(), "Creating");
  ASSERT_NE(find_action<AskHealth>(plan), nullptr);
  EXPECT_EQ(find_action<AskHealth>(plan)->pod_ip, "10.1.2.3");
  world.answering = "another pod";
  world.step();
  EXPECT_EQ(world.phase(), "Creating");
  world.answering = world.pods[0].metadata.uid;
  world.step();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_TRUE(world.told("Running"));
}

TEST(SandboxPlan, RunningSaysWhereAndSinceWhen) {
  PlanWorld world;
  world.start();
  EXPECT_EQ(world.status().pod_name, "demo-pod");
  EXPECT_EQ(world.status().pod_uid, world.pods[0].metadata.uid);
  EXPECT_EQ(world.status().pod_ip, "10.1.2.3");
  EXPECT_EQ(world.status().pvc_name, "demo-workspace");
  EXPECT_EQ(world.status().pvc_uid, world.volume->metadata.uid);
  EXPECT_EQ(world.status().started_at, "2030-01-01T00:00:00Z");
  EXPECT_EQ(world.status().resolved_template, "minimal");
  EXPECT_EQ(world.status().observed_generation, 1);
  EXPECT_EQ(world.status().message, "");
  EXPECT_EQ(world.ready_reason(), "AsExpected");
}

TEST(SandboxPlan, NothingIsLeftToDoForASandboxThatRuns) {
  PlanWorld world;
  world.start();
  EXPECT_TRUE(world.plan().idle());
}

TEST(SandboxPlan, SandboxCreatedStoppedMakesNothing) {
  PlanWorld world;
  world.want("Stopped");
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_TRUE(world.pods.empty());
  EXPECT_FALSE(world.volume);
}

TEST(SandboxPlan, PodKnowsOnlyTheHashOfItsToken) {
  PlanWorld world;
  world.settle();
  EXPECT_EQ(token_of(*world.token), "fresh-token");
  const std::string pod = boost::json::serialize(world.pods[0].to_json());
  EXPECT_EQ(pod.find("fresh-token"), std::string::npos);
  EXPECT_EQ(token_sha256_of(world.pods[0]).size(), 64U);
}

TEST(SandboxPlan, ObjectsOfAnOlderSandboxOfTheNameAreNotTaken) {
  PlanWorld world;
  PlanWorld older;
  older.sandbox.metadata.uid = "uid-older";
  older.settle();
  world.pods = older.pods;
  world.volume = older.volume;
  world.token = older.token;
  world.policy = older.policy;
  const Plan plan = world.plan();
  EXPECT_EQ(created_in(plan.stages[0]),
            (std::vector<Part>{Part::kPolicy, Part::kToken, Part::kVolume}));
  EXPECT_EQ(find_action<Delete>(plan), nullptr);
}

TEST(SandboxPlan, VolumeOfAnotherOwnerIsReportedAndWaitedFor) {
  PlanWorld world;
  world.last_failure = ApplyFailure{Part::kVolume, base::exists("PersistentVolumeClaim "
                                                                "demo-workspace exists")};
  world.step();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.ready_reason(), "VolumeFailed");
  EXPECT_TRUE(world.told("VolumeFailed"));
}

TEST(SandboxPlan, PassingFaultsOfTheApiServerAreNotReported) {
  PlanWorld world;
  world.last_failure = ApplyFailure{Part::kPod, base::unavailable("injected")};
  world.step();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.ready_reason(), "Pending");
}

TEST(SandboxPlan, PodWithAnOlderTokenIsReplaced) {
  PlanWorld world;
  world.settle();
  world.token->data["token"] = "b3RoZXI=";
  world.step();
  EXPECT_TRUE(api::is_being_deleted(world.pods[0].metadata));
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.pods_created(), 2);
}

TEST(SandboxPlan, ChangedSpecificationReplacesAPodThatIsNotUpYet) {
  PlanWorld world;
  world.settle();
  world.pod_waits("ImagePullBackOff", "no such image");
  world.step();
  ++world.sandbox.metadata.generation;
  world.effective.image.repository = "right:1";
  world.settle();
  EXPECT_TRUE(api::is_being_deleted(world.pods[0].metadata));
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.pods[0].spec.containers[0].image, "right:1");
}

TEST(SandboxPlan, RunningSandboxKeepsItsPodWhenItsSpecificationChanges) {
  PlanWorld world;
  world.start();
  ++world.sandbox.metadata.generation;
  world.effective.image.repository = "newer:1";
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.pods_created(), 1);
  EXPECT_EQ(world.status().observed_generation, 2);
}

TEST(SandboxPlan, ImageTroubleIsToldAtOnceAndOnce) {
  PlanWorld world;
  world.settle();
  world.pod_waits("ImagePullBackOff", "manifest unknown");
  world.step();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.ready_reason(), "ImagePullFailed");
  EXPECT_NE(world.status().message.find("manifest unknown"), std::string::npos);
  EXPECT_EQ(std::count(world.events.begin(), world.events.end(), "ImagePullFailed"), 1);
  world.settle();
  EXPECT_EQ(std::count(world.events.begin(), world.events.end(), "ImagePullFailed"), 1);
}

TEST(SandboxPlan, ImageNameThatCannotBeIsAnErrorAtOnce) {
  PlanWorld world;
  world.settle();
  world.pod_waits("InvalidImageName", "couldn't parse image name");
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_TRUE(api::is_being_deleted(world.pods[0].metadata));
}

TEST(SandboxPlan, PodThatNoNodeTakesSaysWhy) {
  PlanWorld world;
  world.settle();
  api::PodCondition& condition = world.pods[0].status.emplace().conditions.emplace_back();
  condition.type = "PodScheduled";
  condition.status = "False";
  condition.message = "0/1 nodes: insufficient memory";
  world.step();
  EXPECT_EQ(world.ready_reason(), "Unschedulable");
  EXPECT_NE(world.status().message.find("insufficient memory"), std::string::npos);
}

TEST(SandboxPlan, CreationHasADeadlineAndNeverLeavesAPodWithAnError) {
  PlanWorld world;
  world.settle();
  world.pod_waits("ImagePullBackOff", "manifest unknown");
  world.step();
  world.now += 599s;
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.plan().wake_at, world.now + 1s);
  world.now += 1s;
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_EQ(world.status().reason, "StartTimeout");
  EXPECT_NE(world.status().message.find("manifest unknown"), std::string::npos);
  world.pods_end();
  EXPECT_TRUE(world.pods.empty());
}

TEST(SandboxPlan, DeadlineCountsEvenIfTheFirstWriteFindsAPodAlready) {
  PlanWorld world;
  world.settle();
  world.pod_runs();
  world.sandbox.status.reset();  // the write was lost with the controller
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  world.now += 600s;
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
}

TEST(SandboxPlan, MissingTemplateIsAnErrorThatNamesIt) {
  PlanWorld world;
  base::Error missing = base::not_found("template ClusterSandboxTemplate nope: does not exist");
  missing.reason = "template_not_found";
  world.resolution_error = missing;
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_EQ(world.status().reason, "TemplateNotFound");
  EXPECT_EQ(world.status().message, missing.message);
  EXPECT_TRUE(world.pods.empty());
}

TEST(SandboxPlan, TemplateThatAppearsHealsTheError) {
  PlanWorld world;
  world.resolution_error = base::not_found("no template");
  world.settle();
  ASSERT_EQ(world.phase(), "Error");
  world.resolution_error.reset();
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.pods.size(), 1U);
}

TEST(SandboxPlan, CommandThatEndsWithZeroStopsTheSandbox) {
  PlanWorld world;
  world.start();
  world.pod_ends("Completed", 0);
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_EQ(world.status().reason, "Completed");
  EXPECT_EQ(world.sandbox.spec.desired_state, "Stopped");
  EXPECT_TRUE(world.told("Stopped"));
  EXPECT_EQ(world.pods_created(), 1);
}

TEST(SandboxPlan, CommandThatEndsBeforeTheRuntimeAnsweredStopsItToo) {
  PlanWorld world;
  world.settle();
  world.pod_ends("Completed", 0);
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_EQ(world.status().reason, "Completed");
}

TEST(SandboxPlan, CommandThatFailsIsAnErrorWithoutARestart) {
  PlanWorld world;
  world.effective.harness.command = {"false"};
  world.start();
  world.pod_ends("Error", 1);
  world.settle();
  world.pods_end();
  world.now += 1h;
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_EQ(world.status().reason, "ApplicationFailed");
  EXPECT_EQ(world.status().restart_count, 0);
  EXPECT_EQ(world.status().last_failure->exit_code, 1);
  EXPECT_TRUE(world.told("ApplicationError"));
  EXPECT_TRUE(world.told("Error"));
  EXPECT_EQ(world.pods_created(), 1);
}

TEST(SandboxPlan, PodKilledForMemoryComesBackOnTheSameVolume) {
  PlanWorld world;
  world.start();
  const std::string volume = world.volume->metadata.uid;
  world.pod_ends("OOMKilled", 137);
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_EQ(world.status().restart_count, 1);
  EXPECT_EQ(world.status().last_failure->reason, "OOMKilled");
  EXPECT_TRUE(world.told("AutoRestarted"));
  EXPECT_NE(world.status().message.find("before restart attempt 1/5"), std::string::npos);
  world.pods_end();
  world.settle();
  EXPECT_TRUE(world.pods.empty());
  world.now += 10s;
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_TRUE(world.told("Restarting"));
  ASSERT_EQ(world.pods.size(), 1U);
  EXPECT_EQ(world.pods[0].spec.volumes[0].persistent_volume_claim->claim_name, "demo-workspace");
  EXPECT_EQ(world.volume->metadata.uid, volume);
}

TEST(SandboxPlan, FailedPodIsDeletedBeforeANewOneIsMade) {
  PlanWorld world;
  world.start();
  world.pod_ends("OOMKilled", 137);
  world.settle();
  world.now += 10s;
  world.settle();
  EXPECT_EQ(world.pods_created(), 1);
  EXPECT_TRUE(api::is_being_deleted(world.pods[0].metadata));
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.pods_created(), 2);
}

// One failure and the wait after it; gives the delay in seconds.
std::int64_t fail_once(PlanWorld& world) {
  world.pod_ends("Evicted", 137);
  world.pods[0].status->reason = "Evicted";
  world.settle();
  if (!world.status().retry_at) return -1;
  const auto due = base::parse_rfc3339(*world.status().retry_at).value();
  const auto delay = std::chrono::duration_cast<std::chrono::seconds>(due - world.now).count();
  world.pods_end();
  world.now = due;
  world.settle();
  world.pod_runs();
  world.answering = world.pods.at(0).metadata.uid;
  world.settle();
  return delay;
}

TEST(SandboxPlan, RestartsWaitLongerEachTimeAndEndAfterFive) {
  PlanWorld world;
  world.start();
  std::vector<std::int64_t> delays;
  for (int i = 0; i < 5; ++i) delays.push_back(fail_once(world));
  EXPECT_EQ(delays, (std::vector<std::int64_t>{10, 20, 40, 80, 160}));
  EXPECT_EQ(fail_once(world), -1);
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_EQ(world.status().reason, "RetryLimit");
  EXPECT_NE(world.status().message.find("Restart limit exceeded (5 attempts)"), std::string::npos);
  EXPECT_FALSE(world.plan().wake_at);
}

TEST(SandboxPlan, BackoffCountsFromTheFailureHoweverLongThePodLived) {
  PlanWorld world;
  world.start();
  world.now += 24h;
  EXPECT_EQ(fail_once(world), 10);
}

TEST(SandboxPlan, FiveStableMinutesFillTheRestartBudget) {
  PlanWorld world;
  world.start();
  fail_once(world);
  EXPECT_EQ(world.status().restart_count, 1);
  world.now += 299s;
  world.settle();
  EXPECT_EQ(world.status().restart_count, 1);
  world.now += 1s;
  world.settle();
  EXPECT_EQ(world.status().restart_count, 0);
  EXPECT_TRUE(world.told("RestartCountReset"));
}

TEST(SandboxPlan, VanishedPodIsAFailureOfTheMachine) {
  PlanWorld world;
  world.start();
  world.pods.clear();
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_EQ(world.status().last_failure->reason, "PodVanished");
  EXPECT_EQ(world.status().restart_count, 1);
}

TEST(SandboxPlan, PodBeingDeletedByOthersLeavesRunningAtOnce) {
  PlanWorld world;
  world.start();
  world.pods[0].metadata.deletion_timestamp = "2030-01-01T00:00:00Z";
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_TRUE(world.status().retry_at);
}

TEST(SandboxPlan, FinishedSidecarDecidesNothing) {
  PlanWorld world;
  world.start();
  api::ContainerStatus& side = world.pods[0].status->container_statuses.emplace_back();
  side.name = "side";
  side.state.emplace().terminated.emplace().exit_code = 3;
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
}

TEST(SandboxPlan, InitContainerThatFailsIsNamed) {
  PlanWorld world;
  world.settle();
  api::PodStatus& status = world.pods[0].status.emplace();
  status.phase = "Failed";
  api::ContainerStatus& init = status.init_container_statuses.emplace_back();
  init.name = "init-scripts";
  init.state.emplace().terminated.emplace().exit_code = 7;
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_NE(world.status().message.find("init container init-scripts exited with 7"),
            std::string::npos);
}

TEST(SandboxPlan, LostTokenMakesANewPodWithANewToken) {
  PlanWorld world;
  world.start();
  world.token.reset();
  world.settle();
  EXPECT_EQ(world.status().last_failure->reason, "TokenLost");
  world.pods_end();
  world.now += 10s;
  world.settle();
  ASSERT_TRUE(world.token);
  EXPECT_EQ(world.pods_created(), 2);
}

TEST(SandboxPlan, LostVolumeIsNeverReplacedByAnEmptyOne) {
  PlanWorld world;
  world.start();
  world.pods.clear();
  world.volume.reset();
  world.settle();
  world.now += 10s;
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_EQ(world.status().reason, "VolumeLost");
  EXPECT_FALSE(world.volume);
}

TEST(SandboxPlan, AnotherVolumeOfTheNameIsNotTheVolume) {
  PlanWorld world;
  world.start();
  world.pods.clear();
  world.volume->metadata.uid = "uid-other";
  world.settle();
  world.now += 10s;
  world.settle();
  EXPECT_EQ(world.status().reason, "VolumeLost");
}

TEST(SandboxPlan, DeletedPolicyOfARunningSandboxComesBack) {
  PlanWorld world;
  world.start();
  world.policy.reset();
  world.settle();
  EXPECT_TRUE(world.policy);
  EXPECT_EQ(world.phase(), "Running");
}

TEST(SandboxPlan, ChangedNetworkReachesARunningSandbox) {
  PlanWorld world;
  world.start();
  EXPECT_TRUE(world.policy->spec.egress.empty());
  ++world.sandbox.metadata.generation;
  world.effective.network.allow_internet = true;
  world.settle();
  EXPECT_EQ(world.policy->spec.egress.size(), 1U);
  EXPECT_EQ(world.pods_created(), 1);
}

TEST(SandboxPlan, PolicyChangedByOthersIsSetRight) {
  PlanWorld world;
  world.start();
  world.policy->spec.egress.emplace_back();
  world.settle();
  EXPECT_TRUE(world.policy->spec.egress.empty());
}

TEST(SandboxPlan, BrokenTemplateLeavesARunningSandboxAndItsPolicyAlone) {
  PlanWorld world;
  world.effective.network.allow_internet = true;
  world.start();
  world.resolution_error = base::not_found("the template was deleted");
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.policy->spec.egress.size(), 1U);
  world.policy.reset();
  world.settle();
  EXPECT_TRUE(world.policy->spec.egress.empty());
}

TEST(SandboxPlan, TimeLimitStopsTheSandbox) {
  PlanWorld world;
  world.effective.timeout = 1h;
  world.start();
  EXPECT_EQ(world.plan().wake_at, world.now + 1h);
  world.now += 1h;
  world.settle();
  EXPECT_TRUE(world.told("MaxRuntimeReached"));
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_EQ(world.status().reason, "MaxRuntime");
  EXPECT_EQ(world.sandbox.spec.desired_state, "Stopped");
  EXPECT_TRUE(world.told("Stopped"));
}

TEST(SandboxPlan, TimeLimitBeginsAnewWithEachResume) {
  PlanWorld world;
  world.effective.timeout = 1h;
  world.start();
  world.now += 30min;
  world.want("Stopped");
  world.settle();
  world.pods_end();
  world.settle();
  world.now += 2h;
  world.resume();
  world.settle();
  world.start();
  EXPECT_EQ(world.plan().wake_at, world.now + 1h);
}

TEST(SandboxPlan, CrashesDoNotProlongTheTimeLimit) {
  PlanWorld world;
  world.effective.timeout = 1h;
  world.start();
  const auto due = world.now + 1h;
  world.now += 30min;
  fail_once(world);
  world.now += 301s;
  world.settle();
  EXPECT_EQ(world.plan().wake_at, due);
}

// Lets the runtime answer the question that the plan asks.
void answer(PlanWorld& world, ActivityReading reading) {
  reading.taken_at = world.now;
  world.activity.pod_uid = world.pods.at(0).metadata.uid;
  world.activity.previous = world.activity.latest;
  world.activity.latest = reading;
  world.activity.asked_at = world.now;
}

bool asks_for_activity(const PlanWorld& world) {
  return find_action<AskActivity>(world.plan()) != nullptr;
}

PlanWorld idle_world() {
  PlanWorld world;
  world.effective.idle_timeout = 60s;
  world.start();
  return world;
}

TEST(IdlePlan, AsksTheRuntimeAtTheDeadlineAndNotBefore) {
  PlanWorld world = idle_world();
  EXPECT_EQ(world.plan().wake_at, world.now + 60s);
  world.now += 59s;
  EXPECT_FALSE(asks_for_activity(world));
  world.now += 1s;
  EXPECT_TRUE(asks_for_activity(world));
}

TEST(IdlePlan, StopsASandboxWithoutInputProcessesOrCpuUse) {
  PlanWorld world = idle_world();
  world.now += 60s;
  answer(world, {.cpu = 100ms});
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.plan().wake_at, world.now + 5s);
  world.now += 5s;
  EXPECT_TRUE(asks_for_activity(world));
  answer(world, {.cpu = 101ms});
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_EQ(world.status().reason, "IdleTimeout");
  EXPECT_TRUE(world.told("IdleTimeout"));
  EXPECT_TRUE(world.told("Stopped"));
}

TEST(IdlePlan, InputMovesTheDeadline) {
  PlanWorld world = idle_world();
  world.now += 60s;
  answer(world, {.last_input = world.now - 10s});
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.plan().wake_at, world.now + 50s);
}

TEST(IdlePlan, LiveProcessKeepsTheSandbox) {
  PlanWorld world = idle_world();
  for (int i = 0; i < 10; ++i) {
    world.now += 60s;
    answer(world, {.open_processes = 1});
    world.settle();
    ASSERT_EQ(world.phase(), "Running");
    ASSERT_FALSE(asks_for_activity(world));
  }
}

TEST(IdlePlan, CpuUseKeepsTheSandbox) {
  PlanWorld world = idle_world();
  world.now += 60s;
  answer(world, {.cpu = 1s});
  world.now += 5s;
  answer(world, {.cpu = 2s});
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.plan().wake_at, world.now + 60s);
}

TEST(IdlePlan, RuntimeThatDoesNotAnswerIsAskedAgainBeforeItIsGivenUp) {
  PlanWorld world = idle_world();
  world.now += 60s;
  world.activity.pod_uid = world.pods[0].metadata.uid;
  world.activity.failing_since = world.now;
  world.activity.asked_at = world.now;
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.plan().wake_at, world.now + 30s);
  world.now += 30s;
  EXPECT_TRUE(asks_for_activity(world));
  world.now += 30s;
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
}

TEST(IdlePlan, ReadingsOfAnEarlierPodDoNotCount) {
  PlanWorld world = idle_world();
  world.now += 60s;
  answer(world, {.open_processes = 1});
  world.activity.pod_uid = "uid-earlier";
  EXPECT_TRUE(asks_for_activity(world));
}

TEST(IdlePlan, StatusTellsTheLastWorkSoThatAnotherControllerKnows) {
  PlanWorld world = idle_world();
  world.now += 60s;
  answer(world, {.open_processes = 2});
  world.settle();
  EXPECT_EQ(world.status().last_activity_timestamp, base::format_rfc3339(world.now));
  world.activity = {};
  EXPECT_FALSE(asks_for_activity(world));
}

}  // namespace
}  // namespace agenttier::controller
