#include "api/sandbox_lifecycle.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace agenttier::api {
namespace {

using Next = std::optional<Phase>;

constexpr Next kNo = std::nullopt;
constexpr Next kCreating = Phase::kCreating;
constexpr Next kRunning = Phase::kRunning;
constexpr Next kStopped = Phase::kStopped;
constexpr Next kError = Phase::kError;
constexpr Next kDeleting = Phase::kDeleting;

using Row = std::array<Next, kActions.size()>;

// Columns: admit, ready, stop, expire, complete, fail, retry, resume, delete.
// clang-format off
constexpr std::array<Row, kPhases.size()> kTable = {{
    /* new      */ {kCreating, kNo, kStopped, kNo, kNo, kError, kNo, kNo, kDeleting},
    /* Creating */ {kNo, kRunning, kStopped, kNo, kNo, kError, kNo, kNo, kDeleting},
    /* Running  */ {kNo, kNo, kStopped, kStopped, kStopped, kError, kNo, kNo, kDeleting},
    /* Stopped  */ {kNo, kNo, kNo, kNo, kNo, kError, kNo, kCreating, kDeleting},
    /* Error    */ {kNo, kNo, kStopped, kNo, kNo, kNo, kCreating, kCreating, kDeleting},
    /* Deleting */ {kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kDeleting},
}};
// clang-format on

constexpr std::array<std::string_view, kPhases.size()> kPhaseNames = {
    "", "Creating", "Running", "Stopped", "Error", "Deleting"};
constexpr std::array<std::string_view, kActions.size()> kActionNames = {
    "admit", "ready", "stop", "expire", "complete", "fail", "retry", "resume", "delete"};

std::string_view phase_text(Phase phase) {
  return phase == Phase::kNew ? "new" : phase_name(phase);
}

std::string phases_that_allow(Action action) {
  std::string text;
  for (const Phase phase : kPhases) {
    if (!next_phase(phase, action) || phase == Phase::kNew) continue;
    if (!text.empty()) text += " or ";
    text += phase_text(phase);
  }
  return text;
}

}  // namespace

std::string_view phase_name(Phase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

std::optional<Phase> parse_phase(std::string_view name) {
  const auto found = std::ranges::find(kPhaseNames, name);
  if (found == kPhaseNames.end()) return std::nullopt;
  return kPhases[static_cast<std::size_t>(found - kPhaseNames.begin())];
}

std::string_view action_name(Action action) {
  return kActionNames[static_cast<std::size_t>(action)];
}

std::optional<Phase> next_phase(Phase phase, Action action) {
  return kTable[static_cast<std::size_t>(phase)][static_cast<std::size_t>(action)];
}

base::Result<Phase> apply_action(Phase phase, Action action) {
  if (const auto next = next_phase(phase, action)) return *next;
  return base::conflict(fmt::format("the sandbox is {}; {} needs it to be {}", phase_text(phase),
                                    action_name(action), phases_that_allow(action)));
}

}  // namespace agenttier::api
