#pragma once
// An Fd owns a file descriptor and closes it. Every descriptor of the program is close-on-exec;
// a child receives only what its Command names.
//
// Example:
//   AT_TRY(os::Fd directory, os::open_directory("/var/lib/agenttier"));
//   ::fsync(directory.get());

#include <string>
#include <utility>

#include "base/result.h"

namespace agenttier::os {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // Gives the descriptor away; the caller closes it.
  int release() { return std::exchange(number_, -1); }
  void reset();

 private:
  int number_ = -1;
};

// O_CLOEXEC is added. The error's text is "open <path>: <reason>".
base::Result<Fd> open_file(const std::string& path, int flags, unsigned mode = 0);
base::Result<Fd> open_directory(const std::string& path);

}  // namespace agenttier::os
