#include "runtime/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "os/fd.h"

namespace agenttier::runtime {

std::string read_small_file(const std::string& path, std::size_t bytes_max) {
  const os::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return {};
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < bytes_max) {
    const ssize_t count = read(file.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

bool write_small_file(const std::string& path, std::string_view text) {
  const os::Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return false;
  return write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace agenttier::runtime
