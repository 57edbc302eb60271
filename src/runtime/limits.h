#pragma once
// Every limit of the runtime that the schema of its protocol does not set, in one place. What a
// client can make the runtime hold, wait for or repeat is bounded by one of these; a limit that is
// hit gives an error that names it.
//
// The runtime shares its memory with the sandbox it serves, so that the sum of the buffers below is
// chosen small: an idle runtime stays under 3 MB.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace agenttier::runtime {

// Connections. Whoever is in the sandbox can open some, so an idle one must be cheap.
inline constexpr std::size_t kConnectionsMax = 2560;
inline constexpr std::size_t kConnectionsFromInsideMax = 256;
inline constexpr std::uint32_t kHeadBytesMax = 16UL << 10;
inline constexpr std::size_t kOpenFilesMax = 16'384;

// Processes.
inline constexpr std::size_t kRunningProcessesMax = 256;
inline constexpr std::size_t kExitedProcessesMax = 256;  // kept for their output and status
inline constexpr std::size_t kWaitingExecsMax = 4096;    // execs that wait for one of the above
inline constexpr std::chrono::seconds kExecSlotWaitMax{60};
inline constexpr std::size_t kSpecBytesMax = 8UL << 20;     // the JSON of a process specification
inline constexpr std::size_t kStringBytesMax = 131'071;     // the kernel's limit of one string
inline constexpr std::size_t kStringsBytesMax = 1'500'000;  // argv and env together
inline constexpr std::size_t kShownArgumentsMax = 4096;     // bytes of argv in a process object
inline constexpr std::size_t kPathBytesMax = 4095;
inline constexpr std::size_t kNameBytesMax = 255;

// Output.
inline constexpr std::size_t kOutputBytesDefault = 4UL << 20;
// The logs of all processes together; beyond it the oldest output of the largest log goes.
inline constexpr std::size_t kOutputTotalMax = 96UL << 20;
inline constexpr std::size_t kOutputSegmentsMax = 65'536;        // changes of channel in one log
inline constexpr std::size_t kExecOutputBytesMax = 256UL << 10;  // read by nobody else: kept small
inline constexpr std::size_t kPipeReadBytes = 64UL << 10;
inline constexpr std::size_t kFramePayloadMax = 65'536;
inline constexpr std::size_t kLingeringPipesMax = 256;  // held by children of ended processes
// How long a follower that takes nothing may slow a process down before output passes it by.
inline constexpr std::chrono::milliseconds kFollowerStallMax{2000};
inline constexpr std::size_t kFollowersMax = 256;
inline constexpr std::chrono::seconds kKeepAliveInterval{15};
// An exec that ends within this time is answered in one piece.
inline constexpr std::chrono::milliseconds kExecGatherTime{10};

// Endings.
inline constexpr std::chrono::milliseconds kTermToKill{500};
inline constexpr std::chrono::milliseconds kDrainGrace{50};  // output that comes after the exit
inline constexpr std::chrono::milliseconds kStopGrace{2000};
inline constexpr std::chrono::milliseconds kKinPause{25};  // between two looks at what is left
inline constexpr int kKillRoundsMax = 40;
inline constexpr std::chrono::milliseconds kStopServerGrace{200};

// Files.
inline constexpr std::size_t kBlockingThreads = 2;
inline constexpr std::size_t kFileStreamsMax = 64;  // uploads, downloads and archives at once
inline constexpr std::size_t kFilePieceBytes = 256UL << 10;
inline constexpr std::size_t kUploadFlushBytes = 8UL << 20;  // write-back starts this often
inline constexpr std::size_t kListEntriesMax = 100'000;
inline constexpr std::size_t kArchiveEntriesMax = 200'000;
inline constexpr std::size_t kDepthMax = 256;  // of a tree that is archived or removed
inline constexpr int kSymlinksMax = 40;        // in one path, as in the kernel
inline constexpr std::uint64_t kLeftoverScanMax = 1'000'000;
inline constexpr std::size_t kControlBodyMax = 64UL << 10;  // signal, resize

}  // namespace agenttier::runtime
