#pragma once
// A ProcessSpec says what to start. It is parsed from the JSON of a request and is valid once
// parsed: every string is bounded and free of NUL, names of variables are names, sizes are in
// range. An unknown key or a wrong value is kInvalid and names the field.
//
// Example:
//   AT_TRY(ProcessSpec spec, parse_process_spec(R"({"command": "make -j4", "cwd":
//   "/workspace"})"));

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/limits.h"

namespace agenttier::runtime {

struct TerminalSize {
  std::uint16_t cols = 80;
  std::uint16_t rows = 24;
  bool operator==(const TerminalSize&) const = default;
};

enum class StdinMode : std::uint8_t {
  kEndOfFile,  // reads nothing
  kGiven,      // reads `stdin_bytes`, then the end of file
  kOpen,       // reads `stdin_bytes`, then what is written later
};

struct ProcessSpec {
  std::vector<std::string> argv;  // a shell line is {"/bin/sh", "-c", line}
  std::string cwd;                // empty: the workspace
  std::vector<std::pair<std::string, std::string>> env;
  StdinMode stdin_mode = StdinMode::kEndOfFile;
  std::string stdin_bytes;
  std::optional<TerminalSize> terminal;     // set: a tty
  std::chrono::milliseconds time_limit{0};  // zero: none
  std::size_t output_bytes_max = kOutputBytesDefault;
};

base::Result<ProcessSpec> parse_process_spec(std::string_view json_text);
base::Result<TerminalSize> parse_terminal_size(std::string_view json_text);
// The number of a signal by its name, with or without "SIG": {"signal": "TERM"}.
base::Result<int> parse_signal(std::string_view json_text);
// "KILL" for SIGKILL; the number as text if it has no name.
std::string signal_name(int number);

}  // namespace agenttier::runtime
