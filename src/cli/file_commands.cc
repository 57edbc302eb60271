// Commands on the files of a sandbox.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <chrono>

#include "base/time_format.h"
#include "cli/command.h"
#include "cli/context.h"

namespace agenttier::cli {
namespace json = boost::json;
namespace {

constexpr std::size_t kPiece = 256 * 1024;

std::string base_path(const Values& values) {
  return "/sandboxes/" + quoted(values.get("NAME"));
}

// A path in the sandbox: relative ones are below the workspace.
std::string in_sandbox(const std::string& path) {
  return path.starts_with('/') ? path : "/workspace/" + path;
}

std::string file_url(const Values& values, const std::string& path) {
  return base_path(values) + "/files" + http::percent_encode_path(in_sandbox(path));
}

// "2026-01-31T12:00:00Z" of seconds since 1970.
std::string shown_time(const json::object& row) {
  const auto* seconds = row.if_contains("modifiedAt");
  if (seconds == nullptr || !seconds->is_number()) return cell(row, "modifiedAt");
  return base::format_rfc3339(
      base::WallTime(std::chrono::seconds(seconds->to_number<std::int64_t>())));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Shows how far a transfer is, after its first second.
class Progress {
 public:
  Progress(const Context& context, std::string what, std::uint64_t total)
      : context_(context), what_(std::move(what)), total_(total) {}
  ~Progress() {
    if (shown_) context_.end_progress();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t bytes) {
    done_ += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(200))
      return;
    last_ = now;
    shown_ = true;
    const double mib = static_cast<double>(done_) / (1 << 20);
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::string text = fmt::format("{}: {:.0f} MiB, {:.0f} MiB/s", what_, mib, mib / seconds);
    if (total_ > 0)
      text += fmt::format(", {:.0f} %",
                          100.0 * static_cast<double>(done_) / static_cast<double>(total_));
    context_.show_progress(text);
  }
  std::uint64_t done() const { return done_; }

 private:
  const Context& context_;
  std::string what_;
  std::uint64_t total_, done_ = 0;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

class FileReader final : public http::BodyReader {
 public:
  FileReader(int fd, Progress& progress) : fd_(fd), progress_(progress) {}

  async::Task<base::Result<std::string>> read() override {
    std::string buffer(kPiece, '\0');
    ssize_t got = 0;
    do {
      got = ::read(fd_, buffer.data(), buffer.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) co_return base::from_errno("read", errno);
    buffer.resize(static_cast<std::size_t>(got));
    progress_.add(buffer.size());
    co_return buffer;
  }

 private:
  int fd_;
  Progress& progress_;
};

base::Result<int> ls(Context& context, const Values& values) {
  const std::string path =
      in_sandbox(values.find("PATH").value_or(values.find("--path").value_or("/workspace")));
  AT_TRY(json::value reply, context.api.get(base_path(values) + "/files/?path=" + quoted(path)));
  if (context.format == Format::kText) {
    for (json::value& entry : reply.as_object()["entries"].as_array()) {
      json::object& row = entry.as_object();
      const bool folder = row.contains("isDir") && row["isDir"].is_bool() && row["isDir"].as_bool();
      row["modified"] = shown_time(row);
      row["shown"] = std::string(row["name"].as_string()) + (folder ? "/" : "");
      row["kind"] = folder ? "dir" : cell(row, "type") == "-" ? "file" : cell(row, "type");
    }
  }
  return context.print_table(reply, "entries",
                             {{"NAME", "shown"},
                              {"TYPE", "kind"},
                              {"SIZE", "size"},
                              {"MODE", "mode"},
                              {"MODIFIED", "modified"}});
}

base::Result<int> cat(Context& context, const Values& values) {
  AT_TRY(http::Response response,
         context.api.raw(context.api.request("GET", file_url(values, values.get("PATH")))));
  const auto body = response.body.into_reader();
  while (true) {
    AT_TRY(const std::string piece, context.api.read(*body));
    if (piece.empty()) return 0;
    context.out(piece);
  }
}

base::Result<std::uint64_t> put(Context& context, const Values& values, const std::string& remote,
                                int fd) {
  struct stat status {};
  const bool sized = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
    return base::invalid("it is a folder; upload files one by one");
  Progress progress(context, "upload", sized ? static_cast<std::uint64_t>(status.st_size) : 0);
  http::Request request = context.api.request("PUT", file_url(values, remote));
  request.headers.set("Content-Type", "application/octet-stream");
  request.body = http::Body(std::make_unique<FileReader>(fd, progress),
                            sized ? std::optional<std::uint64_t>(status.st_size) : std::nullopt);
  AT_OK(context.api.raw(std::move(request)));
  return progress.done();
}

base::Result<int> upload(Context& context, const Values& values) {
  const std::string local = values.get("LOCAL"), remote = values.get("REMOTE");
  const Descriptor file(local == "-" ? STDIN_FILENO : open(local.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return base::from_errno("open " + local, errno);
  AT_TRY(const std::uint64_t bytes, put(context, values, remote, file.get()));
  return context.print(json::object{{"path", remote}, {"bytes", bytes}},
                       fmt::format("uploaded {} bytes to {}\n", bytes, visible(remote)));
}

base::Result<int> write(Context& context, const Values& values) {
  const std::string remote = values.get("PATH");
  if (values.has("--data") == values.has("--file"))
    return base::invalid("give one of --data TEXT and --file FILE ('-' is standard input)");
  if (values.has("--data")) {
    http::Request request = context.api.request("PUT", file_url(values, remote));
    request.headers.set("Content-Type", "application/octet-stream");
    request.body = http::Body(values.get("--data"));
    AT_OK(context.api.raw(std::move(request)));
  } else {
    const std::string local = values.get("--file");
    const Descriptor file(local == "-" ? STDIN_FILENO : open(local.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return base::from_errno("open " + local, errno);
    AT_OK(put(context, values, remote, file.get()));
  }
  return context.print(json::object{{"path", remote}}, "wrote " + visible(remote) + "\n");
}

base::Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return base::from_errno("write " + path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

// Into a temporary file beside the target, renamed at the end: a broken transfer leaves nothing.
base::Result<int> download(Context& context, const Values& values) {
  const std::string local = values.get("LOCAL");
  AT_TRY(http::Response response,
         context.api.raw(context.api.request("GET", file_url(values, values.get("REMOTE")))));
  std::string temporary = local + ".part-XXXXXX";
  const Descriptor file(mkstemp(temporary.data()));
  if (file.get() < 0) return base::from_errno("write " + local, errno);
  Progress progress(context, "download", response.body.length().value_or(0));
  const auto body = response.body.into_reader();
  base::Status failed;
  while (failed) {
    auto piece = context.api.read(*body);
    if (piece && piece->empty()) break;
    failed = piece ? write_all(file.get(), *piece, local) : base::Status(std::move(piece).error());
    if (piece) progress.add(piece->size());
  }
  if (failed && (fchmod(file.get(), 0644) != 0 || rename(temporary.c_str(), local.c_str()) != 0)) {
    failed = base::from_errno("write " + local, errno);
  }
  if (!failed) {
    unlink(temporary.c_str());
    return std::move(failed).error();
  }
  return context.print(json::object{{"path", local}, {"bytes", progress.done()}},
                       fmt::format("downloaded {} bytes to {}\n", progress.done(), visible(local)));
}

base::Result<int> mkdir(Context& context, const Values& values) {
  const std::string path = values.get("PATH");
  AT_OK(context.api.send("POST", base_path(values) + "/files-op/mkdir",
                         json::object{{"path", in_sandbox(path)}}));
  return context.print(json::object{{"path", path}}, "made " + visible(path) + "\n");
}

base::Result<int> mv(Context& context, const Values& values) {
  const std::string from = values.get("FROM"), to = values.get("TO");
  AT_OK(context.api.send("POST", base_path(values) + "/files-op/move",
                         json::object{{"from", in_sandbox(from)}, {"to", in_sandbox(to)}}));
  return context.print(json::object{{"from", from}, {"to", to}},
                       "moved " + visible(from) + " to " + visible(to) + "\n");
}

base::Result<int> rm(Context& context, const Values& values) {
  const std::string path = values.get("PATH");
  AT_OK(context.api.send(
      "DELETE", file_url(values, path) + (values.has("--recursive") ? "?recursive=true" : "")));
  return context.print(json::object{{"path", path}}, "removed " + visible(path) + "\n");
}

}  // namespace

std::vector<Command> file_commands() {
  const Argument name = {"NAME", "the sandbox"};
  const Argument path = {"PATH", "a path in the sandbox; a relative one is below /workspace"};
  return {
      {.path = "sandbox files ls",
       .summary = "List a folder",
       .arguments = {name, {"PATH", "the folder (/workspace)", Repeat::kOptional}},
       .flags = {{"--path", "PATH", "the same as the argument"}},
       .run = ls},
      {.path = "sandbox files cat",
       .summary = "Print a file",
       .arguments = {name, path},
       .run = cat},
      {.path = "sandbox files write",
       .summary = "Write a file",
       .arguments = {name, path},
       .flags = {{"--data", "TEXT", "what to write"},
                 {"--file", "FILE", "write this file's bytes; '-' is standard input"}},
       .run = write},
      {.path = "sandbox files upload",
       .summary = "Copy a file into a sandbox",
       .arguments = {name,
                     {"LOCAL", "the file here; '-' is standard input"},
                     {"REMOTE", "where it goes"}},
       .run = upload},
      {.path = "sandbox files download",
       .summary = "Copy a file out of a sandbox",
       .arguments = {name, {"REMOTE", "the file in the sandbox"}, {"LOCAL", "where it goes here"}},
       .run = download},
      {.path = "sandbox files mkdir",
       .summary = "Make a folder and its parents",
       .arguments = {name, path},
       .run = mkdir},
      {.path = "sandbox files rm",
       .summary = "Remove a file or folder",
       .arguments = {name, path},
       .flags = {{"--recursive", "", "a folder with all that is in it", "-r"}},
       .run = rm},
      {.path = "sandbox files mv",
       .summary = "Move or rename a file or folder",
       .arguments = {name, {"FROM", "what to move"}, {"TO", "its new path"}},
       .run = mv},
  };
}

}  // namespace agenttier::cli
