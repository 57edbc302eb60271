// Frames of a process's output, as a hostile runtime may send them.
#include "fuzz.h"
#include "router/frames.h"

namespace {

using namespace agenttier;

std::string decode(std::string_view first, std::string_view second) {
  router::FrameDecoder decoder;
  std::string seen;
  for (std::string_view piece : {first, second}) {
    decoder.feed(std::string(piece));
    while (true) {
      const auto frame = decoder.next();
      if (!frame) return seen + "!";
      if (!*frame) break;
      fuzz::require((*frame)->payload.size() <= router::kFramePayloadBytesMax);
      seen += std::to_string(static_cast<int>((*frame)->channel)) + ":" +
              std::to_string((*frame)->offset) + ":" + std::string((*frame)->payload) + ";";
      if ((*frame)->channel == router::Frame::Channel::kStatus) {
        (void)router::parse_process_status((*frame)->payload);
      }
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [first, second] = fuzz::cut(fuzz::text_of(data, size));
  fuzz::require(decode(std::string(first) + std::string(second), "") == decode(first, second));
  return 0;
}
