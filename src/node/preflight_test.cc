#include "node/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "node/testing.h"
#include "os/file.h"
#include "os/testing.h"

namespace agenttier::node {
namespace {

using testing::HasSubstr;

class Preflight : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
  // The findings that speak of the sandbox runtime, as one text.
  std::string about_runtime(const std::string& program) const {
    const auto paths = NodePaths::make(folder_ / "state");
    std::string text;
    for (const PreflightFinding& finding : check_machine(*paths, program)) {
      if (finding.text.find("sandbox runtime") == std::string::npos) continue;
      EXPECT_EQ(finding.weight, Weight::kFault);
      text += finding.text;
    }
    return text;
  }

  const os::TestFolder folder_;
};

TEST_F(Preflight, SaysThatTheSandboxRuntimeIsMissingAndWhatToDo) {
  const std::string text = about_runtime("/nowhere/agenttier-runtime");
  EXPECT_THAT(text, HasSubstr("is not at /nowhere/agenttier-runtime"));
  EXPECT_THAT(text, HasSubstr("--runtime-binary"));
}

TEST_F(Preflight, SaysThatTheSandboxRuntimeCannotBeRun) {
  ASSERT_TRUE(os::write_file_unsynced(folder_ / "runtime", "text", 0644));
  EXPECT_THAT(about_runtime(folder_ / "runtime"), HasSubstr("is not a program that can be run"));
  EXPECT_THAT(about_runtime(folder_.path()), HasSubstr("is not a program that can be run"));
}

TEST_F(Preflight, SaysThatTheSandboxRuntimeNeedsLibraries) {
  EXPECT_THAT(about_runtime("/proc/self/exe"), HasSubstr("is not a static program"));
}

TEST_F(Preflight, TakesAStaticProgram) {
  // busybox is what tests of this folder run in their containers.
  EXPECT_EQ(about_runtime("/bin/busybox"), "");
}

}  // namespace
}  // namespace agenttier::node
