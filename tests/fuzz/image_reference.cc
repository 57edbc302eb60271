// Image names: the whole form of what was understood means the same.
#include "node/image_reference.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agenttier;
  const auto image = node::parse_image_reference(fuzz::text_of(data, size));
  if (!image) return 0;
  // The whole form is longer, and may be too long to be taken.
  constexpr std::size_t kTakenBytesMax = 255;
  const auto again = node::parse_image_reference(image->text());
  if (image->text().size() <= kTakenBytesMax) fuzz::require(again.has_value() && *again == *image);
  // They become words of a command line and parts of paths.
  for (const std::string& part : {image->registry, image->repository, image->tag}) {
    fuzz::require(!part.starts_with('-') && !part.starts_with('.'));
    fuzz::require(part.find('\0') == std::string::npos && part.find(' ') == std::string::npos);
  }
  for (const std::string& part : {image->registry, image->repository}) {
    fuzz::require(part.find("..") == std::string::npos);
  }
  fuzz::require(image->tag.find('/') == std::string::npos);
  return 0;
}
