#pragma once
// The phases of a sandbox, what can happen to it, and the one table that says what follows.
//
// The controller moves a sandbox along this table and no other way; the router asks it whether a
// caller's stop or resume can be done, so that a refusal and its reason are the same everywhere.
// Two actions come from callers (stop, resume) and one from either (delete); the rest happen.
//
//              admit     ready    stop     expire   complete  fail   retry     resume    delete
//   (new)      Creating  -        Stopped  -        -         Error  -         -         Deleting
//   Creating   -         Running  Stopped  -        Stopped   Error  -         -         Deleting
//   Running    -         -        Stopped  Stopped  Stopped   Error  -         -         Deleting
//   Stopped    -         -        -        -        -         Error  -         Creating  Deleting
//   Error      -         -        Stopped  -        -         -      Creating  Creating  Deleting
//   Deleting   -         -        -        -        -         -      -         -         Deleting
//
// Example:
//   AT_TRY(const Phase next, apply_action(phase, Action::kStop));  // kConflict says what would do

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace agenttier::api {

enum class Phase : std::uint8_t { kNew, kCreating, kRunning, kStopped, kError, kDeleting };
inline constexpr std::array kPhases = {Phase::kNew,     Phase::kCreating, Phase::kRunning,
                                       Phase::kStopped, Phase::kError,    Phase::kDeleting};

enum class Action : std::uint8_t {
  kAdmit,     // the controller took it on
  kReady,     // exec works
  kStop,      // the spec says Stopped
  kExpire,    // a time limit passed
  kComplete,  // the main process ended well
  kFail,      // it cannot be made, or its pod failed or vanished
  kRetry,     // the next automatic restart is due
  kResume,    // the spec says Running again
  kDelete,    // the object is being deleted
};
inline constexpr std::array kActions = {Action::kAdmit,  Action::kReady,    Action::kStop,
                                        Action::kExpire, Action::kComplete, Action::kFail,
                                        Action::kRetry,  Action::kResume,   Action::kDelete};

// As the status spells it: "" for a new sandbox, "Creating", "Running", "Stopped", "Error",
// "Deleting".
std::string_view phase_name(Phase phase);
std::optional<Phase> parse_phase(std::string_view name);
std::string_view action_name(Action action);  // "stop"

// The phase after `action`, or nothing if it cannot happen in `phase`.
std::optional<Phase> next_phase(Phase phase, Action action);
// The same, with an error (kConflict) that names the phase and those in which it can be done.
base::Result<Phase> apply_action(Phase phase, Action action);

}  // namespace agenttier::api
