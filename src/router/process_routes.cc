#include "router/process_routes.h"

#include <boost/json/serialize.hpp>
#include <charconv>
#include <memory>
#include <utility>

#include "http/sse.h"
#include "router/exec_service.h"
#include "router/frame_events.h"
#include "router/reply.h"
#include "router/sandbox_calls.h"

namespace agenttier::router {
namespace {

using Answer = base::Result<http::Response>;

http::Response frames_answer(http::Body body) {
  http::Response response;
  response.headers.set("Content-Type", std::string(kFramesContentType));
  response.headers.set("Cache-Control", "no-store");
  response.headers.set("X-Accel-Buffering", "no");
  response.body = std::move(body);
  return response;
}

// Events from the frames of a body, as they come. Ends with the process, or with the frames at
// hand.
class EventReader final : public http::BodyReader {
 public:
  EventReader(std::unique_ptr<http::BodyReader> frames, std::uint64_t offset)
      : frames_(std::move(frames)), events_(offset) {}

  async::Task<base::Result<std::string>> read() override {
    std::string text;
    while (text.empty() && !events_.ended()) {
      AT_CO_TRY(std::string piece, co_await frames_->read());
      if (piece.empty()) break;
      decoder_.feed(std::move(piece));
      while (!events_.ended()) {
        AT_CO_TRY(const std::optional<Frame> frame, decoder_.next());
        if (!frame) break;
        text += events_.events_of(*frame);
      }
    }
    co_return std::move(text);
  }

