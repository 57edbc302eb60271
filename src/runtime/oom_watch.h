#pragma once
// Tells whether the kernel killed something in this sandbox for memory, by the counter of its
// control group (either version). Where the counter cannot be read the answer is always no.

#include <cstdint>
#include <string>
#include <vector>

namespace agenttier::runtime {

class OomWatch {
 public:
  // The files of the program's own control group.
  OomWatch();
  explicit OomWatch(std::vector<std::string> files);

  // Whether the counter rose since the last call that said yes. Each kill is told once.
  bool take_kill();

 private:
  std::uint64_t read_counter() const;

  std::vector<std::string> files_;
  std::uint64_t told_ = 0;
};

}  // namespace agenttier::runtime
