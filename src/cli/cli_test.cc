#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "cli/completion.h"
#include "cli/config.h"
#include "cli/frame_reader.h"
#include "cli/parser.h"
#include "cli/printer.h"

namespace agenttier::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Parsed parse_words(std::vector<std::string> words) {
  return parse(all_commands(), std::move(words));
}

TEST(Parser, FlagsMayStandAnywhere) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"sandbox", "create", "demo", "--template", "minimal", "-o", "json"},
           {"-o", "json", "sandbox", "create", "--template", "minimal", "demo"},
           {"sandbox", "create", "--output=json", "--template=minimal", "demo"}}) {
    const Parsed parsed = parse_words(words);
    ASSERT_NE(parsed.command, nullptr) << parsed.text;
    EXPECT_EQ(parsed.command->path, "sandbox create");
    EXPECT_EQ(parsed.values.get("NAME"), "demo");
    EXPECT_EQ(parsed.values.get("--template"), "minimal");
    EXPECT_EQ(parsed.values.get("--output"), "json");
  }
}

TEST(Parser, EveryCommandTakesOneWordForEachOfItsArguments) {
  for (const Command& command : all_commands()) {
    std::vector<std::string> words;
    std::istringstream path{std::string(command.path)};
    for (std::string word; path >> word;) words.push_back(word);
    for (const Argument& argument : command.arguments) {
      words.push_back("given-" + std::string(argument.name));
    }
    if (command.takes_command_line) words.insert(words.end(), {"--", "true"});
    const Parsed parsed = parse_words(words);
    ASSERT_NE(parsed.command, nullptr) << command.path << ": " << parsed.text;
    EXPECT_EQ(parsed.command->path, command.path);
    for (const Argument& argument : command.arguments) {
      EXPECT_THAT(parsed.values.all(std::string(argument.name)),
                  ElementsAre("given-" + std::string(argument.name)))
          << command.path;
    }
  }
}

TEST(Parser, ExecPassesItsCommandOnAsItIs) {
  const Parsed plain =
      parse_words({"sandbox", "exec", "demo", "--timeout", "5", "ls", "-la", "--color"});
  ASSERT_NE(plain.command, nullptr) << plain.text;
  EXPECT_EQ(plain.values.get("--timeout"), "5");
  EXPECT_THAT(plain.values.all("COMMAND"), ElementsAre("ls", "-la", "--color"));
  const Parsed dashes = parse_words({"sandbox", "exec", "demo", "--", "env", "--help"});
  ASSERT_NE(dashes.command, nullptr) << dashes.text;
  EXPECT_THAT(dashes.values.all("COMMAND"), ElementsAre("env", "--help"));
}

TEST(Parser, ManyNamesAndRepeatedFlagsKeepTheirOrder) {
  EXPECT_THAT(parse_words({"sandbox", "stop", "a", "b", "c"}).values.all("NAME"),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(parse_words({"sandbox", "patch", "a", "--label", "x=1", "--label", "y=2"})
                  .values.all("--label"),
              ElementsAre("x=1", "y=2"));
}

TEST(Parser, AWrongCommandLineIsAUsageErrorThatSaysWhere) {
  for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                 {"sandbox"},
                                                                 {"nonsense"},
                                                                 {"sandbox", "get"},
                                                                 {"sandbox", "get", "a", "--bogus"},
                                                                 {"sandbox", "exec", "a"}}) {
    const Parsed parsed = parse_words(words);
    EXPECT_EQ(parsed.command, nullptr);
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_THAT(parsed.text, HasSubstr("agenttier"));
  }
}

TEST(Parser, HelpIsNoError) {
  const Parsed parsed = parse_words({"sandbox", "create", "--help"});
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_THAT(parsed.text, HasSubstr("--template"));
}

TEST(Config, AStrongerSourceHidesTheOtherCredential) {
  const Config file{.api_url = "http://a", .api_key = "file-key", .token = ""};
  const Config environment{.api_url = "", .api_key = "", .token = "environment-token"};
  const Config combined =
      combine(file, environment, {.api_url = "http://b/", .api_key = "", .token = ""});
  EXPECT_EQ(combined, (Config{.api_url = "http://b", .api_key = "", .token = "environment-token"}));
}

TEST(Config, IsSavedForItsOwnerOnly) {
  std::string folder = std::filesystem::temp_directory_path() / "agenttier-cli-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/deep/config.json";
  const Config config{.api_url = "http://127.0.0.1:1", .api_key = "k\"ey", .token = ""};
  ASSERT_TRUE(save_config(path, config));
  EXPECT_EQ(load_config(path).value(), config);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(load_config(folder + "/none").value(), Config{});
  std::filesystem::remove_all(folder);
}

TEST(Printer, ATableAlignsAndCutsTrailingBlanks) {
  const boost::json::array rows{{{"name", "a"}, {"status", "Running"}},
                                {{"name", "longer"}, {"status", ""}}};
  EXPECT_EQ(format_table(rows, {{"NAME", "name"}, {"STATUS", "status"}}),
            "NAME    STATUS\na       Running\nlonger  -\n");
  EXPECT_EQ(format_table({}, {{"NAME", "name"}}), "NAME\n(no results)\n");
}

TEST(Printer, ANameCannotMoveTheCursor) {
  EXPECT_EQ(visible("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
}

TEST(Printer, YamlRoundTrips) {
  const boost::json::value value = {{"name", "x"},
                                    {"on", "true"},
                                    {"count", 3},
                                    {"list", {"1", 2, nullptr}},
                                    {"text", "two\nlines"}};
  EXPECT_EQ(parse_yaml(format_yaml(value)).value(), value);
  EXPECT_FALSE(parse_yaml("a: [1,"));
}

TEST(Completion, EveryShellKnowsEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = completion_script(all_commands(), shell);
    ASSERT_TRUE(script);
    EXPECT_THAT(*script, HasSubstr("upload"));
    EXPECT_THAT(*script, HasSubstr("revoke"));
  }
  EXPECT_FALSE(completion_script(all_commands(), "tcsh"));
}

async::Task<void> read_frames(std::string bytes, std::vector<std::string>& seen) {
  FrameReader reader(http::Body(std::move(bytes)).into_reader());
  while (auto frame = co_await reader.next())
    seen.push_back(std::to_string(frame->channel) + ":" + frame->payload);
}

TEST(FrameReader, SplitsTheStreamAndStopsAtItsEnd) {
  const std::string head(8, '\0');
  const std::string bytes = std::string("\x01") + head + std::string("\0\0\0\x02", 4) + "ab" +
                            std::string("\x02") + head + std::string("\0\0\0\0", 4) + "\x03";
  std::vector<std::string> seen;
  boost::asio::io_context loop;
  boost::asio::co_spawn(loop, read_frames(bytes, seen), boost::asio::detached);
  loop.run();
  EXPECT_THAT(seen, ElementsAre("1:ab", "2:"));
}

}  // namespace
}  // namespace agenttier::cli
