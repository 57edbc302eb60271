// Request targets with their queries, and the Range header.
#include "fuzz.h"
#include "http/message.h"
#include "runtime/byte_range.h"
#include "runtime/query.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agenttier;
  const auto input = fuzz::text_of(data, size);
  const auto target = http::parse_target(input);
  if (target) {
    (void)runtime::read_flag(*target, "recursive");
    (void)runtime::read_text(*target, "path");
  }
  const auto [header, rest] = fuzz::cut(input);
  const std::uint64_t file_size = rest.size() * 1000003;
  const auto answer = runtime::answer_range(header, file_size);
  if (answer.kind == runtime::RangeAnswer::Kind::kPart) {
    fuzz::require(answer.range.length > 0 && answer.range.begin < file_size);
    fuzz::require(answer.range.length <= file_size - answer.range.begin);
  }
  return 0;
}
