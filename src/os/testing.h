#pragma once
// A folder for one test, removed with what is mounted below it; and probes for what tests may need.

#include <string>

namespace agenttier::os {

class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Empty, or why mounts cannot be tested here: "needs root".
std::string why_no_mounts();

}  // namespace agenttier::os
