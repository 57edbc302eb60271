#include "node/pod_state.h"

#include <boost/json/serialize.hpp>

#include "node/json_fields.h"
#include "os/file.h"

namespace agenttier::node {

namespace json = boost::json;
using base::Result;

namespace {

json::object to_json(const ContainerEnd& end) {
  return {{"exitCode", end.exit_code},   {"signal", end.signal},
          {"reason", end.reason},        {"message", end.message},
          {"startedAt", end.started_at}, {"finishedAt", end.finished_at}};
}

std::optional<ContainerEnd> end_from(const json::object& object, std::string_view key) {
  const json::object* found = object_field(object, key);
  if (found == nullptr) return std::nullopt;
  ContainerEnd end;
  end.exit_code = static_cast<int>(number_field(*found, "exitCode"));
  end.signal = static_cast<int>(number_field(*found, "signal"));
  end.reason = text_field(*found, "reason");
  end.message = text_field(*found, "message");
  end.started_at = text_field(*found, "startedAt");
  end.finished_at = text_field(*found, "finishedAt");
  return end;
}

json::object to_json(const ContainerState& state) {
  json::object object;
  object["name"] = state.name;
  object["init"] = state.role == ContainerRole::kInit;
  object["id"] = state.id;
  object["image"] = state.image;
  object["imageId"] = state.image_id;
  object["imageDigest"] = state.image_digest;
  object["restarts"] = state.restarts;
  object["pid"] = state.pid;
  object["startTicks"] = static_cast<std::int64_t>(state.start_ticks);
  object["startedAt"] = state.started_at;
  if (state.end) object["end"] = to_json(*state.end);
  if (state.last_end) object["lastEnd"] = to_json(*state.last_end);
  return object;
}

ContainerState container_from(const json::object& object) {
  ContainerState state;
  state.name = text_field(object, "name");
  state.role = true_field(object, "init") ? ContainerRole::kInit : ContainerRole::kMain;
  state.id = text_field(object, "id");
  state.image = text_field(object, "image");
  state.image_id = text_field(object, "imageId");
  state.image_digest = text_field(object, "imageDigest");
  state.restarts = static_cast<int>(number_field(object, "restarts"));
  state.pid = static_cast<pid_t>(number_field(object, "pid"));
  state.start_ticks = static_cast<unsigned long long>(number_field(object, "startTicks"));
  state.started_at = text_field(object, "startedAt");
  state.end = end_from(object, "end");
  state.last_end = end_from(object, "lastEnd");
  return state;
}

json::object to_json(const PodNetwork& network) {
  return {{"ip", network.ip},
          {"netns", network.netns_path},
          {"hostInterface", network.host_interface},
          {"nameservers", to_json_array(network.nameservers)}};
}

PodNetwork network_from(const json::object* object) {
  PodNetwork network;
  if (object == nullptr) return network;
  network.ip = text_field(*object, "ip");
  network.netns_path = text_field(*object, "netns");
  network.host_interface = text_field(*object, "hostInterface");
  network.nameservers = texts_field(*object, "nameservers");
  return network;
}

}  // namespace

Result<PodState> parse_pod_state(const std::string& json_text) {
  AT_TRY(const json::object object, parse_json_object(json_text, "pod state"));
  PodState state;
  state.uid = text_field(object, "uid");
  state.ns = text_field(object, "namespace");
  state.name = text_field(object, "name");
  state.boot_id = text_field(object, "bootId");
  state.started_at = text_field(object, "startedAt");
  state.network = network_from(object_field(object, "network"));
  state.released = true_field(object, "released");
  if (const json::array* containers = array_field(object, "containers")) {
    for (const json::value& item : *containers) {
      if (item.is_object()) state.containers.push_back(container_from(item.as_object()));
    }
  }
  return state;
}

std::string format_pod_state(const PodState& state) {
  json::object object;
  object["uid"] = state.uid;
  object["namespace"] = state.ns;
  object["name"] = state.name;
  object["bootId"] = state.boot_id;
  object["startedAt"] = state.started_at;
  object["network"] = to_json(state.network);
  object["released"] = state.released;
  json::array containers;
  for (const ContainerState& container : state.containers) {
    containers.push_back(to_json(container));
  }
  object["containers"] = std::move(containers);
  return json::serialize(object);
}

std::string current_boot_id() {
  const auto text = os::read_file("/proc/sys/kernel/random/boot_id", 128);
  return text ? text->substr(0, text->find('\n')) : "";
}

}  // namespace agenttier::node
