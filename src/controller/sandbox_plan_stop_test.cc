// Claims about stop, resume and deletion.

#include <gtest/gtest.h>

#include "controller/plan_world_test.h"
#include "controller/sandbox_plan.h"

namespace agenttier::controller {
namespace {

using namespace std::chrono_literals;

PlanWorld running_world() {
  PlanWorld world;
  world.start();
  return world;
}

PlanWorld stopped_world() {
  PlanWorld world = running_world();
  world.want("Stopped");
  world.settle();
  world.pods_end();
  world.settle();
  return world;
}

TEST(StopPlan, StoppedOnlyWhenThePodIsReallyGone) {
  PlanWorld world = running_world();
  world.want("Stopped");
  world.settle();
  EXPECT_TRUE(api::is_being_deleted(world.pods[0].metadata));
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.status().reason, "UserStopped");
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_TRUE(world.told("Stopped"));
}

TEST(StopPlan, KeepsVolumePolicyAndToken) {
  const PlanWorld world = stopped_world();
  EXPECT_TRUE(world.volume);
  EXPECT_TRUE(world.policy);
  EXPECT_TRUE(world.token);
  EXPECT_EQ(world.status().pvc_name, "demo-workspace");
  EXPECT_EQ(world.status().pod_name, "");
  EXPECT_FALSE(world.status().started_at);
  EXPECT_TRUE(world.status().stopped_at);
}

TEST(StopPlan, StopNotesItselfBeforeThePodGoes) {
  PlanWorld world = running_world();
  world.want("Stopped");
  const Plan plan = world.plan();
  ASSERT_EQ(plan.stages.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<WriteStatus>(plan.stages[0].at(0)));
  EXPECT_TRUE(std::holds_alternative<Delete>(plan.stages[2].at(0)));
}

TEST(StopPlan, AnnotationBecomesDesiredStateInOneWrite) {
  PlanWorld world = running_world();
  world.annotate("stop");
  const Plan plan = world.plan();
  ASSERT_EQ(plan.stages.size(), 1U);
  ASSERT_EQ(plan.stages[0].size(), 1U);
  const auto* patch = std::get_if<PatchSandbox>(&plan.stages[0][0]);
  ASSERT_NE(patch, nullptr);
  EXPECT_EQ(
      boost::json::serialize(patch->patch),
      R"({"spec":{"desiredState":"Stopped"},"metadata":{"annotations":{"agenttier.io/action":null}}})");
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
}

TEST(StopPlan, AnnotationIsGoneSoThatALaterResumeIsNotStoppedAgain) {
  PlanWorld world = running_world();
  world.annotate("stop");
  world.settle();
  world.pods_end();
  world.settle();
  world.want("Running");
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
}

TEST(StopPlan, UnknownActionIsDropped) {
  PlanWorld world = running_world();
  world.annotate("dance");
  world.settle();
  EXPECT_TRUE(world.sandbox.metadata.annotations.empty());
  EXPECT_EQ(world.phase(), "Running");
}

TEST(StopPlan, SandboxThatIsStillCreatingCanBeStopped) {
  PlanWorld world;
  world.settle();
  world.want("Stopped");
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_EQ(world.status().pvc_name, "demo-workspace");
}

TEST(StopPlan, SandboxThatWaitsForARestartCanBeStopped) {
  PlanWorld world = running_world();
  world.pod_ends("OOMKilled", 137);
  world.settle();
  world.want("Stopped");
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_FALSE(world.status().retry_at);
}

TEST(StopPlan, ErrorCanBeStoppedAndStillTellsWhy) {
  PlanWorld world;
  world.effective.harness.command = {"false"};
  world.start();
  world.pod_ends("Error", 1);
  world.settle();
  world.pods_end();
  world.settle();
  world.want("Stopped");
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_EQ(world.status().last_failure->exit_code, 1);
}

TEST(StopPlan, PodThatFailsWhileBeingStoppedIsStillAStop) {
  PlanWorld world = running_world();
  world.want("Stopped");
  world.settle();
  world.pod_ends("Error", 143);
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_FALSE(world.told("AutoRestarted"));
}

TEST(StopPlan, StopsOfTheControllersOwnAreWrittenIntoWhatIsWanted) {
  PlanWorld world;
  world.effective.timeout = 60s;
  world.start();
  world.now += 60s;
  const Plan plan = world.plan();
  ASSERT_EQ(plan.stages.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<WriteStatus>(plan.stages[0].at(0)));
  EXPECT_TRUE(std::holds_alternative<PatchSandbox>(plan.stages[1].at(0)));
  EXPECT_TRUE(std::holds_alternative<Delete>(plan.stages[2].at(0)));
}

// Performs only the first stage of the next plan, as a controller that dies then.
void die_after_first_stage(PlanWorld& world) {
  const Plan plan = world.plan();
  const auto* write = std::get_if<WriteStatus>(&plan.stages.at(0).at(0));
  ASSERT_NE(write, nullptr);
  world.sandbox.status = write->status;
}

TEST(StopPlan, ControllerThatDiesBetweenNoteAndDeletionIsFinishedByTheNext) {
  PlanWorld world;
  world.effective.timeout = 60s;
  world.start();
  world.now += 60s;
  die_after_first_stage(world);
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_EQ(world.status().reason, "MaxRuntime");
  EXPECT_EQ(world.sandbox.spec.desired_state, "Stopped");
}

TEST(StopPlan, CompletedSandboxWhosePodVanishedDoesNotRunAgain) {
  PlanWorld world = running_world();
  world.pod_ends("Completed", 0);
  die_after_first_stage(world);
  world.pods.clear();
  world.settle();
  EXPECT_EQ(world.phase(), "Stopped");
  EXPECT_EQ(world.sandbox.spec.desired_state, "Stopped");
  world.settle();
  EXPECT_EQ(world.pods_created(), 1);
}

TEST(StopPlan, EditOfTheSpecificationCallsOffATimeLimitThatHasNotDeletedYet) {
  PlanWorld world;
  world.effective.timeout = 60s;
  world.start();
  world.now += 60s;
  die_after_first_stage(world);
  ++world.sandbox.metadata.generation;
  world.effective.timeout = 2h;
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.status().reason, "");
  EXPECT_EQ(world.ready_reason(), "AsExpected");
  EXPECT_EQ(world.pods_created(), 1);
}