 private:
  std::unique_ptr<http::BodyReader> frames_;
  FrameDecoder decoder_;
  FrameEvents events_;
};

http::Response events_answer(http::Body frames, std::uint64_t offset) {
  http::Response response;
  response.headers.set("Content-Type", std::string(http::kSseContentType));
  response.headers.set("Cache-Control", "no-cache");
  response.headers.set("X-Accel-Buffering", "no");
  response.body = http::Body(std::make_unique<EventReader>(frames.into_reader(), offset));
  return response;
}

http::Response json_answer(int status, http::Body body) {
  http::Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

async::Task<Answer> exec(ExecService& execs, Call call) {
  AT_CO_TRY(auto request, co_await read_json<api::ExecRequest>(call));
  AT_CO_TRY(api::ProcessSpec spec, process_of(std::move(request)));
  if (call.accepts(kFramesContentType) || call.accepts(http::kSseContentType)) {
    AT_CO_TRY(http::Body frames,
              co_await execs.stream(std::move(call.caller), call.parameter("id"), std::move(spec)));
    co_return call.accepts(http::kSseContentType) ? events_answer(std::move(frames), 0)
                                                  : frames_answer(std::move(frames));
  }
  AT_CO_TRY(ExecOutput output,
            co_await execs.run(std::move(call.caller), call.parameter("id"), std::move(spec)));
  co_return json_answer(200, std::move(output).into_json());
}

std::string process_target(const Call& call, std::string_view rest = {}) {
  return "/v1/processes/" + http::percent_encode(call.parameter("pid")) + std::string(rest);
}

async::Task<base::Result<http::Response>> send(SandboxCalls& calls, const Call& call,
                                               RuntimeCall runtime_call) {
  return calls.call(call.caller, call.parameter("id"), std::move(runtime_call));
}

// Sends a JSON body, checked to be a T, and answers with what the runtime does.
async::Task<Answer> send_json(SandboxCalls& calls, Call call, std::string target,
                              boost::json::object body) {
  RuntimeCall runtime_call;
  runtime_call.method = "POST";
  runtime_call.target = std::move(target);
  runtime_call.headers.set("Content-Type", "application/json");
  runtime_call.body = http::Body(boost::json::serialize(body));
  AT_CO_TRY(http::Response answer, co_await send(calls, call, std::move(runtime_call)));
  if (answer.status == 204) co_return reply_empty(204);
  co_return json_answer(answer.status, std::move(answer.body));
}

async::Task<Answer> start_process(SandboxCalls& calls, Call call) {
  AT_CO_TRY(const auto spec, co_await read_json<api::ProcessSpec>(call));
  co_return co_await send_json(calls, std::move(call), "/v1/processes", spec.to_json());
}

async::Task<Answer> signal_process(SandboxCalls& calls, Call call) {
  AT_CO_TRY(const auto request, co_await read_json<api::SignalRequest>(call));
  std::string target = process_target(call, "/signal");
  co_return co_await send_json(calls, std::move(call), std::move(target), request.to_json());
}

async::Task<Answer> resize_process(SandboxCalls& calls, Call call) {
  AT_CO_TRY(const auto request, co_await read_json<api::ResizeRequest>(call));
  std::string target = process_target(call, "/resize");
  co_return co_await send_json(calls, std::move(call), std::move(target), request.to_json());
}

async::Task<Answer> read_json_of(SandboxCalls& calls, Call call, std::string target) {
  RuntimeCall get{.target = std::move(target)};
  AT_CO_TRY(http::Response answer, co_await send(calls, call, std::move(get)));
  co_return json_answer(200, std::move(answer.body));
}

async::Task<Answer> list_processes(SandboxCalls& calls, Call call) {
  return read_json_of(calls, std::move(call), "/v1/processes");
}

async::Task<Answer> get_process(SandboxCalls& calls, Call call) {
  std::string target = process_target(call);
  return read_json_of(calls, std::move(call), std::move(target));
}

// `since` of the query, or what an event reader that lost its connection says it has.
base::Result<std::int64_t> offset_of(const Call& call) {
  AT_TRY(const auto since, call.query_integer("since", 0, INT64_MAX));
  if (since) return *since;
  const auto last = call.request.headers.find("Last-Event-ID");
  std::int64_t offset = 0;
  if (!last) return offset;
  const auto [end, error] = std::from_chars(last->data(), last->data() + last->size(), offset);
  if (error != std::errc() || end != last->data() + last->size() || offset < 0) {
    return base::invalid_field("Last-Event-ID", "must be the id of an event of this output");
  }
  return offset;
}

async::Task<Answer> process_output(SandboxCalls& calls, Call call) {
  AT_CO_TRY(const std::int64_t since, offset_of(call));
  AT_CO_TRY(const bool follow, call.query_flag("follow"));
  RuntimeCall get;
  get.target = process_target(
      call, "/output?since=" + std::to_string(since) + (follow ? "&follow=true" : ""));
  AT_CO_TRY(http::Response answer, co_await send(calls, call, std::move(get)));
  if (call.accepts(http::kSseContentType)) {
    co_return events_answer(std::move(answer.body), static_cast<std::uint64_t>(since));
  }
  co_return frames_answer(std::move(answer.body));
}

async::Task<Answer> process_stdin(SandboxCalls& calls, Call call) {
  AT_CO_TRY(const bool eof, call.query_flag("eof"));
  RuntimeCall post;
  post.method = "POST";
  post.target = process_target(call, eof ? "/stdin?eof=true" : "/stdin");
  post.headers.set("Content-Type", "application/octet-stream");
  post.body = std::move(call.request.body);
  AT_CO_TRY(http::Response answer, co_await send(calls, call, std::move(post)));
  co_return reply_empty(204);
}

async::Task<Answer> delete_process(SandboxCalls& calls, Call call) {
  RuntimeCall remove;
  remove.method = "DELETE";
  remove.target = process_target(call);
  AT_CO_TRY(http::Response answer, co_await send(calls, call, std::move(remove)));
  co_return reply_empty(204);
}

}  // namespace

base::Result<api::ProcessSpec> process_of(api::ExecRequest request) {
  if (request.argv.empty() == !request.command) {
    return base::invalid_field("command", request.command ? "cannot be given together with argv"
                                                          : "is required: the shell line to run");
  }
  api::ProcessSpec spec;
  spec.command = std::move(request.command);
  spec.argv = std::move(request.argv);
  spec.cwd = std::move(request.cwd);
  spec.env = std::move(request.env);
  spec.stdin = std::move(request.stdin);
  spec.timeout_ms = 1000 * (request.timeout == 0 ? kExecTimeoutSeconds : request.timeout);
  return spec;
}

void add_process_routes(Handlers& handlers, SandboxCalls& calls, ExecService& execs) {
  handlers.add("exec", [&execs](Call call) { return exec(execs, std::move(call)); });
  handlers.add("startProcess",
               [&calls](Call call) { return start_process(calls, std::move(call)); });
  handlers.add("listProcesses",
               [&calls](Call call) { return list_processes(calls, std::move(call)); });
  handlers.add("getProcess", [&calls](Call call) { return get_process(calls, std::move(call)); });
  handlers.add("processOutput",
               [&calls](Call call) { return process_output(calls, std::move(call)); });
  handlers.add("processStdin",
               [&calls](Call call) { return process_stdin(calls, std::move(call)); });
  handlers.add("signalProcess",
               [&calls](Call call) { return signal_process(calls, std::move(call)); });
  handlers.add("resizeProcess",
               [&calls](Call call) { return resize_process(calls, std::move(call)); });
  handlers.add("deleteProcess",
               [&calls](Call call) { return delete_process(calls, std::move(call)); });
}

}  // namespace agenttier::router
