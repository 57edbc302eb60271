#pragma once
// A pseudo-terminal: what is written to the controller is typed, what is read from it was shown.

#include "base/result.h"
#include "os/fd.h"
#include "runtime/process_spec.h"

namespace agenttier::runtime {

struct Pty {
  os::Fd controller;  // ours, non-blocking
  os::Fd terminal;    // the child's
};

base::Result<Pty> open_pty(TerminalSize size);
base::Status resize_pty(const os::Fd& controller, TerminalSize size);

}  // namespace agenttier::runtime
