#pragma once
// The name of an image, taken apart and made whole as registries' clients do: "alpine" is
// docker.io/library/alpine:latest.
//
// Only names of images on registries (and of images built here) are references. Transports such as
// "docker-archive:/path" would let whoever writes a pod read files of this machine; they belong to
// administrators' imports alone.
//
// Example:
//   AT_TRY(ImageReference image, parse_image_reference("ghcr.io/acme/tool:1.2"));
//   image.text();   // "ghcr.io/acme/tool:1.2"

#include <string>
#include <string_view>

#include "base/result.h"

namespace agenttier::node {

struct ImageReference {
  std::string registry;    // "docker.io", "localhost:5000"
  std::string repository;  // "library/alpine"
  std::string tag;         // empty if there is a digest and no tag
  std::string digest;      // "sha256:..." or empty

  // Whole: registry/repository[:tag][@digest].
  std::string text() const;
  // As the registry's clients take it: the digest alone if there is one.
  std::string pull_text() const;
  // "agenttier/minimal" for images of the default registry, else with the registry.
  std::string local_name() const;
  bool operator==(const ImageReference&) const = default;
};

// kInvalid says which part is wrong and shows a valid name.
base::Result<ImageReference> parse_image_reference(std::string_view text);

}  // namespace agenttier::node
