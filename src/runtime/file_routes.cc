#include "runtime/file_routes.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "api/runtime_protocol.h"
#include "async/blocking_pool.h"
#include "http/service.h"
#include "runtime/activity.h"
#include "runtime/archive.h"
#include "runtime/byte_range.h"
#include "runtime/file_changes.h"
#include "runtime/file_content.h"
#include "runtime/file_info.h"
#include "runtime/file_upload.h"
#include "runtime/limits.h"
#include "runtime/query.h"

namespace agenttier::runtime {

using async::Task;
using base::Result;
using base::Status;
using http::Request;
using http::Response;

namespace {

constexpr int kInsufficientStorage = 507;

Response fail(const base::Error& error) {
  Response response = http::error_response(error);
  if (error.reason == "no_space") response.status = kInsufficientStorage;
  return response;
}

Response answer(Result<Response> result) {
  return result ? *std::move(result) : fail(result.error());
}

Response empty_response(int status) {
  Response response;
  response.status = status;
  return response;
}

base::Error too_large(std::uint64_t bytes_max) {
  base::Error error =
      base::invalid("write: the body is larger than " + std::to_string(bytes_max) + " bytes");
  error.reason = "body_too_large";
  return error;
}

Result<std::optional<std::uint64_t>> read_body_limit(const Request& request) {
  const auto text = request.headers.find("X-Body-Limit");
  if (!text) return std::optional<std::uint64_t>();
  std::uint64_t limit = 0;
  const char* const last = text->data() + text->size();
  const auto [end, failure] = std::from_chars(text->data(), last, limit);
  if (failure != std::errc() || end != last) {
    return base::invalid_field("X-Body-Limit", "must be a number of bytes");
  }
  return std::optional(limit);
}

Result<std::optional<mode_t>> read_mode(const http::Target& target) {
  const auto text = target.find("mode");
  if (!text) return std::optional<mode_t>();
  mode_t mode = 0;
  const char* const last = text->data() + text->size();
  const auto [end, failure] = std::from_chars(text->data(), last, mode, 8);
  if (failure != std::errc() || end != last || mode > 0777) {
    return base::invalid_field("mode", "must be octal and at most 0777, for example 0644");
  }
  return std::optional(mode);
}

// Gives the upload to the pool to be destroyed: freeing a large file takes time.
Task<void> discard(async::BlockingPool& blocking, std::shared_ptr<Upload> upload) {
  auto job = [held = std::move(upload)]() mutable { held.reset(); };
  co_await blocking.run(std::move(job));
}

Task<Status> receive(async::BlockingPool& blocking, std::shared_ptr<Upload> upload,
                     http::BodyReader& reader, std::optional<std::uint64_t> bytes_max) {
  std::string waiting;
  std::uint64_t total = 0;
  bool more = true;
  while (more) {
    AT_CO_TRY(const std::string piece, co_await reader.read());
    more = !piece.empty();
    total += piece.size();
    if (bytes_max && total > *bytes_max) co_return too_large(*bytes_max);
    waiting += piece;
    if (waiting.empty() || (more && waiting.size() < kFilePieceBytes)) continue;
    auto write = [upload, bytes = std::move(waiting)] { return upload->write(bytes); };
    AT_CO_OK(co_await blocking.run(std::move(write)));
    waiting = {};
  }
  auto commit = [upload] { return upload->commit(); };
  co_return co_await blocking.run(std::move(commit));
}

}  // namespace

// Counts one content on its way.
class FileRoutes::Ticket {
 public:
  explicit Ticket(std::shared_ptr<std::size_t> count) : count_(std::move(count)) { ++*count_; }
  ~Ticket() { --*count_; }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

 private:
  std::shared_ptr<std::size_t> count_;
};

class FileRoutes::ContentReader final : public http::BodyReader {
 public:
  ContentReader(async::BlockingPool& blocking, std::shared_ptr<FileContent> content,
                ByteRange range, std::shared_ptr<Ticket> ticket)
      : blocking_(blocking),
        content_(std::move(content)),
        range_(range),
        ticket_(std::move(ticket)) {}

  Task<Result<std::string>> read() override {
    const auto length =
        static_cast<std::size_t>(std::min<std::uint64_t>(range_.length, kFilePieceBytes));
    if (length == 0) co_return std::string();
    const std::uint64_t begin = range_.begin;
    range_.begin += length;
    range_.length -= length;
    auto job = [content = content_, begin, length] { return content->read(begin, length); };
    co_return co_await blocking_.run(std::move(job));
  }

