#include "node/image_fetcher.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <utility>

#include "async/time_limit.h"
#include "node/digest.h"
#include "os/file.h"

namespace agenttier::node {

using base::Result;
using base::Status;
using os::Command;

namespace {

constexpr const char* kTag = "image";
constexpr auto kDiskLookInterval = std::chrono::seconds(1);

std::string without_newline(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

bool has_word(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

// skopeo tells its failures in prose only; the code decides whether a retry can help.
base::Error classify(const std::string& line) {
  if (has_word(line, {"manifest unknown", "name unknown", "not found", "no such file"})) {
    return base::not_found(line);
  }
  if (has_word(line, {"unauthorized", "denied", "authentication required"})) {
    return base::denied(line);
  }
  if (has_word(line, {"no space left"})) return base::exhausted(line);
  return base::unavailable(line);
}

// The message of skopeo's log line: time="..." level=fatal msg="text".
std::string message_of(const std::string& line) {
  const std::size_t start = line.find("msg=\"");
  if (start == std::string::npos) return line;
  std::string text;
  for (std::size_t i = start + 5; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    text += line[i];
  }
  return text;
}

}  // namespace

ImageFetcher::ImageFetcher(const NodePaths& paths, os::CommandRunner& runner,
                           async::BlockingPool& blocking, async::Timers& timers,
                           FetchOptions options)
    : paths_(paths),
      runner_(runner),
      blocking_(blocking),
      timers_(timers),
      options_(std::move(options)) {}

// What goes to a loopback address never leaves this machine.
bool ImageFetcher::is_insecure(std::string_view reference) const {
  constexpr std::string_view kRemote = "docker://";
  if (reference.starts_with(kRemote)) reference.remove_prefix(kRemote.size());
  const std::string registry(reference.substr(0, reference.find('/')));
  const std::string host = registry.substr(0, registry.rfind(':'));
  // By its address: a name such as 127.example.com may be anyone's.
  in_addr address{};
  const bool is_loopback =
      ::inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24U == 127;
  return options_.insecure_registries.contains(registry) || is_loopback || host == "localhost" ||
         host == "[::1]";
}

std::string ImageFetcher::temporary() {
  return paths_.tmp() + "/image-" + std::to_string(::getpid()) + "-" +
         std::to_string(temporaries_++);
}

async::Task<Result<FetchedImage>> ImageFetcher::fetch(std::string source, std::string auth_json) {
  const std::string work = temporary();
  auto result = co_await fetch_into(work, std::move(source), std::move(auth_json));
  (void)co_await blocking_.run([work] { return os::remove_tree(work); });
  co_return result;
}

async::Task<Result<FetchedImage>> ImageFetcher::fetch_into(std::string work, std::string source,
                                                           std::string auth_json) {
  AT_CO_OK(co_await blocking_.run([work] { return os::make_directories(work, 0700); }));
  const std::string layout = work + "/layout";
  Command copy{.argv = {"skopeo", "--insecure-policy", "--override-os", "linux", "copy", "--quiet",
                        "--retry-times", "2"},
               .time_max = options_.time_max};
  if (is_insecure(source)) {
    copy.argv.emplace_back("--src-tls-verify=false");
  }
  AT_CO_TRY(const std::string auth_file,
            co_await write_auth(work + "/auth.json", std::move(auth_json)));
  copy.argv.insert(copy.argv.end(),
                   {"--src-authfile", auth_file, std::move(source), "oci:" + layout + ":" + kTag});
  copy.env.push_back("TMPDIR=" + work);
  AT_CO_OK(co_await run(std::move(copy)));

  auto read = co_await blocking_.run([layout] { return read_layout(layout, kTag); });
  if (!read) co_return std::move(read).error();
  FetchedImage image{read->digest, read->config, read->compressed_bytes};
  if (image.compressed_bytes > options_.image_bytes_max) {
    co_return base::exhausted("the image has " + std::to_string(image.compressed_bytes) +
                              " bytes, over the limit of " +
                              std::to_string(options_.image_bytes_max));
  }
  AT_CO_OK(co_await install(work, image));
  co_return image;
}

async::Task<Status> ImageFetcher::install(std::string work, FetchedImage image) {
  const std::string target = paths_.image_root(image.digest);
  if (co_await blocking_.run([target] { return os::is_directory(target); })) co_return Status();
  const std::string staged = work + "/unpacked";
  AT_CO_OK(co_await blocking_.run([staged] { return os::make_directories(staged, 0700); }));
  Command unpack{.argv = {"umoci", "raw", "unpack", "--keep-dirlinks", "--image",
                          work + "/layout:" + kTag, staged + "/rootfs"},
                 .time_max = options_.time_max};
  AT_CO_OK(co_await run(std::move(unpack)));
  const std::string config = format_image_config(image.config);
  const std::string roots = paths_.image_roots();
  auto finish = [staged, target, config, roots]() -> Status {
    AT_OK(os::write_file_atomic(staged + "/image.json", config, 0600));
    AT_OK(os::sync_file_system(staged));
    // Another fetch of the same digest may have been quicker: its files are the same.
    if (os::is_directory(target)) return {};
    AT_OK(os::rename_path(staged, target));
    return os::sync_directory(roots);
  };
  co_return co_await blocking_.run(std::move(finish));
}

async::Task<Result<std::string>> ImageFetcher::remote_digest(std::string reference,
                                                             std::string auth_json) {
  const std::string auth = temporary() + ".auth";
  AT_CO_TRY(const std::string auth_file, co_await write_auth(auth, std::move(auth_json)));
  Command inspect{.argv = {"skopeo", "--override-os", "linux", "inspect", "--no-tags", "--format",
                           "{{.Digest}}", "--authfile", auth_file},
                  .time_max = options_.inspect_time_max};
  if (is_insecure(reference)) {
    inspect.argv.emplace_back("--tls-verify=false");
  }
  inspect.argv.push_back("docker://" + std::move(reference));
  auto result = co_await runner_.run(std::move(inspect));
  (void)co_await blocking_.run([auth] { return os::remove_file(auth); });
  if (!result) co_return std::move(result).error();
  if (result->exit_code != 0) co_return classify(message_of(result->last_error_line()));
  std::string digest = without_newline(std::move(result->out));
  if (!is_sha256_digest(digest)) co_return base::internal("skopeo inspect: gave no digest");
  co_return digest;
}

// An empty file keeps skopeo from the credentials that root may have saved on this machine.
async::Task<Result<std::string>> ImageFetcher::write_auth(std::string path, std::string auth_json) {
  if (auth_json.empty()) auth_json = "{}";
  auto write = [path, auth_json] { return os::write_file_unsynced(path, auth_json, 0600); };
  AT_CO_OK(co_await blocking_.run(std::move(write)));
  co_return path;
}

async::Task<Status> ImageFetcher::run(Command command) {
  using Outcome = Result<os::CommandResult>;
  auto outcome = co_await async::run_until_alarm<Outcome>(runner_.run(std::move(command)),
                                                          until_disk_is_low());
  if (!outcome && co_await async::is_cancelled()) co_return base::cancelled("cancelled");
  if (!outcome) {
    co_return base::exhausted("less than " + std::to_string(options_.disk_reserve_bytes >> 20U) +
                              " MiB of disk are free");
  }
  if (!*outcome) co_return std::move(*outcome).error();
  if ((*outcome)->exit_code != 0) co_return classify(message_of((*outcome)->last_error_line()));
  co_return Status();
}

async::Task<async::Wake> ImageFetcher::until_disk_is_low() {
  const std::string folder = paths_.tmp();
  while (true) {
    const auto usage = co_await blocking_.run([folder] { return os::file_system_usage(folder); });
    if (usage && usage->bytes_free < options_.disk_reserve_bytes) co_return async::Wake::kTimeout;
    const async::Wake wake = co_await timers_.sleep_for(kDiskLookInterval);
    if (wake == async::Wake::kCancelled || co_await async::is_cancelled()) {
      co_return async::Wake::kCancelled;
    }
  }
}

}  // namespace agenttier::node
