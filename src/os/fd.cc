#include "os/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace agenttier::os {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

base::Result<Fd> open_file(const std::string& path, int flags, unsigned mode) {
  while (true) {
    const int number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (number >= 0) return Fd(number);
    if (errno != EINTR) return base::from_errno("open " + path, errno);
  }
}

base::Result<Fd> open_directory(const std::string& path) {
  return open_file(path, O_RDONLY | O_DIRECTORY);
}

}  // namespace agenttier::os
