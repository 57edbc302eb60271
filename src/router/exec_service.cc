#include "router/exec_service.h"

#include <boost/json/serialize.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "async/time_limit.h"

namespace agenttier::router {
namespace {

base::Error cut_short(const std::string& sandbox, const std::string& why) {
  base::Error error =
      base::unavailable("sandbox " + sandbox + " went away while the command ran: " + why);
  error.reason = "sandbox_unreachable";
  return error;
}

// Adds all whole frames at hand.
base::Status add_frames(FrameDecoder& decoder, ExecOutput& output) {
  while (!output.ended()) {
    AT_TRY(const std::optional<Frame> frame, decoder.next());
    if (!frame) return {};
    AT_OK(output.add(*frame));
  }
  return {};
}

// Reads on after the last frame, so that the connection can be used again.
async::Task<base::Result<ExecOutput>> collect(http::Body body, ByteBudget& budget,
                                              std::string sandbox) {
  ExecOutput output(budget, kExecBytesMax);
  FrameDecoder decoder;
  const std::unique_ptr<http::BodyReader> reader = body.into_reader();
  while (true) {
    base::Result<std::string> piece = co_await reader->read();
    const bool at_end = piece && piece->empty();
    if (output.ended() && (at_end || !piece)) co_return std::move(output);
    if (at_end) co_return cut_short(sandbox, "its output ended without an exit status");
    if (!piece && piece.error().code == base::ErrorCode::kCancelled) co_return piece.error();
    if (!piece) co_return cut_short(sandbox, piece.error().message);
    if (output.ended()) continue;
    decoder.feed(*std::move(piece));
    AT_CO_OK(add_frames(decoder, output));
  }
}

}  // namespace

async::Task<base::Result<http::Response>> ExecService::start(identity::Claims caller,
                                                             std::string sandbox,
                                                             api::ProcessSpec spec) {
  RuntimeCall call;
  call.method = "POST";
  call.target = "/v1/exec";
  call.headers.set("Content-Type", "application/json");
  call.body = http::Body(boost::json::serialize(spec.to_json()));
  co_return co_await calls_.call(std::move(caller), std::move(sandbox), std::move(call));
}

async::Task<base::Result<ExecOutput>> ExecService::run_to_end(identity::Claims caller,
                                                              std::string sandbox,
                                                              api::ProcessSpec spec) {
  spec.output_bytes_max = static_cast<std::int64_t>(kExecBytesMax);
  AT_CO_TRY(http::Response response, co_await start(std::move(caller), sandbox, std::move(spec)));
  co_return co_await collect(std::move(response.body), budget_, std::move(sandbox));
}

async::Task<base::Result<ExecOutput>> ExecService::run(identity::Claims caller, std::string sandbox,
                                                       api::ProcessSpec spec) {
  const std::int64_t timeout_ms = spec.timeout_ms;
  auto work = run_to_end(std::move(caller), std::move(sandbox), std::move(spec));
  if (timeout_ms == 0) co_return co_await std::move(work);
  const auto limit = std::chrono::milliseconds(timeout_ms) + kExecGrace;
  co_return co_await async::with_time_limit<ExecOutput>(timers_, limit, std::move(work));
}

async::Task<base::Result<http::Body>> ExecService::stream(identity::Claims caller,
                                                          std::string sandbox,
                                                          api::ProcessSpec spec) {
  AT_CO_TRY(http::Response response,
            co_await start(std::move(caller), std::move(sandbox), std::move(spec)));
  co_return std::move(response.body);
}

}  // namespace agenttier::router