TEST(ResumePlan, MakesANewPodOnTheSameVolume) {
  PlanWorld world = stopped_world();
  const std::string volume = world.volume->metadata.uid;
  world.resume();
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  world.start();
  EXPECT_EQ(world.volume->metadata.uid, volume);
  EXPECT_EQ(world.pods_created(), 2);
  EXPECT_FALSE(world.status().stopped_at);
}

TEST(ResumePlan, VolumeIsTheOneOfTheStatusWhateverItsName) {
  PlanWorld world = stopped_world();
  world.volume->metadata.name = "pool-x-pvc";
  world.sandbox.status->pvc_name = "pool-x-pvc";
  world.resume();
  world.settle();
  EXPECT_EQ(world.pods[0].spec.volumes[0].persistent_volume_claim->claim_name, "pool-x-pvc");
}

TEST(ResumePlan, WithoutItsVolumeItIsAnErrorNotAnEmptyDisk) {
  PlanWorld world = stopped_world();
  world.volume.reset();
  world.resume();
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  EXPECT_EQ(world.status().reason, "VolumeLost");
  EXPECT_FALSE(world.volume);
}

TEST(ResumePlan, RightAfterStopWaitsForTheOldPodAndThenRuns) {
  PlanWorld world = running_world();
  world.want("Stopped");
  world.settle();
  world.resume();
  world.settle();
  EXPECT_EQ(world.pods_created(), 1);
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.pods_created(), 2);
  EXPECT_FALSE(world.told("AutoRestarted"));
  EXPECT_EQ(world.status().restart_count, 0);
}

TEST(ResumePlan, DuringATimeLimitsStopRunsAgain) {
  PlanWorld world;
  world.effective.timeout = 60s;
  world.start();
  world.now += 60s;
  world.settle();
  world.resume();
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.sandbox.spec.desired_state, "Running");
}

TEST(ResumePlan, OfACompletedSandboxBeforeItSettledIsNotLost) {
  PlanWorld world = running_world();
  world.pod_ends("Completed", 0);
  die_after_first_stage(world);
  world.resume();  // wanted Running all the time: only the annotation tells
  world.settle();
  EXPECT_EQ(world.sandbox.spec.desired_state.value_or("Running"), "Running");
  world.pods_end();
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_TRUE(world.sandbox.metadata.annotations.empty());
}

TEST(ResumePlan, FromErrorStartsAnewWithAFullBudgetAndKeepsTheReason) {
  PlanWorld world;
  world.effective.harness.command = {"false"};
  world.start();
  world.pod_ends("Error", 1);
  world.settle();
  world.pods_end();
  world.settle();
  ASSERT_EQ(world.phase(), "Error");
  world.resume();
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.status().restart_count, 0);
  EXPECT_EQ(world.status().last_failure->exit_code, 1);
  EXPECT_TRUE(world.sandbox.metadata.annotations.empty());
  EXPECT_TRUE(world.told("Resumed"));
}

