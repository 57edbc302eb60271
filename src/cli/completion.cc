#include "cli/completion.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace agenttier::cli {
namespace {

// What may follow each command prefix: sub-commands, and flags at the leaves.
std::map<std::string, std::set<std::string>> followers(const std::vector<Command>& commands) {
  std::map<std::string, std::set<std::string>> next;
  for (const Command& command : commands) {
    std::string prefix;
    std::string_view rest = command.path;
    while (!rest.empty()) {
      const auto space = rest.find(' ');
      const std::string word(rest.substr(0, space));
      next[prefix].insert(word);
      prefix += (prefix.empty() ? "" : " ") + word;
      rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
    }
    for (const Flag& flag : command.flags) next[prefix].insert(std::string(flag.name));
    for (const Flag& flag : global_flags()) next[prefix].insert(std::string(flag.name));
  }
  return next;
}

std::string bash_script(const std::vector<Command>& commands) {
  std::string cases;
  for (const auto& [prefix, words] : followers(commands)) {
    cases += fmt::format("    \"{}\") words=\"{}\" ;;\n", prefix, fmt::join(words, " "));
  }
  return fmt::format(R"(_agenttier() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" prefix="" word words="" candidate
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in -*) continue ;; esac
    candidate="${{prefix:+$prefix }}$word"
    case "$candidate" in
    {}) prefix="$candidate" ;;
    esac
  done
  case "$prefix" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _agenttier agenttier
)",
                     [&] {
                       std::string patterns;
                       for (const auto& [prefix, words] : followers(commands)) {
                         if (!prefix.empty())
                           patterns += (patterns.empty() ? "\"" : " | \"") + prefix + "\"";
                       }
                       return patterns;
                     }(),
                     cases);
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string script = "complete -c agenttier -f\n";
  std::set<std::string> groups;
  for (const Command& command : commands) {
    const std::string path(command.path);
    const auto space = path.rfind(' ');
    const std::string parent = space == std::string::npos ? "" : path.substr(0, space);
    const std::string word = space == std::string::npos ? path : path.substr(space + 1);
    for (std::size_t end = parent.find(' '); !parent.empty(); end = parent.find(' ', end + 1)) {
      const std::string group = parent.substr(0, end);
      if (groups.insert(group).second) {
        const auto inner = group.rfind(' ');
        script += fmt::format(
            "complete -c agenttier -n 'test \"(commandline -pco)[2..]\" = \"{}\"' -a {}\n",
            inner == std::string::npos ? "" : group.substr(0, inner),
            inner == std::string::npos ? group : group.substr(inner + 1));
      }
      if (end == std::string::npos) break;
    }
    script += fmt::format(
        "complete -c agenttier -n 'test \"(commandline -pco)[2..]\" = \"{}\"' -a {} -d '{}'\n",
        parent, word, command.summary);
    for (const Flag& flag : command.flags) {
      script += fmt::format(
          "complete -c agenttier -n 'string match -q \"{}*\" -- \"(commandline -pco)[2..]\"' -l {} "
          "-d '{}'\n",
          path, flag.name.substr(2), flag.help);
    }
  }
  return script;
}

}  // namespace

base::Result<std::string> completion_script(const std::vector<Command>& commands,
                                            std::string_view shell) {
  if (shell == "bash") return bash_script(commands);
  // zsh runs bash's completion functions.
  if (shell == "zsh")
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(commands);
  if (shell == "fish") return fish_script(commands);
  return base::invalid_field("SHELL",
                             "'" + std::string(shell) + "' is unknown; use bash, zsh or fish");
}

}  // namespace agenttier::cli
