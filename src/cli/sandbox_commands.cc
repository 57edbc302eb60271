// Commands on sandboxes: create, list, get, wait, stop, resume, delete, patch, clone.
#include <boost/json.hpp>
#include <chrono>

#include "base/time_format.h"
#include "cli/command.h"
#include "cli/context.h"

namespace agenttier::cli {
namespace json = boost::json;
namespace {

using std::chrono::steady_clock;

constexpr std::string_view kWaitDefault = "180";
constexpr std::chrono::seconds kOneWaitMax{
    20};  // one held request; the server's own limit is higher
const Argument kName = {"NAME", "the sandbox"};

std::string path_of(const Values& values) {
  return "/sandboxes/" + quoted(values.get("NAME"));
}

std::string text_of(const json::value& reply, std::string_view key) {
  return reply.is_object() ? cell(reply.as_object(), key) : "-";
}

// "180", "180s" or "3m".
base::Result<std::chrono::nanoseconds> seconds_flag(const Values& values, const std::string& flag,
                                                    std::string_view fallback) {
  std::string text = values.find(flag).value_or(std::string(fallback));
  if (!text.empty() && text.find_first_not_of("0123456789.") == std::string::npos) text += "s";
  auto parsed = base::parse_duration(text);
  if (!parsed) return base::invalid_field(flag, parsed.error().message);
  if (parsed->count() <= 0) return base::invalid_field(flag, "it must be more than zero");
  return *parsed;
}

base::Result<json::object> template_reference(const Values& values) {
  const std::string kind = values.find("--template-kind").value_or("ClusterSandboxTemplate");
  if (kind != "ClusterSandboxTemplate" && kind != "SandboxTemplate") {
    return base::invalid_field("--template-kind", "use ClusterSandboxTemplate or SandboxTemplate");
  }
  return json::object{{"name", values.get("--template")}, {"kind", kind}};
}

// "K=V" pairs as an object.
base::Result<json::object> pairs(const Values& values, const std::string& flag) {
  json::object object;
  for (const std::string& pair : values.all(flag)) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::invalid_field(flag, "'" + pair + "' must be KEY=VALUE");
    object[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return object;
}

json::object resources_of(const Values& values) {
  json::object requests, limits, resources;
  const auto put = [&](json::object& into, const char* key, const char* flag) {
    if (values.has(flag)) into[key] = values.get(flag);
  };
  put(requests, "cpu", "--cpu-request");
  put(requests, "memory", "--memory-request");
  put(limits, "cpu", "--cpu-limit");
  put(limits, "memory", "--memory-limit");
  if (!requests.empty()) resources["requests"] = requests;
  if (!limits.empty()) resources["limits"] = limits;
  return resources;
}

// The API takes a variable's value as Kubernetes does: "$(NAME)" names another variable and "$$" is
// one "$". What a person types is meant as it stands.
std::string escape_references(std::string_view value) {
  std::string escaped;
  for (const char c : value) escaped.append(c == '$' ? 2 : 1, c);
  return escaped;
}

base::Result<json::object> create_body(const Values& values) {
  if (!values.has("--template"))
    return base::invalid_field("--template",
                               "say what to make it from; see 'agenttier template list'");
  json::object body{{"name", values.get("NAME")}};
  AT_TRY(body["templateRef"], template_reference(values));
  for (const auto& [flag, key] : {std::pair{"--namespace", "namespace"},
                                  {"--timeout", "timeout"},
                                  {"--idle-timeout", "idleTimeout"}}) {
    if (values.has(flag)) body[key] = values.get(flag);
  }
  if (values.has("--storage-size"))
    body["storage"] = json::object{{"size", values.get("--storage-size")}};
  if (values.has("--image")) body["image"] = json::object{{"repository", values.get("--image")}};
  if (auto resources = resources_of(values); !resources.empty())
    body["resources"] = std::move(resources);
  AT_TRY(const json::object environment, pairs(values, "--env"));
  json::array env;
  for (const auto& [name, value] : environment)
    env.emplace_back(json::object{
        {"name", name}, {"value", escape_references(std::string_view(value.as_string()))}});
  if (!env.empty()) body["env"] = std::move(env);
  return body;
}

// Holds requests at the server until the sandbox is Running, so nothing polls.
base::Result<json::value> wait_running(Context& context, const std::string& path,
                                       std::chrono::nanoseconds limit) {
  const auto start = steady_clock::now();
  while (true) {
    const auto waited = steady_clock::now() - start;
    const auto left = limit - waited;
    const auto one = std::min<std::chrono::nanoseconds>(left, kOneWaitMax);
    const auto seconds =
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(one).count());
    AT_TRY(json::value sandbox,
           context.api.get(path + "?wait=running&waitSeconds=" + std::to_string(seconds)));
    const std::string status = text_of(sandbox, "status");
    if (status == "Running") {
      context.end_progress();
      return sandbox;
    }
    const std::string message = text_of(sandbox, "message");
    if (status == "Error") {
      context.end_progress();
      return base::conflict("the sandbox is in phase Error: " + message);
    }
    if (steady_clock::now() - start >= limit) {
      context.end_progress();
      return base::deadline_exceeded("not running after " + base::format_duration(limit) +
                                     "; it is " + status + (message == "-" ? "" : ": " + message));
    }
    context.show_progress("waiting: " + status + (message == "-" ? "" : " (" + message + ")"));
  }
}

base::Result<int> create(Context& context, const Values& values) {
  AT_TRY(const json::object body, create_body(values));
  const bool waits = values.has("--wait");
  AT_TRY(const auto limit, seconds_flag(values, "--wait-timeout", kWaitDefault));
  AT_TRY(json::value made, context.api.send("POST", "/sandboxes", body));
  const std::string id = text_of(made, "sandboxId");
  if (waits) {
    AT_TRY(made, wait_running(context, "/sandboxes/" + quoted(id), limit));
  }
  return context.print(made, "created " + id + " (status: " + text_of(made, "status") + ")\n");
}

base::Result<int> list(Context& context, const Values& values) {
  std::string query;
  const auto add = [&](const char* key, const std::string& value) {
    query += (query.empty() ? "?" : "&") + std::string(key) + "=" + quoted(value);
  };
  for (const auto& [flag, key] : {std::pair{"--namespace", "namespace"},
                                  {"--status", "status"},
                                  {"--template", "template"},
                                  {"--label", "label"},
                                  {"--owner", "owner"}}) {
    if (values.has(flag)) add(key, values.get(flag));
  }
  json::array all;
  std::string next;
  do {
    std::string page = query;
    page += (page.empty() ? "?" : "&") + std::string("limit=500");
    if (!next.empty()) page += "&continue=" + quoted(next);
    AT_TRY(const json::value reply, context.api.get("/sandboxes" + page));
    if (const auto* items = reply.as_object().if_contains("sandboxes");
        items != nullptr && items->is_array()) {
      for (const auto& item : items->as_array()) all.push_back(item);
    }
    next = text_of(reply, "continue");
    if (next == "-") next.clear();
  } while (!next.empty());
  return context.print_table(json::object{{"sandboxes", all}}, "sandboxes",
                             {{"ID", "sandboxId"},
                              {"NAME", "name"},
                              {"STATUS", "status"},
                              {"TEMPLATE", "templateRef"},
                              {"NAMESPACE", "namespace"}});
}

base::Result<int> get(Context& context, const Values& values) {
  AT_TRY(const json::value sandbox, context.api.get(path_of(values)));
  std::string text;
  for (const auto& [label, key] : {std::pair{"id:", "sandboxId"},
                                   {"name:", "name"},
                                   {"status:", "status"},
                                   {"message:", "message"},
                                   {"template:", "templateRef"},
                                   {"namespace:", "namespace"},
                                   {"pod:", "podName"},
                                   {"created:", "createdAt"}}) {
    const std::string value = text_of(sandbox, key);
    if (value == "-" &&
        (std::string_view(label) == "message:" || std::string_view(label) == "pod:"))
      continue;
    text +=
        std::string(label) + std::string(11 - std::string_view(label).size(), ' ') + value + "\n";
  }
  return context.print(sandbox, text);
}

base::Result<int> wait(Context& context, const Values& values) {
  AT_TRY(const auto limit, seconds_flag(values, "--timeout", kWaitDefault));
  AT_TRY(const json::value sandbox, wait_running(context, path_of(values), limit));
  return context.print(sandbox, visible(values.get("NAME")) + " is running\n");
}

// Performs an action on each named sandbox; goes on after a failure and reports the first one.
base::Result<int> each(Context& context, const Values& values, std::string_view done,
                       base::Result<json::value> (*act)(Context&, const std::string&)) {
  std::optional<base::Error> first;
  for (const std::string& name : values.all("NAME")) {
    auto reply = act(context, "/sandboxes/" + quoted(name));
    if (!reply) {
      if (first)
        context.note("agenttier: " + visible(name) + ": " + visible(reply.error().message) + "\n");
      if (!first) first = std::move(reply).error().context(name);
      continue;
    }
    context.print(json::object{{"name", name}, {"status", done}},
                  std::string(done) + " " + visible(name) + "\n");
  }
  if (first) return *std::move(first);
  return 0;
}

base::Result<int> stop(Context& context, const Values& values) {
  return each(context, values, "stopped", [](Context& c, const std::string& path) {
    return c.api.send("POST", path + "/stop");
  });
}

base::Result<int> resume(Context& context, const Values& values) {
  return each(context, values, "resumed", [](Context& c, const std::string& path) {
    return c.api.send("POST", path + "/resume");
  });
}

base::Result<int> remove(Context& context, const Values& values) {
  return each(context, values, "deleted",
              [](Context& c, const std::string& path) { return c.api.send("DELETE", path); });
}

base::Result<int> patch(Context& context, const Values& values) {
  json::object body;
  if (values.has("--idle-timeout")) body["idleTimeout"] = values.get("--idle-timeout");
  if (auto resources = resources_of(values); !resources.empty())
    body["resources"] = std::move(resources);
  AT_TRY(json::object labels, pairs(values, "--label"));
  AT_TRY(json::object annotations, pairs(values, "--annotation"));
  if (!labels.empty()) body["labels"] = std::move(labels);
  if (!annotations.empty()) body["annotations"] = std::move(annotations);
  if (body.empty())
    return base::invalid("nothing to change: give at least one of the flags; see --help");
  AT_TRY(const json::value reply, context.api.send("PATCH", path_of(values), body));
  std::string text;
  if (const auto* applied = reply.as_object().if_contains("applied");
      applied != nullptr && applied->is_object()) {
    for (const auto& [field, when] : applied->as_object()) {
      text += visible(field) + ": " + cell(applied->as_object(), field) + "\n";
    }
  }
  if (const std::string message = text_of(reply, "message"); message != "-") text += message + "\n";
  return context.print(reply, text);
}

base::Result<int> clone(Context& context, const Values& values) {
  json::object body;
  if (values.has("--name")) body["name"] = values.get("--name");
  AT_TRY(const json::value reply, context.api.send("POST", path_of(values) + "/clone", body));
  return context.print(reply, "clone " + text_of(reply, "name") + " created from " +
                                  visible(values.get("NAME")) + "\n");
}

const std::vector<Flag> kResourceFlags = {
    {"--cpu-request", "CPU", "CPU to count on, for example 500m"},
    {"--cpu-limit", "CPU", "CPU at most, for example 2"},
    {"--memory-request", "SIZE", "memory to count on, for example 512Mi"},
    {"--memory-limit", "SIZE", "memory at most, for example 2Gi"},
};

std::vector<Flag> with(std::vector<Flag> flags) {
  flags.insert(flags.end(), kResourceFlags.begin(), kResourceFlags.end());
  return flags;
}

}  // namespace

std::vector<Command> sandbox_commands() {
  const Argument names = {"NAME", "the sandboxes", Repeat::kMany};
  return {
      {.path = "sandbox create",
       .summary = "Make a sandbox",
       .arguments = {{"NAME", "lower-case letters, digits and '-', at most 63"}},
       .flags =
           with({{"--template", "TEMPLATE", "what to make it from", "-t"},
                 {"--template-kind", "KIND", "ClusterSandboxTemplate (default) or SandboxTemplate"},
                 {"--namespace", "NAMESPACE", "where to make it"},
                 {"--image", "IMAGE", "an image instead of the template's"},
                 {"--env", "NAME=VALUE", "an environment variable; may be repeated", "-e",
                  Repeat::kMany},
                 {"--timeout", "DURATION", "stop it after so long, for example 8h"},
                 {"--idle-timeout", "DURATION", "stop it when idle for so long"},
                 {"--storage-size", "SIZE", "size of its disk, for example 20Gi"},
                 {"--wait", "", "return when it can be used"},
                 {"--wait-timeout", "SECONDS", "wait at most so long (180)"}}),
       .run = create},
      {.path = "sandbox list",
       .summary = "List sandboxes",
       .flags = {{"--namespace", "NAMESPACE", "only there"},
                 {"--status", "PHASE", "only those in this phase, for example Running"},
                 {"--template", "TEMPLATE", "only those of this template"},
                 {"--label", "SELECTOR", "only those with these labels, for example team=a"},
                 {"--owner", "USER", "only this user's"}},
       .run = list},
      {.path = "sandbox get", .summary = "Show a sandbox", .arguments = {kName}, .run = get},
      {.path = "sandbox wait",
       .summary = "Wait until a sandbox is running",
       .arguments = {kName},
       .flags = {{"--timeout", "SECONDS", "wait at most so long (180)"}},
       .run = wait},
      {.path = "sandbox stop",
       .summary = "Stop sandboxes; their files are kept",
       .arguments = {names},
       .run = stop},
      {.path = "sandbox resume",
       .summary = "Start stopped sandboxes again",
       .arguments = {names},
       .run = resume},
      {.path = "sandbox delete",
       .summary = "Delete sandboxes and their files",
       .arguments = {names},
       .run = remove},
      {.path = "sandbox patch",
       .summary = "Change a sandbox",
       .arguments = {kName},
       .flags = with({{"--idle-timeout", "DURATION", "stop it when idle for so long"},
                      {"--label", "KEY=VALUE", "set a label; may be repeated", "", Repeat::kMany},
                      {"--annotation", "KEY=VALUE", "set an annotation; may be repeated", "",
                       Repeat::kMany}}),
       .run = patch},
      {.path = "sandbox clone",
       .summary = "Copy a sandbox with its files",
       .arguments = {kName},
       .flags = {{"--name", "NAME", "the copy's name"}},
       .run = clone},
  };
}

}  // namespace agenttier::cli
