// Heads of requests and responses, in one piece and in two: the same outcome either way.
#include "http/parser.h"

#include "fuzz.h"

namespace {

using namespace agenttier;

constexpr std::uint32_t kHeadBytesMax = 4096;

struct Outcome {
  bool failed = false;
  bool done = false;
  std::string method, target;
  std::size_t headers = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome parse(bool request, std::string_view first, std::string_view second) {
  http::HeadParser parser(kHeadBytesMax);
  request ? parser.start_request() : parser.start_response(http::BodyPresence::kNormal);
  std::string waiting(first);
  for (int round = 0; round < 2; ++round) {
    const auto used = parser.parse_head(waiting);
    if (!used) return {.failed = true, .done = false, .method = "", .target = "", .headers = 0};
    fuzz::require(*used <= waiting.size());
    if (parser.head_done()) break;
    waiting.erase(0, *used);
    if (round == 0) waiting += second;
  }
  Outcome outcome;
  outcome.done = parser.head_done();
  if (!outcome.done) return outcome;
  const http::MessageHead head = parser.take_head();
  fuzz::require(head.target.size() <= kHeadBytesMax);
  outcome.method = head.method;
  outcome.target = head.target;
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = fuzz::text_of(data, size);
  if (input.size() < 2) return 0;
  const bool request = input[0] % 2 == 0;
  const auto [first, second] = fuzz::cut(input.substr(1));
  const std::string whole = std::string(first) + std::string(second);
  const Outcome one = parse(request, whole, ""), two = parse(request, first, second);
  if (one.done && two.done) fuzz::require(one == two);
  return 0;
}
