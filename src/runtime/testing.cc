#include "runtime/testing.h"

#include <sys/prctl.h>

#include <boost/asio/detached.hpp>
#include <boost/json/parse.hpp>
#include <csignal>
#include <cstdlib>

namespace agenttier::runtime {
namespace {

constexpr std::string_view kToken = "test-token";
// SHA-256 of "test-token".
constexpr std::string_view kTokenHash =
    "4c5dc9b7708905f77f5e5d16316b5dfb425e68cb326dcd55a860e90a7707031e";

std::filesystem::path make_workspace() {
  std::string name = (std::filesystem::temp_directory_path() / "runtime-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  return std::filesystem::canonical(name);
}

ProcessTable::Options table_options(const std::filesystem::path& workspace,
                                    std::size_t running_max) {
  ProcessTable::Options options{.workspace = workspace.string(), .running_max = running_max};
  options.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", workspace.string()}};
  return options;
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

async::Task<std::string> read_body(std::unique_ptr<http::BodyReader> reader) {
  std::string all;
  while (true) {
    auto piece = co_await reader->read();
    if (!piece || piece->empty()) co_return all;
    all += *piece;
  }
}

async::Task<Reply> ask(RuntimeService& service, http::Request request) {
  http::Response response = co_await service.handle(std::move(request));
  Reply reply;
  reply.status = response.status;
  reply.headers = std::move(response.headers);
  reply.body = co_await read_body(response.body.into_reader());
  co_return reply;
}

async::Task<int> close_all(ProcessTable& table, async::TaskGroup& background) {
  co_await table.close();
  co_await background.close();
  co_return 0;
}

}  // namespace

std::vector<Frame> parse_frames(std::string_view bytes) {
  std::vector<Frame> frames;
  while (!bytes.empty()) {
    if (bytes.size() < 13) {
      ADD_FAILURE() << "a frame is cut in its head";
      break;
    }
    const std::size_t length = big_endian(bytes.substr(9, 4));
    if (length > 65'536 || bytes.size() < 13 + length) {
      ADD_FAILURE() << "a frame is too long or cut: " << length;
      break;
    }
    frames.push_back(
        {bytes[0], big_endian(bytes.substr(1, 8)), std::string(bytes.substr(13, length))});
    bytes.remove_prefix(13 + length);
  }
  return frames;
}

Output collect(const std::vector<Frame>& frames) {
  Output output;
  for (const Frame& frame : frames) {
    EXPECT_FALSE(output.status) << "the status is the last frame";
    if (frame.channel == 1) output.out += frame.payload;
    if (frame.channel == 2) output.err += frame.payload;
    if (frame.channel == 3) {
      auto status = api::ProcessStatus::from_json(boost::json::parse(frame.payload));
      EXPECT_TRUE(status);
      if (status) output.status = *std::move(status);
    }
  }
  return output;
}

RuntimeTest::RuntimeTest(std::size_t running_max)
    : workspace_(make_workspace()),
      reaper_(loop_.get_executor()),
      table_(loop_.get_executor(), reaper_, clock_, random_,
             table_options(workspace_, running_max)),
      service_({.token = TokenHash::parse(kTokenHash).value(),
                .roots = FileRoots({workspace_.string(), "/tmp"}),
                .processes = table_,
                .blocking = blocking_,
                .random = random_,
                .clock = clock_}),
      background_(loop_.get_executor(), {.name = "test", .tasks_max = 10'000}) {
  ::signal(SIGPIPE, SIG_IGN);  // as the program does
  EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  EXPECT_TRUE(background_.spawn(reaper_.run()));
}

RuntimeTest::~RuntimeTest() {
  for (const auto& process : table_.list()) (void)process->signal(9);
  await(close_all(table_, background_));
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  std::error_code ignored;
  std::filesystem::remove_all(workspace_, ignored);
}

void RuntimeTest::await_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "did not happen in time";
    loop_.run_one_for(std::chrono::milliseconds(10));
  }
}

http::Request RuntimeTest::request(std::string method, std::string target, http::Body body) const {
  http::Request made;
  made.method = std::move(method);
  made.target = std::move(target);
  made.headers.set("Authorization", "Bearer " + std::string(kToken));
  made.body = std::move(body);
  return made;
}

Reply RuntimeTest::call(std::string method, std::string target, http::Body body) {
  return await(ask(service_, request(std::move(method), std::move(target), std::move(body))));
}

Output RuntimeTest::exec(const std::string& spec_json) {
  const Reply reply = call("POST", "/v1/exec", spec_json);
  EXPECT_EQ(reply.status, 200) << reply.body;
  if (reply.status != 200) return {};
  return collect(parse_frames(reply.body));
}

api::Process RuntimeTest::start(const std::string& spec_json) {
  const Reply reply = call("POST", "/v1/processes", spec_json);
  EXPECT_EQ(reply.status, 201) << reply.body;
  auto process = api::Process::from_json(boost::json::parse(reply.body));
  EXPECT_TRUE(process);
  return process ? *std::move(process) : api::Process{};
}

Output RuntimeTest::output(const std::string& id, const std::string& query) {
  const Reply reply = call("GET", "/v1/processes/" + id + "/output?" + query);
  EXPECT_EQ(reply.status, 200) << reply.body;
  return collect(parse_frames(reply.body));
}

}  // namespace agenttier::runtime