 private:
  async::BlockingPool& blocking_;
  std::shared_ptr<FileContent> content_;
  ByteRange range_;
  std::shared_ptr<Ticket> ticket_;
};

class FileRoutes::ListingReader final : public http::BodyReader {
 public:
  ListingReader(async::BlockingPool& blocking, std::shared_ptr<DirectoryListing> listing,
                std::string first, std::shared_ptr<Ticket> ticket)
      : blocking_(blocking),
        listing_(std::move(listing)),
        first_(std::move(first)),
        ticket_(std::move(ticket)) {}

  Task<Result<std::string>> read() override {
    if (!first_.empty()) co_return std::exchange(first_, {});
    auto job = [listing = listing_] {
      std::string piece;
      listing->next(piece, kFilePieceBytes);
      return Result<std::string>(std::move(piece));
    };
    co_return co_await blocking_.run(std::move(job));
  }

 private:
  async::BlockingPool& blocking_;
  std::shared_ptr<DirectoryListing> listing_;
  std::string first_;
  std::shared_ptr<Ticket> ticket_;
};

class FileRoutes::ZipReader final : public http::BodyReader {
 public:
  ZipReader(async::BlockingPool& blocking, std::shared_ptr<ZipStream> zip,
            std::shared_ptr<Ticket> ticket)
      : blocking_(blocking), zip_(std::move(zip)), ticket_(std::move(ticket)) {}

  Task<Result<std::string>> read() override {
    auto job = [zip = zip_]() -> Result<std::string> {
      std::string piece;
      AT_OK(zip->next(piece, kFilePieceBytes));
      return piece;
    };
    co_return co_await blocking_.run(std::move(job));
  }

