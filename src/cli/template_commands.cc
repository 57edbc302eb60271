// Commands on templates and, where the server keeps them, on images.
#include <boost/json.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/command.h"
#include "cli/context.h"

namespace agenttier::cli {
namespace json = boost::json;
namespace {

std::string path_of(const std::string& name) {
  return "/templates/" + quoted(name);
}

base::Result<std::string> read_input(const std::string& path) {
  std::stringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path);
  if (!file) return base::from_errno("read " + path, errno);
  text << file.rdbuf();
  return text.str();
}

base::Result<int> list(Context& context, const Values&) {
  AT_TRY(const json::value reply, context.api.get("/templates"));
  return context.print_table(
      reply, "templates", {{"NAME", "name"}, {"IMAGE", "image"}, {"DESCRIPTION", "description"}});
}

base::Result<int> get(Context& context, const Values& values) {
  AT_TRY(const json::value reply, context.api.get(path_of(values.get("NAME"))));
  return context.print(reply, format_yaml(reply));
}

// Either {name, spec} or a manifest of kind ClusterSandboxTemplate.
base::Result<json::object> read_template(const std::string& path) {
  AT_TRY(const std::string text, read_input(path));
  auto parsed = parse_yaml(text);
  if (!parsed) return std::move(parsed).error().context(path);
  if (!parsed->is_object())
    return base::invalid(path + ": it must be an object with name and spec");
  json::object& object = parsed->as_object();
  if (const std::string kind = cell(object, "kind");
      kind != "-" && kind != "ClusterSandboxTemplate") {
    return base::invalid(path + ": kind is " + kind +
                         "; only ClusterSandboxTemplate can be applied");
  }
  const std::string name =
      object.contains("metadata") ? cell(object, "metadata.name") : cell(object, "name");
  if (name == "-") return base::invalid(path + ": name is missing");
  const auto* spec = object.if_contains("spec");
  if (spec == nullptr || !spec->is_object()) return base::invalid(path + ": spec is missing");
  return json::object{{"name", name}, {"spec", *spec}};
}

base::Result<int> apply(Context& context, const Values& values) {
  if (!values.has("--file"))
    return base::invalid_field("--file", "say which file to apply; '-' is standard input");
  AT_TRY(const json::object wanted, read_template(values.get("--file")));
  const std::string name(wanted.at("name").as_string());
  auto reply = context.api.send("PUT", path_of(name), json::object{{"spec", wanted.at("spec")}});
  std::string done = "updated ";
  if (!reply && reply.error().code == base::ErrorCode::kNotFound) {
    done = "created ";
    reply = context.api.send("POST", "/templates", wanted);
  }
  if (!reply) return std::move(reply).error();
  return context.print(*reply, done + visible(name) + "\n");
}

base::Result<int> remove(Context& context, const Values& values) {
  const std::string name = values.get("NAME");
  AT_OK(context.api.send("DELETE", path_of(name)));
  return context.print(json::object{{"name", name}, {"status", "deleted"}},
                       "deleted " + visible(name) + "\n");
}

base::Result<int> list_images(Context& context, const Values&) {
  AT_TRY(const json::value reply, context.api.get("/images"));
  return context.print_table(reply, "images",
                             {{"NAME", "name"}, {"DIGEST", "digest"}, {"SIZE", "sizeBytes"}});
}

base::Result<int> pull_image(Context& context, const Values& values) {
  const std::string name = values.get("IMAGE");
  context.show_progress("pulling " + visible(name));
  auto reply = context.api.send("POST", "/images", json::object{{"name", name}});
  context.end_progress();
  if (!reply) return std::move(reply).error();
  return context.print(
      *reply, "pulled " + visible(name) + " (" + cell(reply->as_object(), "digest") + ")\n");
}

base::Result<int> remove_image(Context& context, const Values& values) {
  const std::string name = values.get("IMAGE");
  AT_OK(context.api.send("DELETE", "/images?name=" + quoted(name)));
  return context.print(json::object{{"name", name}, {"status", "removed"}},
                       "removed " + visible(name) + "\n");
}

}  // namespace

std::vector<Command> template_commands() {
  return {
      {.path = "template list", .summary = "List templates", .run = list},
      {.path = "template get",
       .summary = "Show a template",
       .arguments = {{"NAME", "the template"}},
       .run = get},
      {.path = "template apply",
       .summary = "Make or change a template (admins)",
       .flags = {{"--file", "FILE", "YAML or JSON with name and spec; '-' is standard input",
                  "-f"}},
       .run = apply},
      {.path = "template delete",
       .summary = "Delete a template (admins)",
       .arguments = {{"NAME", "the template"}},
       .run = remove},
  };
}

std::vector<Command> image_commands() {
  return {
      {.path = "image list",
       .summary = "List the images on this machine (admins)",
       .run = list_images},
      {.path = "image pull",
       .summary = "Fetch an image before it is needed (admins)",
       .arguments = {{"IMAGE", "for example registry/name:tag"}},
       .run = pull_image},
      {.path = "image rm",
       .summary = "Remove an image that nothing uses (admins)",
       .arguments = {{"IMAGE", "its name"}},
       .run = remove_image},
  };
}

}  // namespace agenttier::cli
