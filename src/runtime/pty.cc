#include "runtime/pty.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <string>

namespace agenttier::runtime {
namespace {

os::Fd open_terminal(const os::Fd& controller) {
  // Needs no path, so it works whatever is mounted at /dev/pts.
  os::Fd terminal(ioctl(controller.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (terminal.is_open()) return terminal;
  unsigned number = 0;
  if (ioctl(controller.get(), TIOCGPTN, &number) < 0) return {};
  const std::string path = "/dev/pts/" + std::to_string(number);
  return os::Fd(open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

base::Result<Pty> open_pty(TerminalSize size) {
  Pty pty;
  pty.controller = os::Fd(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!pty.controller.is_open()) return base::from_errno("open /dev/ptmx", errno);
  int unlocked = 0;
  if (ioctl(pty.controller.get(), TIOCSPTLCK, &unlocked) < 0) {
    return base::from_errno("unlock the terminal", errno);
  }
  pty.terminal = open_terminal(pty.controller);
  if (!pty.terminal.is_open()) return base::from_errno("open the terminal", errno);
  AT_OK(resize_pty(pty.controller, size));
  return pty;
}

base::Status resize_pty(const os::Fd& controller, TerminalSize size) {
  winsize window{};
  window.ws_col = size.cols;
  window.ws_row = size.rows;
  if (ioctl(controller.get(), TIOCSWINSZ, &window) < 0) {
    return base::from_errno("resize the terminal", errno);
  }
  return {};
}

}  // namespace agenttier::runtime
