#include "node/oci_runtime.h"

#include <fcntl.h>
#include <unistd.h>

#include <sstream>

#include "base/bytes.h"
#include "node/json_fields.h"
#include "os/file.h"

namespace agenttier::node {

namespace json = boost::json;
using base::Result;
using base::Status;

namespace {

constexpr auto kRunTimeMax = std::chrono::seconds(30);
constexpr auto kCallTimeMax = std::chrono::seconds(15);
constexpr std::size_t kLogBytesMax = 1UL << 20U;
constexpr std::size_t kMessageBytesMax = 600;

const char* program(RuntimeKind kind) {
  switch (kind) {
    case RuntimeKind::kCrun:
      return "crun";
    case RuntimeKind::kRunc:
      return "runc";
    case RuntimeKind::kGvisor:
      break;
  }
  return "runsc";
}

Result<pid_t> read_pid(const std::string& path) {
  AT_TRY(const std::string text, os::read_file(path, 64));
  pid_t pid = 0;
  if (!(std::istringstream(text) >> pid) || pid <= 1) {
    return base::internal("the runtime gave no process id");
  }
  return pid;
}

bool says_missing(const std::string& text) {
  return text.find("does not exist") != std::string::npos ||
         text.find("file does not exist") != std::string::npos;
}

}  // namespace

std::optional<RuntimeClass> runtime_class_of(std::string_view name) {
  if (name.empty() || name == "runc" || name == "crun") return RuntimeClass::kNative;
  if (name == "gvisor" || name == "runsc") return RuntimeClass::kGvisor;
  return std::nullopt;
}

OciRuntime::OciRuntime(const NodePaths& paths, os::CommandRunner& runner, RuntimeKind kind,
                       std::string hidden_mount)
    : paths_(paths), runner_(runner), kind_(kind), hidden_mount_(std::move(hidden_mount)) {}

std::string OciRuntime::records() const {
  switch (kind_) {
    case RuntimeKind::kCrun:
      return paths_.crun();
    case RuntimeKind::kRunc:
      return paths_.runc();
    case RuntimeKind::kGvisor:
      break;
  }
  return paths_.runsc();
}

std::string OciRuntime::why_missing(RuntimeKind kind) {
  if (os::find_program(program(kind))) return "";
  if (kind != RuntimeKind::kGvisor) {
    return std::string(program(kind)) + " is not installed: install the package " + program(kind);
  }
  return "runsc (gVisor) is not installed: install the package runsc";
}

os::Command OciRuntime::command(std::vector<std::string> words) const {
  os::Command result{.time_max = kCallTimeMax};
  result.argv = {program(kind_), "--root", records()};
  result.hidden_mount = hidden_mount_;
  if (kind_ == RuntimeKind::kGvisor) {
    result.argv.insert(result.argv.end(),
                       {"--platform=ptrace", "--network=sandbox", "--oci-seccomp"});
  }
  result.argv.insert(result.argv.end(), words.begin(), words.end());
  return result;
}

async::Task<Result<pid_t>> OciRuntime::run(RunContainer container) {
  const std::string log = container.bundle + "/runtime.log";
  const std::string pid_file = container.bundle + "/pid";
  (void)os::remove_file(log);
  (void)os::remove_file(pid_file);
  std::vector<std::string> words = {"--log",      log,        "--log-format", "json",
                                    "run",        "--detach", "--bundle",     container.bundle,
                                    "--pid-file", pid_file};
  if (!container.passed_fds.empty()) {
    words.insert(words.end(), {"--preserve-fds", std::to_string(container.passed_fds.size())});
  }
  words.push_back(container.id);
  os::Command start = command(std::move(words));
  start.passed_fds = std::move(container.passed_fds);
  if (container.mount_namespace_fd >= 0) {
    // Named by this process, which keeps it open until the call has ended.
    const std::string view = "--mount=/proc/" + std::to_string(::getpid()) + "/fd/" +
                             std::to_string(container.mount_namespace_fd);
    start.argv.insert(start.argv.begin(), {"nsenter", view, "--"});
  }
  start.time_max = kRunTimeMax;
  start.stdout_fd = container.stdout_fd;
  start.stderr_fd = container.stderr_fd;
  AT_CO_TRY(const os::CommandResult result, co_await runner_.run(std::move(start)));
  if (result.exit_code != 0) {
    const auto text = os::read_file(log, kLogBytesMax);
    std::string why = text ? last_runtime_error(*text) : "";
    if (why.empty())
      why = std::string(program(kind_)) + " failed with exit code " +
            std::to_string(result.exit_code);
    co_return base::internal(std::move(why));
  }
  co_return read_pid(pid_file);
}

async::Task<Status> OciRuntime::kill(std::string id, int signal) {
  AT_CO_TRY(const os::CommandResult result,
            co_await runner_.run(command({"kill", std::move(id), std::to_string(signal)})));
  if (result.exit_code == 0) co_return Status();
  const std::string why = last_runtime_error(result.err);
  if (says_missing(why) || why.find("not running") != std::string::npos) {
    co_return base::not_found("the container has ended");
  }
  co_return base::internal("signal the container: " + why);
}

async::Task<Status> OciRuntime::remove(std::string id) {
  AT_CO_TRY(const os::CommandResult result,
            co_await runner_.run(command({"delete", "--force", std::move(id)})));
  if (result.exit_code == 0) co_return Status();
  const std::string why = last_runtime_error(result.err);
  if (says_missing(why)) co_return Status();
  co_return base::internal("remove the container: " + why);
}

async::Task<Result<std::vector<std::string>>> OciRuntime::list() {
  // A record that a crash left half written is not listed by runc or crun, and must be removed all
  // the same.
  if (kind_ != RuntimeKind::kGvisor) co_return os::list_directory(records());
  // Asking runsc costs a process; without a record there is nothing to ask for, without runsc
  // nobody.
  if (os::list_directory(records()).empty() || !why_missing(kind_).empty()) {
    co_return std::vector<std::string>();
  }
  AT_CO_TRY(const std::string text, co_await runner_.run_checked(command({"list", "--quiet"})));
  std::vector<std::string> ids;
  std::istringstream lines(text);
  std::string id;
  while (lines >> id) ids.push_back(id);
  co_return ids;
}

std::string container_id(const std::string& pod_uid, const std::string& name, int attempt) {
  return pod_uid + "." + name + "." + std::to_string(attempt);
}

std::string pod_uid_of(const std::string& container_id) {
  const std::string uid = container_id.substr(0, container_id.find('.'));
  return check_uid(uid) ? uid : "";
}

std::string last_runtime_error(const std::string& log_text) {
  std::string message;
  std::istringstream lines(log_text);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    const auto entry = parse_json_object(line, "log line");
    if (!entry) {
      message = line;
    } else if (text_field(*entry, "level") != "warning" && text_field(*entry, "level") != "info") {
      message = text_field(*entry, "msg");
    }
  }
  return base::to_valid_utf8(message.substr(0, kMessageBytesMax));
}

}  // namespace agenttier::node
