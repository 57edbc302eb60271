#include "node/node_object.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "api/names.h"
#include "api/quantity.h"
#include "base/time_format.h"
#include "kube/typed.h"
#include "observe/log.h"
#include "os/file.h"

namespace agenttier::node {

namespace json = boost::json;
namespace names = api::names;
using base::Status;
using namespace std::chrono_literals;

namespace {

constexpr auto kLeaseInterval = 60s;
constexpr std::int64_t kLeaseSeconds = 180;
constexpr int kBeatsPerStatus = 5;
constexpr const char* kPodsMax = "1000";
constexpr std::uint64_t kDiskPressurePercent = 5;

void add_condition(api::NodeStatus& status, const char* type, bool holds, const char* reason,
                   const std::string& now) {
  api::NodeCondition condition;
  condition.type = type;
  condition.status = holds ? names::conditions::kTrueStatus : names::conditions::kFalseStatus;
  condition.reason = reason;
  condition.last_heartbeat_time = now;
  condition.last_transition_time = now;
  status.conditions.push_back(std::move(condition));
}

json::object node_info() {
  utsname system{};
  ::uname(&system);
  const bool arm = std::string_view(system.machine) == "aarch64";
  return {{"architecture", arm ? "arm64" : "amd64"},
          {"operatingSystem", "linux"},
          {"kernelVersion", system.release},
          {"kubeletVersion", "agenttier-" AGENTTIER_VERSION},
          {"containerRuntimeVersion", "agenttier://" AGENTTIER_VERSION},
          {"osImage", "Linux"},
          {"machineID", ""},
          {"systemUUID", ""},
          {"bootID", ""},
          {"kubeProxyVersion", ""}};
}

// Made if it is not there, else its status and labels are replaced.
async::Task<Status> write_node(const NodeParts& parts, api::Node node) {
  const std::string name = node.metadata.name;
  json::object status = node.status->to_json();
  json::object labels;
  for (const auto& [key, value] : node.metadata.labels) labels[key] = value;
  auto created = co_await kube::create<api::Node>(parts.client, std::move(node));
  if (!created && created.error().code != base::ErrorCode::kExists) {
    co_return std::move(created).error();
  }
  if (!created) {
    json::object patch;
    patch["metadata"] = json::object{{"labels", std::move(labels)}};
    kube::ObjectKey key{"", name};
    auto patched = co_await parts.client.patch(
        api::Node::kType, std::move(key), kube::PatchType::kMerge, json::value(std::move(patch)));
    if (!patched) co_return std::move(patched).error();
  }
  json::object patch;
  patch["status"] = std::move(status);
  kube::ObjectKey key{"", name};
  auto written =
      co_await parts.client.patch(api::Node::kType, std::move(key), kube::PatchType::kMerge,
                                  json::value(std::move(patch)), kube::Subresource::kStatus);
  if (!written) co_return std::move(written).error();
  co_return Status();
}

async::Task<Status> renew_lease(const NodeParts& parts) {
  const std::string now = base::format_rfc3339_micros(parts.timers.clock().now());
  json::object spec{{"renewTime", now}};
  json::object patch;
  patch["spec"] = std::move(spec);
  kube::ObjectKey key{std::string(names::kInstallNamespace), "node-" + parts.identity.name};
  auto patched = co_await parts.client.patch(
      api::Lease::kType, std::move(key), kube::PatchType::kMerge, json::value(std::move(patch)));
  if (patched) co_return Status();
  if (patched.error().code != base::ErrorCode::kNotFound) co_return std::move(patched).error();
  api::Lease lease;
  lease.metadata.ns = names::kInstallNamespace;
  lease.metadata.name = "node-" + parts.identity.name;
  lease.spec.holder_identity = parts.identity.name;
  lease.spec.lease_duration_seconds = kLeaseSeconds;
  lease.spec.acquire_time = now;
  lease.spec.renew_time = now;
  auto created = co_await kube::create<api::Lease>(parts.client, std::move(lease));
  if (!created) co_return std::move(created).error();
  co_return Status();
}

void note_failure(const Status& status) {
  if (status || status.error().code == base::ErrorCode::kCancelled) return;
  observe::log_warning("node heartbeat not written", {{"why", status.error().message}});
}

}  // namespace

api::Node describe_node(const NodeIdentity& identity, const NodePaths& paths, bool has_gvisor,
                        const std::string& now) {
  api::Node node;
  node.metadata.name = identity.name;
  node.metadata.labels["kubernetes.io/hostname"] = identity.name;
  node.metadata.labels["kubernetes.io/os"] = "linux";
  if (has_gvisor) node.metadata.labels[std::string(names::kNodeRuntimeLabel)] = "gvisor";
  api::NodeStatus status;
  struct sysinfo memory {};
  ::sysinfo(&memory);
  const auto disk = os::file_system_usage(paths.state());
  status.capacity["cpu"] = std::to_string(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  status.capacity["memory"] =
      api::format_bytes(static_cast<std::int64_t>(memory.totalram) * memory.mem_unit);
  status.capacity["pods"] = kPodsMax;
  if (disk) {
    status.capacity["ephemeral-storage"] =
        api::format_bytes(static_cast<std::int64_t>(disk->bytes_total));
  }
  status.allocatable = status.capacity;
  if (!identity.ip.empty()) status.addresses.push_back({"InternalIP", identity.ip});
  status.addresses.push_back({"Hostname", identity.name});
  const bool full = disk && disk->bytes_free < disk->bytes_total / 100 * kDiskPressurePercent;
  add_condition(status, "DiskPressure", full, full ? "DiskIsFull" : "DiskHasRoom", now);
  add_condition(status, "MemoryPressure", false, "MemoryIsEnough", now);
  add_condition(status, "PIDPressure", false, "PidsAreEnough", now);
  add_condition(status, "Ready", true, "AgentRuns", now);
  status.node_info = node_info();
  node.status = std::move(status);
  return node;
}

async::Task<void> keep_node_object(const NodeParts& parts) {
  const bool has_gvisor = OciRuntime::why_missing(RuntimeKind::kGvisor).empty();
  for (int beat = 0; !co_await async::is_cancelled(); ++beat) {
    if (beat % kBeatsPerStatus == 0) {
      api::Node node = describe_node(parts.identity, parts.paths, has_gvisor,
                                     base::format_rfc3339(parts.timers.clock().now()));
      note_failure(co_await write_node(parts, std::move(node)));
    }
    note_failure(co_await renew_lease(parts));
    if (co_await parts.timers.sleep_for(kLeaseInterval) == async::Wake::kCancelled) co_return;
  }
}

}  // namespace agenttier::node
