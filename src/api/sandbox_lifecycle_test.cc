#include "api/sandbox_lifecycle.h"

#include <gtest/gtest.h>

#include <set>

namespace agenttier::api {
namespace {

TEST(SandboxLifecycle, EveryPhaseIsReachedFromANewSandbox) {
  std::set<Phase> reached = {Phase::kNew};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Phase phase : std::set<Phase>(reached)) {
      for (const Action action : kActions) {
        if (const auto next = next_phase(phase, action)) reached.insert(*next);
      }
    }
  }
  EXPECT_EQ(reached.size(), kPhases.size());
}

TEST(SandboxLifecycle, EveryActionCanHappenInSomePhase) {
  for (const Action action : kActions) {
    bool possible = false;
    for (const Phase phase : kPhases) possible |= next_phase(phase, action).has_value();
    EXPECT_TRUE(possible) << action_name(action);
  }
}

TEST(SandboxLifecycle, ASandboxBeingDeletedOnlyGoes) {
  for (const Action action : kActions) {
    const auto next = next_phase(Phase::kDeleting, action);
    EXPECT_EQ(next.has_value(), action == Action::kDelete) << action_name(action);
  }
}

TEST(SandboxLifecycle, AnyPhaseCanBeDeletedAndNoneLeadsBackToNew) {
  for (const Phase phase : kPhases) {
    EXPECT_EQ(next_phase(phase, Action::kDelete), Phase::kDeleting);
    for (const Action action : kActions) EXPECT_NE(next_phase(phase, action), Phase::kNew);
  }
}

TEST(SandboxLifecycle, OnlyAnAdmittedSandboxThatIsReadyRuns) {
  for (const Phase phase : kPhases) {
    for (const Action action : kActions) {
      if (next_phase(phase, action) != Phase::kRunning) continue;
      EXPECT_EQ(phase, Phase::kCreating);
      EXPECT_EQ(action, Action::kReady);
    }
  }
}

TEST(SandboxLifecycle, AStoppedOrFailedSandboxIsResumed) {
  EXPECT_EQ(next_phase(Phase::kStopped, Action::kResume), Phase::kCreating);
  EXPECT_EQ(next_phase(Phase::kError, Action::kResume), Phase::kCreating);
  EXPECT_FALSE(next_phase(Phase::kRunning, Action::kResume).has_value());
}

TEST(SandboxLifecycle, ARefusalNamesThePhaseAndThoseThatWouldDo) {
  const auto refused = apply_action(Phase::kRunning, Action::kResume);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::ErrorCode::kConflict);
  EXPECT_EQ(refused.error().message,
            "the sandbox is Running; resume needs it to be Stopped or Error");
}

TEST(SandboxLifecycle, PhasesHaveTheNamesOfTheStatus) {
  for (const Phase phase : kPhases) EXPECT_EQ(parse_phase(phase_name(phase)), phase);
  EXPECT_EQ(phase_name(Phase::kNew), "");
  EXPECT_EQ(parse_phase("running"), std::nullopt);
}

}  // namespace
}  // namespace agenttier::api
