// The three patch forms on any document: no crash, and no growth beyond what the two hold.
#include "store/patch.h"

#include <boost/json.hpp>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agenttier;
  const auto input = fuzz::text_of(data, size);
  const std::size_t line = input.find('\n');
  if (line == std::string_view::npos) return 0;
  boost::system::error_code failed;
  const auto target = boost::json::parse(input.substr(0, line), failed);
  if (failed) return 0;
  const auto patch = boost::json::parse(input.substr(line + 1), failed);
  if (failed) return 0;
  const auto merged = store::apply_merge_patch(target, patch);
  if (merged) {
    const std::size_t both =
        boost::json::serialize(target).size() + boost::json::serialize(patch).size();
    fuzz::require(boost::json::serialize(*merged).size() <= both + 2);
  }
  (void)store::apply_strategic_merge(target, patch);
  (void)store::apply_json_patch(target, patch);
  return 0;
}
