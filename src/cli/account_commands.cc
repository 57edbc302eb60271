// login, whoami, version and the commands on API keys.
#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/context.h"

namespace agenttier::cli {
namespace json = boost::json;
namespace {

std::string who(const json::value& me) {
  const auto& object = me.as_object();
  for (const char* key : {"email", "name", "sub"}) {
    if (const std::string text = cell(object, key); text != "-") return text;
  }
  return "-";
}

base::Result<int> login(Context& context, const Values&) {
  if (context.flag_config.api_url.empty()) {
    return base::invalid_field("--api-url",
                               "say where the server is, for example http://127.0.0.1:8080");
  }
  const std::string path = config_path();
  // A new credential replaces the old one; without one the saved credential stays.
  const Config saved = combine(context.file_config, {}, context.flag_config);
  AT_OK(save_config(path, saved));
  context.out("Saved config to " + path + "\n");
  boost::asio::io_context loop;
  ApiClient api(loop, saved);
  AT_TRY(const json::value me, api.get("/user/me"));
  context.out("Authenticated as: " + who(me) + "\n");
  return 0;
}

base::Result<int> whoami(Context& context, const Values&) {
  AT_TRY(const json::value me, context.api.get("/user/me"));
  const auto* admin = me.as_object().if_contains("isAdmin");
  const bool is_admin = admin != nullptr && admin->is_bool() && admin->as_bool();
  return context.print(me, who(me) + (is_admin ? " (admin)" : "") + "\n");
}

base::Result<int> version(Context& context, const Values&) {
  return context.print(json::object{{"version", AGENTTIER_VERSION}},
                       "agenttier " AGENTTIER_VERSION "\n");
}

base::Result<int> list_keys(Context& context, const Values&) {
  AT_TRY(const json::value keys, context.api.get("/user/api-keys"));
  return context.print_table(keys, "keys",
                             {{"ID", "id"},
                              {"NAME", "name"},
                              {"SANDBOX", "sandboxId"},
                              {"CREATED", "createdAt"},
                              {"EXPIRES", "expiresAt"}});
}

base::Result<int> create_key(Context& context, const Values& values) {
  json::object body;
  if (values.has("--name")) body["name"] = values.get("--name");
  if (values.has("--expires-in")) body["expiresIn"] = values.get("--expires-in");
  if (values.has("--sandbox-id")) body["sandboxId"] = values.get("--sandbox-id");
  json::array groups;
  for (const std::string& group : values.all("--action-group")) groups.emplace_back(group);
  if (!groups.empty() && !values.has("--sandbox-id")) {
    return base::invalid_field("--action-group",
                               "it needs --sandbox-id: action groups limit a key to one sandbox");
  }
  if (!groups.empty()) body["scopes"] = groups;
  AT_TRY(const json::value made, context.api.send("POST", "/user/api-keys", body));
  const auto& key = made.as_object();
  return context.print(made, "key: " + cell(key, "key") + "\nid:  " + cell(key, "id") +
                                 "\nKeep the key: it is not shown again.\n");
}

base::Result<int> revoke_key(Context& context, const Values& values) {
  const std::string id = values.get("ID");
  AT_TRY(const json::value reply, context.api.send("DELETE", "/user/api-keys/" + quoted(id)));
  return context.print(json::object{{"id", id}, {"status", "revoked"}},
                       "revoked " + visible(id) + "\n");
}

}  // namespace

std::vector<Command> account_commands() {
  return {
      {.path = "login", .summary = "Save the server's address and a credential", .run = login},
      {.path = "whoami", .summary = "Show who the server takes you for", .run = whoami},
      {.path = "version", .summary = "Show the version of this program", .run = version},
      {.path = "apikeys list", .summary = "List your API keys", .run = list_keys},
      {.path = "apikeys create",
       .summary = "Make an API key; it is shown once",
       .flags = {{"--name", "TEXT", "a name to know it by"},
                 {"--expires-in", "DURATION", "how long it is valid, for example 720h"},
                 {"--sandbox-id", "NAME", "limit the key to one sandbox"},
                 {"--action-group", "GROUP", "what a limited key may do; may be repeated", "",
                  Repeat::kMany}},
       .run = create_key},
      {.path = "apikeys revoke",
       .summary = "End an API key at once",
       .arguments = {{"ID", "the key's id"}},
       .run = revoke_key},
  };
}

}  // namespace agenttier::cli