 private:
  async::BlockingPool& blocking_;
  std::shared_ptr<ZipStream> zip_;
  std::shared_ptr<Ticket> ticket_;
};

FileRoutes::FileRoutes(FileRoots roots, async::BlockingPool& blocking, base::Random& random,
                       Activity& activity)
    : roots_(std::move(roots)), blocking_(blocking), random_(random), activity_(activity) {}

Result<std::shared_ptr<FileRoutes::Ticket>> FileRoutes::take_ticket() {
  if (*streams_ < kFileStreamsMax) return std::make_shared<Ticket>(streams_);
  base::Error error = base::exhausted("files: " + std::to_string(kFileStreamsMax) +
                                      " transfers are under way, which is the limit");
  error.retry_after = std::chrono::seconds(1);
  return error;
}

Task<Response> FileRoutes::handle(Request request, http::Target target, std::string path) {
  co_return answer(co_await dispatch(std::move(request), std::move(target), std::move(path)));
}

Task<Response> FileRoutes::archive(http::Target target) {
  co_return answer(co_await zip(std::move(target)));
}

Task<Result<Response>> FileRoutes::dispatch(Request request, http::Target target,
                                            std::string path) {
  const std::string call = request.method + " " + path;
  if (call == "GET ") co_return co_await list(std::move(target));
  if (call == "GET /stat") co_return co_await stat(std::move(target));
  if (call == "GET /content") co_return co_await read(std::move(request), std::move(target));
  activity_.note_input();
  if (call == "PUT /content") co_return co_await write(std::move(request), std::move(target));
  if (call == "POST /mkdir") co_return co_await make_directory(std::move(target));
  if (call == "POST /move") co_return co_await move(std::move(target));
  if (call == "DELETE ") co_return co_await remove(std::move(target));
  co_return base::not_found("no such call: " + request.method + " /v1/files" + path.substr(0, 200));
}

Task<Result<Response>> FileRoutes::list(http::Target target) {
  AT_CO_TRY(std::string path, read_text(target, "path"));
  AT_CO_TRY(const std::shared_ptr<Ticket> ticket, take_ticket());
  auto open = [this, path] { return DirectoryListing::open(roots_, path); };
  auto opened = co_await blocking_.run(std::move(open));
  AT_CO_TRY(const std::shared_ptr<DirectoryListing> listing, std::move(opened));
  auto begin = [listing] {
    std::string piece;
    listing->next(piece, kFilePieceBytes);
    return piece;
  };
  std::string first = co_await blocking_.run(std::move(begin));
  if (listing->done()) co_return http::json_response(200, std::move(first));
  Response response = http::json_response(200, {});
  std::unique_ptr<http::BodyReader> reader =
      std::make_unique<ListingReader>(blocking_, listing, std::move(first), ticket);
  response.body = http::Body(std::move(reader));
  co_return response;
}

Task<Result<Response>> FileRoutes::stat(http::Target target) {
  AT_CO_TRY(std::string path, read_text(target, "path"));
  auto job = [this, path] { return describe_file(roots_, path); };
  auto described = co_await blocking_.run(std::move(job));
  AT_CO_TRY(const api::FileEntry entry, std::move(described));
  co_return http::json_response(200, boost::json::serialize(entry.to_json()));
}

Task<Result<Response>> FileRoutes::read(Request request, http::Target target) {
  AT_CO_TRY(std::string path, read_text(target, "path"));
  AT_CO_TRY(const std::shared_ptr<Ticket> ticket, take_ticket());
  auto open = [this, path] { return FileContent::open(roots_, path); };
  auto opened = co_await blocking_.run(std::move(open));
  AT_CO_TRY(const std::shared_ptr<FileContent> content, std::move(opened));
  const std::uint64_t size = content->size();
  const RangeAnswer range = answer_range(request.headers.find("Range").value_or(""), size);

  Response response;
  response.headers.set("Content-Type", "application/octet-stream");
  response.headers.set("Accept-Ranges", "bytes");
  response.headers.set("ETag", content->etag());
  response.headers.set("Last-Modified", content->last_modified());
  ByteRange part{0, size};
  if (range.kind == RangeAnswer::Kind::kUnsatisfied) {
    response.status = 416;
    response.headers.set("Content-Range", "bytes */" + std::to_string(size));
    co_return response;
  }
  if (range.kind == RangeAnswer::Kind::kPart) {
    part = range.range;
    response.status = 206;
    response.headers.set("Content-Range", "bytes " + std::to_string(part.begin) + "-" +
                                              std::to_string(part.begin + part.length - 1) + "/" +
                                              std::to_string(size));
  }
  std::unique_ptr<http::BodyReader> reader =
      std::make_unique<ContentReader>(blocking_, content, part, ticket);
  response.body = http::Body(std::move(reader), part.length);
  co_return response;
}

Task<Result<Response>> FileRoutes::write(Request request, http::Target target) {
  AT_CO_TRY(std::string path, read_text(target, "path"));
  AT_CO_TRY(const std::optional<mode_t> mode, read_mode(target));
  AT_CO_TRY(const std::optional<std::uint64_t> limit, read_body_limit(request));
  const auto announced = request.body.length();
  if (limit && announced && *announced > *limit) co_return too_large(*limit);
  AT_CO_TRY(const std::shared_ptr<Ticket> ticket, take_ticket());

  auto begin = [this, path, mode] { return Upload::begin(roots_, path, mode, random_); };
  auto begun = co_await blocking_.run(std::move(begin));
  AT_CO_TRY(std::shared_ptr<Upload> upload, std::move(begun));
  const auto reader = request.body.into_reader();
  const Status received = co_await receive(blocking_, upload, *reader, limit);
  api::FileWritten written;
  written.path = std::move(path);
  written.bytes = static_cast<std::int64_t>(upload->bytes());
  co_await discard(blocking_, std::move(upload));
  if (!received) co_return received.error();
  co_return http::json_response(201, boost::json::serialize(written.to_json()));
}

Task<Result<Response>> FileRoutes::make_directory(http::Target target) {
  AT_CO_TRY(std::string path, read_text(target, "path"));
  auto job = [this, path] { return runtime::make_directory(roots_, path); };
  auto result = co_await blocking_.run(std::move(job));
  AT_CO_TRY(const Made made, std::move(result));
  co_return empty_response(made == Made::kNew ? 201 : 200);
}

Task<Result<Response>> FileRoutes::move(http::Target target) {
  AT_CO_TRY(std::string from, read_text(target, "from"));
  AT_CO_TRY(std::string to, read_text(target, "to"));
  auto job = [this, from, to] { return move_file(roots_, from, to, random_); };
  const Status moved = co_await blocking_.run(std::move(job));
  AT_CO_OK(moved);
  co_return empty_response(204);
}

Task<Result<Response>> FileRoutes::remove(http::Target target) {
  AT_CO_TRY(std::string path, read_text(target, "path"));
  AT_CO_TRY(const Flag recursive, read_flag(target, "recursive"));
  const Depth depth = recursive == Flag::kTrue ? Depth::kTree : Depth::kSelf;
  auto job = [this, path, depth] { return remove_file(roots_, path, depth); };
  const Status removed = co_await blocking_.run(std::move(job));
  AT_CO_OK(removed);
  co_return empty_response(204);
}

Task<Result<Response>> FileRoutes::zip(http::Target target) {
  AT_CO_TRY(std::string path, read_text(target, "path"));
  AT_CO_TRY(const std::shared_ptr<Ticket> ticket, take_ticket());
  auto open = [this, path] { return ZipStream::open(roots_, path); };
  auto opened = co_await blocking_.run(std::move(open));
  AT_CO_TRY(const std::shared_ptr<ZipStream> stream, std::move(opened));
  Response response;
  response.headers.set("Content-Type", "application/zip");
  std::unique_ptr<http::BodyReader> reader = std::make_unique<ZipReader>(blocking_, stream, ticket);
  response.body = http::Body(std::move(reader));
  co_return response;
}

}  // namespace agenttier::runtime
