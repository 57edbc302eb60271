// Chunked bodies: what is decoded does not depend on how the bytes arrive.
#include "fuzz.h"
#include "http/chunk_decoder.h"

namespace {

using namespace agenttier;

// Nothing after a failure.
std::string decode(std::string_view first, std::string_view second, bool* failed) {
  http::ChunkDecoder decoder;
  std::string content;
  for (std::string_view piece : {first, second}) {
    if (decoder.done()) break;
    const auto used = decoder.decode(piece, content);
    *failed = !used;
    if (*failed) return "";
    fuzz::require(*used <= piece.size());
    fuzz::require(decoder.done() || *used == piece.size());
  }
  return content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [first, second] = fuzz::cut(fuzz::text_of(data, size));
  const std::string whole = std::string(first) + std::string(second);
  bool one_failed = false, two_failed = false;
  const std::string one = decode(whole, "", &one_failed);
  const std::string two = decode(first, second, &two_failed);
  fuzz::require(one_failed == two_failed && one == two);
  fuzz::require(one.size() <= whole.size());
  return 0;
}
