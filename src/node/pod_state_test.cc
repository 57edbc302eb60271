#include "node/pod_state.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "node/log_lines.h"
#include "node/node_paths.h"
#include "node/oci_runtime.h"
#include "node/pod_status.h"
#include "node/volume_store.h"
#include "os/file.h"
#include "os/testing.h"

namespace agenttier::node {
namespace {

using base::ErrorCode;

TEST(PodState, SurvivesItsFile) {
  PodState state;
  state.uid = "u-1";
  state.ns = "default";
  state.name = "demo";
  state.boot_id = "boot";
  state.network = {"10.0.0.2", "/netns", "veth1", {"10.0.0.1"}};
  ContainerState container;
  container.name = "main";
  container.id = "u-1.main.0";
  container.pid = 42;
  container.start_ticks = 4242;
  container.end = ContainerEnd{.exit_code = 3, .reason = "Error"};
  state.containers.push_back(container);
  EXPECT_EQ(*parse_pod_state(format_pod_state(state)), state);
}

api::Pod pod_with(std::vector<std::string> names, const std::string& policy) {
  api::Pod pod;
  pod.spec.restart_policy = policy;
  for (const std::string& name : names) {
    api::Container container;
    container.name = name;
    pod.spec.containers.push_back(container);
  }
  return pod;
}

ContainerState running(const std::string& name) {
  ContainerState state;
  state.name = name;
  state.pid = 7;
  return state;
}

ContainerState ended(const std::string& name, int exit_code) {
  ContainerState state;
  state.name = name;
  state.end =
      ContainerEnd{.exit_code = exit_code, .reason = exit_code == 0 ? "Completed" : "Error"};
  return state;
}

TEST(PodPhase, FollowsItsContainers) {
  const api::Pod pod = pod_with({"a", "b"}, "Never");
  PodState state;
  EXPECT_EQ(phase_of(pod, state), PodPhase::kPending);
  state.containers = {running("a")};
  EXPECT_EQ(phase_of(pod, state), PodPhase::kPending);
  state.containers = {running("a"), running("b")};
  EXPECT_EQ(phase_of(pod, state), PodPhase::kRunning);
  state.containers = {ended("a", 1), running("b")};
  EXPECT_EQ(phase_of(pod, state), PodPhase::kRunning);
  state.containers = {ended("a", 0), ended("b", 0)};
  EXPECT_EQ(phase_of(pod, state), PodPhase::kSucceeded);
  state.containers = {ended("a", 0), ended("b", 2)};
  EXPECT_EQ(phase_of(pod, state), PodPhase::kFailed);
  EXPECT_EQ(phase_of(pod_with({"a", "b"}, "OnFailure"), state), PodPhase::kRunning);
}

TEST(PodStatus, KeepsTheTimeOfAConditionThatDidNotChange) {
  api::Pod pod = pod_with({"a"}, "Never");
  PodState state;
  state.containers = {running("a")};
  pod.status = make_pod_status({pod, state, {}, "", "", "", "2030-01-01T00:00:00Z"});
  EXPECT_EQ(make_pod_status({pod, state, {}, "", "", "", "2031-01-01T00:00:00Z"}), *pod.status);
}

TEST(PodStatus, SaysWhyAContainerWaits) {
  const api::Pod pod = pod_with({"a"}, "Never");
  const PodState state;
  const auto status = make_pod_status(
      {pod, state, {{"a", {"ErrImagePull", "no such image"}}}, "", "", "", "2030-01-01T00:00:00Z"});
  EXPECT_EQ(status.phase, "Pending");
  EXPECT_EQ(status.container_statuses[0].state->waiting->reason, "ErrImagePull");
  EXPECT_EQ(status.container_statuses[0].state->waiting->message, "no such image");
}

TEST(LogLines, ComeBackAsTheyWere) {
  LogLineWriter writer(LogStream::kStderr);
  const base::FakeClock clock;
  std::string file = writer.add("one\ntw", clock.now());
  file += writer.add("o\n", clock.now());
  file += writer.add("rest", clock.now());
  file += writer.finish(clock.now());
  EXPECT_EQ(file,
            "2030-01-01T00:00:00.000000000Z stderr F one\n"
            "2030-01-01T00:00:00.000000000Z stderr F two\n"
            "2030-01-01T00:00:00.000000000Z stderr F rest\n");
  const auto line = parse_log_line("2030-01-01T00:00:00.000000000Z stderr F one");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->text, "one");
  EXPECT_EQ(line->stream, LogStream::kStderr);
  EXPECT_FALSE(parse_log_line("nonsense"));
}

TEST(LogLines, AnEndlessLineIsKeptInParts) {
  LogLineWriter writer(LogStream::kStdout);
  const base::FakeClock clock;
  const std::string file = writer.add(std::string(2 * kLogLineBytesMax, 'x'), clock.now());
  EXPECT_EQ(std::count(file.begin(), file.end(), '\n'), 2);
  EXPECT_NE(file.find(" stdout P x"), std::string::npos);
}

TEST(ContainerId, GivesItsPodBack) {
  EXPECT_EQ(pod_uid_of(container_id("1a2b-3c", "main", 2)), "1a2b-3c");
  EXPECT_EQ(pod_uid_of("../etc.main.0"), "");
}

TEST(RuntimeError, IsTheLastOneOfTheLog) {
  EXPECT_EQ(last_runtime_error(R"({"level":"warning","msg":"hm"}
{"level":"error","msg":"exec: no such file"}
)"),
            "exec: no such file");
  EXPECT_EQ(last_runtime_error("plain text\n"), "plain text");
}

TEST(NodePaths, NameWhatIsOutsideTheFolderByTheFolder) {
  const auto one = NodePaths::make("/var/lib/one/");
  const auto two = NodePaths::make("/var/lib/two");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->state(), "/var/lib/one");
  EXPECT_EQ(one->instance().size(), 8U);
  EXPECT_NE(one->instance(), two->instance());
  EXPECT_FALSE(NodePaths::make("relative"));
  EXPECT_FALSE(NodePaths::make("/"));
  EXPECT_FALSE(check_uid("../x"));
  EXPECT_FALSE(check_uid(""));
}

class VolumeStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = os::why_no_mounts(); !why.empty()) GTEST_SKIP() << why;
    ASSERT_TRUE(paths.make_folders());
  }
  os::TestFolder folder;
  NodePaths paths = *NodePaths::make(folder / "state");
  base::RealClock clock;  // the age of a folder is the file system's time
  VolumeStore volumes{paths, clock};
};

TEST_F(VolumeStoreTest, SaysWhetherTheSizeIsEnforced) {
  const auto volume = volumes.ensure({.uid = "v1", .bytes = 1 << 20});
  ASSERT_TRUE(volume) << volume.error().message;
  EXPECT_TRUE(os::is_directory(volume->path));
  EXPECT_NE(volume->size_enforced, volume->limit.find("prjquota") != std::string::npos);
}

TEST_F(VolumeStoreTest, AnUnknownVolumeIsSetAsideAndComesBackWithItsClaim) {
  ASSERT_TRUE(volumes.ensure({.uid = "v1"}));
  ASSERT_TRUE(os::write_file_atomic(paths.volume_data("v1") + "/file", "kept", 0644));
  ASSERT_TRUE(volumes.recover({}));
  EXPECT_EQ(volumes.find("v1").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(volumes.recover({"v1"}));
  EXPECT_EQ(*os::read_file(*volumes.find("v1") + "/file", 10), "kept");
}

TEST_F(VolumeStoreTest, RemovalIsWholeAndCanBeRepeated) {
  ASSERT_TRUE(volumes.ensure({.uid = "v1"}));
  ASSERT_TRUE(volumes.remove("v1"));
  ASSERT_TRUE(volumes.remove("v1"));
  EXPECT_TRUE(os::list_directory(paths.volumes()).empty());
  EXPECT_TRUE(os::list_directory(paths.tmp()).empty());
}

TEST_F(VolumeStoreTest, AUidThatIsAPathIsRefused) {
  EXPECT_EQ(volumes.ensure({.uid = "../x"}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(volumes.remove("..").error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace agenttier::node
