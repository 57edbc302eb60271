#include "runtime/process_routes.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "http/service.h"
#include "runtime/activity.h"
#include "runtime/frames.h"
#include "runtime/limits.h"
#include "runtime/query.h"

namespace agenttier::runtime {

using async::Task;
using base::Result;
using base::Status;
using http::Request;
using http::Response;

namespace {

Response no_content() {
  Response response;
  response.status = 204;
  return response;
}

Response answer(const Status& status) {
  return status ? no_content() : http::error_response(status.error());
}

Response frames_response(http::Body body) {
  Response response;
  response.headers.set("Content-Type", std::string(kFramesContentType));
  response.body = std::move(body);
  return response;
}

Response no_such_call(const Request& request) {
  return http::error_response(
      base::not_found("no such call: " + request.method + " " + request.target.substr(0, 200)));
}

Task<Result<ProcessSpec>> read_spec(Request request) {
  AT_CO_TRY(const std::string text, co_await request.body.read_all(kSpecBytesMax));
  co_return parse_process_spec(text);
}

// Collects the frames of a command that ends at once, so that they leave in one piece. Gives false
// if it runs on.
Task<bool> gather(FrameReader& reader, Process& process, const base::Clock& clock,
                  std::string& frames) {
  const auto deadline = clock.monotonic() + kExecGatherTime;
  while (true) {
    frames += reader.take_ready();
    if (reader.done()) co_return true;
    const auto left = deadline - clock.monotonic();
    if (frames.size() >= kFramePayloadMax || left.count() <= 0) co_return false;
    if (co_await process.output().changed().wait_for(left) == async::Wake::kCancelled) {
      co_return false;
    }
  }
}

// Frames that were gathered, then those to come.
class ResumedReader final : public http::BodyReader {
 public:
  ResumedReader(std::string first, std::unique_ptr<FrameReader> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}

  Task<Result<std::string>> read() override {
    if (!first_.empty()) co_return std::exchange(first_, {});
    co_return co_await rest_->read();
  }

 private:
  std::string first_;
  std::unique_ptr<FrameReader> rest_;
};

}  // namespace

Task<Response> ProcessRoutes::exec(Request request) {
  activity_.note_input();
  auto spec = co_await read_spec(std::move(request));
  if (!spec) co_return http::error_response(spec.error());
  auto started = co_await table_.start_exec(*std::move(spec));
  if (!started) co_return http::error_response(started.error());
  const std::shared_ptr<Process> process = *std::move(started);

  FrameReader::Options options;
  options.patience = FollowedLog::Patience::kEndless;
  // The process goes with its reader: removed if it ended, killed if the client went away.
  options.on_close = [this, process] { table_.abandon(process); };
  auto reader = std::make_unique<FrameReader>(process, std::move(options));
  std::string frames;
  const bool complete = co_await gather(*reader, *process, table_.clock(), frames);
  if (complete) co_return frames_response(std::move(frames));
  co_return frames_response(
      std::unique_ptr<http::BodyReader>(new ResumedReader(std::move(frames), std::move(reader))));
}

Task<Response> ProcessRoutes::handle(Request request, http::Target target, std::string path) {
  if (path.empty() && request.method == "POST") co_return co_await start(std::move(request));
  if (path.empty() && request.method == "GET") co_return list();
  if (path.size() < 2) co_return no_such_call(request);
  const std::size_t slash = path.find('/', 1);
  const std::string id = path.substr(1, slash == std::string::npos ? slash : slash - 1);
  std::string action = slash == std::string::npos ? "" : path.substr(slash + 1);
  auto process = table_.find(id);
  if (!process) co_return http::error_response(process.error());
  co_return co_await on_process(std::move(request), std::move(target), *std::move(process),
                                std::move(action));
}

Task<Response> ProcessRoutes::on_process(Request request, http::Target target,
                                         std::shared_ptr<Process> process, std::string action) {
  if (action.empty() && request.method == "GET") {
    co_return http::json_response(200, boost::json::serialize(process->describe().to_json()));
  }
  if (action.empty() && request.method == "DELETE") {
    co_return answer(co_await table_.remove(process->id()));
  }
  if (action == "output" && request.method == "GET") {
    auto response = output(target, process);
    if (!response) co_return http::error_response(response.error());
    co_return *std::move(response);
  }
  if (request.method != "POST") co_return no_such_call(request);
  activity_.note_input();
  if (action == "stdin") {
    co_return answer(
        co_await write_stdin(std::move(request), std::move(target), std::move(process)));
  }
  if (action != "signal" && action != "resize") co_return no_such_call(request);
  co_return answer(co_await control(std::move(request), std::move(process), std::move(action)));
}

Task<Response> ProcessRoutes::start(Request request) {
  activity_.note_input();
  auto spec = co_await read_spec(std::move(request));
  if (!spec) co_return http::error_response(spec.error());
  auto process = table_.start(*std::move(spec));
  if (!process) co_return http::error_response(process.error());
  co_return http::json_response(201, boost::json::serialize((*process)->describe().to_json()));
}

Response ProcessRoutes::list() const {
  api::ProcessList wire;
  for (const auto& process : table_.list()) wire.processes.push_back(process->describe());
  return http::json_response(200, boost::json::serialize(wire.to_json()));
}

Result<Response> ProcessRoutes::output(const http::Target& target,
                                       const std::shared_ptr<Process>& process) const {
  FrameReader::Options options;
  AT_TRY(options.since, read_number(target, "since", 0));
  AT_TRY(const Flag follow, read_flag(target, "follow"));
  if (process->output().followers() >= kFollowersMax) {
    return base::exhausted("output: " + std::to_string(kFollowersMax) +
                           " readers follow this process, which is the limit");
  }
  if (follow == Flag::kFalse) options.until = FrameReader::Until::kCaughtUp;
  std::unique_ptr<http::BodyReader> reader =
      std::make_unique<FrameReader>(process, std::move(options));
  return frames_response(std::move(reader));
}

Task<Status> ProcessRoutes::write_stdin(Request request, http::Target target,
                                        std::shared_ptr<Process> process) {
  AT_CO_TRY(const Flag end, read_flag(target, "eof"));
  const auto reader = request.body.into_reader();
  while (true) {
    AT_CO_TRY(std::string piece, co_await reader->read());
    if (piece.empty()) break;
    AT_CO_OK(co_await process->write_stdin(std::move(piece)));
  }
  if (end == Flag::kFalse) co_return Status();
  co_return co_await process->end_stdin();
}

Task<Status> ProcessRoutes::control(Request request, std::shared_ptr<Process> process,
                                    std::string action) {
  AT_CO_TRY(const std::string text, co_await request.body.read_all(kControlBodyMax));
  if (action == "signal") {
    AT_CO_TRY(const int number, parse_signal(text));
    co_return process->signal(number);
  }
  AT_CO_TRY(const TerminalSize size, parse_terminal_size(text));
  co_return process->resize(size);
}

}  // namespace agenttier::runtime