TEST(ResumePlan, AnnotationOutlivesTheWriteThatHeedsIt) {
  PlanWorld world;
  world.effective.harness.command = {"false"};
  world.start();
  world.pod_ends("Error", 1);
  world.settle();
  world.pods_end();
  world.settle();
  world.resume();
  const Plan plan = world.plan();
  EXPECT_TRUE(std::holds_alternative<PatchSandbox>(plan.stages.back().at(0)));
  EXPECT_GT(plan.stages.size(), 1U);
}

TEST(ResumePlan, TwiceIsHarmless) {
  PlanWorld world = stopped_world();
  world.resume();
  world.settle();
  world.start();
  world.resume();
  world.settle();
  EXPECT_EQ(world.phase(), "Running");
  EXPECT_EQ(world.pods_created(), 2);
  EXPECT_TRUE(world.sandbox.metadata.annotations.empty());
}

TEST(ResumePlan, StartIsTheSame) {
  PlanWorld world = stopped_world();
  world.annotate("start");
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
  EXPECT_EQ(world.sandbox.spec.desired_state, "Running");
}

TEST(ErrorPlan, RestsUntilSomebodyActs) {
  PlanWorld world;
  world.effective.harness.command = {"false"};
  world.start();
  world.pod_ends("Error", 1);
  world.settle();
  world.pods_end();
  world.settle();
  world.now += 24h;
  const Plan plan = world.plan();
  EXPECT_TRUE(plan.idle());
  EXPECT_FALSE(plan.wake_at);
}

TEST(ErrorPlan, EditThatMakesAnotherPodIsTried) {
  PlanWorld world;
  world.settle();
  world.pod_waits("InvalidImageName", "bad");
  world.settle();
  world.pods_end();
  world.settle();
  ASSERT_EQ(world.phase(), "Error");
  ++world.sandbox.metadata.generation;
  world.effective.timeout = 1h;  // makes no other pod
  world.settle();
  EXPECT_EQ(world.phase(), "Error");
  ++world.sandbox.metadata.generation;
  world.effective.image.repository = "right:1";
  world.settle();
  EXPECT_EQ(world.phase(), "Creating");
}

TEST(DeletePlan, PodFirstThenTheRestThenTheFinalizer) {
  PlanWorld world = running_world();
  world.delete_sandbox();
  world.settle();
  EXPECT_EQ(world.phase(), "Deleting");
  EXPECT_TRUE(api::is_being_deleted(world.pods[0].metadata));
  EXPECT_TRUE(world.policy);
  EXPECT_TRUE(world.volume);
  EXPECT_TRUE(api::has_finalizer(world.sandbox.metadata, names::kSandboxFinalizer));
  world.pods_end();
  const Plan plan = world.step();
  EXPECT_FALSE(world.policy);
  EXPECT_FALSE(world.token);
  EXPECT_FALSE(world.volume);
  EXPECT_TRUE(world.sandbox.metadata.finalizers.empty());
  EXPECT_TRUE(std::holds_alternative<PatchSandbox>(plan.stages.back().at(0)));
  EXPECT_TRUE(world.told("Deleted"));
}

TEST(DeletePlan, WorksWhileTheSandboxIsStillCreating) {
  PlanWorld world;
  world.settle();
  world.pod_waits("ErrImagePull", "no such image");
  world.settle();
  world.delete_sandbox();
  world.settle();
  world.pods_end();
  world.settle();
  EXPECT_TRUE(world.sandbox.metadata.finalizers.empty());
  EXPECT_FALSE(world.volume);
}

TEST(DeletePlan, OthersFinalizersStay) {
  PlanWorld world = stopped_world();
  world.sandbox.metadata.finalizers.push_back("example.com/other");
  world.delete_sandbox();
  world.settle();
  EXPECT_EQ(world.sandbox.metadata.finalizers, std::vector<std::string>{"example.com/other"});
}

TEST(DeletePlan, ObjectsOfAnotherOwnerStay) {
  PlanWorld world = stopped_world();
  world.volume->metadata.owner_references.clear();
  world.delete_sandbox();
  world.settle();
  EXPECT_TRUE(world.volume);
  EXPECT_TRUE(world.sandbox.metadata.finalizers.empty());
}

TEST(DeletePlan, StopAnnotationDoesNotHoldItUp) {
  PlanWorld world = running_world();
  world.annotate("stop");
  world.delete_sandbox();
  world.step();
  EXPECT_TRUE(api::is_being_deleted(world.pods[0].metadata));
}

}  // namespace
}  // namespace agenttier::controller
