#include "node/image_reference.h"

#include <algorithm>
#include <cctype>

#include "node/digest.h"

namespace agenttier::node {

using base::Result;

namespace {

constexpr std::string_view kDefaultRegistry = "docker.io";
constexpr std::size_t kNameBytesMax = 255;
constexpr std::size_t kTagBytesMax = 128;
constexpr std::size_t kPortDigitsMax = 5;

bool is_lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_alnum(char c) {
  return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

base::Error bad(std::string_view text, const std::string& problem) {
  return base::invalid("image \"" + std::string(text.substr(0, kNameBytesMax)) + "\": " + problem +
                       "; a valid name is for example registry.example.com/team/tool:1.2");
}

// Words of lower-case letters and digits, joined by '.', '-', '_' or "__".
bool is_path_component(std::string_view part) {
  if (part.empty() || !is_lower_alnum(part.front()) || !is_lower_alnum(part.back())) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const char c = part[i];
    if (!is_lower_alnum(c) && c != '.' && c != '-' && c != '_') return false;
    if (c == '.' && i + 1 < part.size() && !is_lower_alnum(part[i + 1])) return false;
  }
  return true;
}

bool is_repository(std::string_view text) {
  while (true) {
    const std::size_t slash = text.find('/');
    if (!is_path_component(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

// Letters, digits and inner '-'.
bool is_host_label(std::string_view label) {
  return !label.empty() && is_alnum(label.front()) && is_alnum(label.back()) &&
         std::all_of(label.begin(), label.end(), [](char c) { return is_alnum(c) || c == '-'; });
}

// A host name, and a port if there is a colon.
bool is_registry(std::string_view text) {
  std::string_view host = text.substr(0, text.find(':'));
  if (host.size() < text.size()) {
    const std::string_view port = text.substr(host.size() + 1);
    const bool is_number =
        std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (port.empty() || port.size() > kPortDigitsMax || !is_number) return false;
  }
  while (true) {
    const std::size_t dot = host.find('.');
    if (!is_host_label(host.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    host.remove_prefix(dot + 1);
  }
}

bool is_tag(std::string_view text) {
  if (text.empty() || text.size() > kTagBytesMax || text[0] == '.' || text[0] == '-') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alnum(c) || c == '.' || c == '-' || c == '_'; });
}

// The first part names a registry if it looks like a host.
bool names_registry(std::string_view first) {
  return first.find_first_of(".:") != std::string_view::npos || first == "localhost";
}

void split_registry(std::string_view name, ImageReference& out) {
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos && names_registry(name.substr(0, slash))) {
    out.registry = name.substr(0, slash);
    out.repository = name.substr(slash + 1);
  } else {
    out.registry = kDefaultRegistry;
    out.repository = name;
  }
  if (out.registry == "index.docker.io") out.registry = kDefaultRegistry;
  if (out.registry == kDefaultRegistry && out.repository.find('/') == std::string::npos) {
    out.repository = "library/" + out.repository;
  }
}

}  // namespace

std::string ImageReference::text() const {
  std::string result = registry + "/" + repository;
  if (!tag.empty()) result += ":" + tag;
  if (!digest.empty()) result += "@" + digest;
  return result;
}

std::string ImageReference::pull_text() const {
  return registry + "/" + repository + (digest.empty() ? ":" + tag : "@" + digest);
}

std::string ImageReference::local_name() const {
  return registry == kDefaultRegistry ? repository : registry + "/" + repository;
}

Result<ImageReference> parse_image_reference(std::string_view text) {
  ImageReference result;
  std::string_view name = text;
  if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
    result.digest = name.substr(at + 1);
    name = name.substr(0, at);
    if (!is_sha256_digest(result.digest)) {
      return bad(text, "the digest must be sha256: and 64 hex digits");
    }
  }
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && name.find('/', colon) == std::string_view::npos) {
    result.tag = name.substr(colon + 1);
    name = name.substr(0, colon);
    if (!is_tag(result.tag)) return bad(text, "the tag may have letters, digits, '.', '-' and '_'");
  }
  if (name.empty() || name.size() > kNameBytesMax) return bad(text, "must be 1 to 255 bytes long");
  split_registry(name, result);
  if (!is_registry(result.registry)) return bad(text, "the registry is not a host name");
  // The address of cloud metadata services must not be asked on a tenant's behalf.
  if (result.registry.starts_with("169.254."))
    return bad(text, "link-local registries are refused");
  if (!is_repository(result.repository)) {
    return bad(text, "the name may have lower-case letters, digits, '.', '-', '_' and '/'");
  }
  if (result.tag.empty() && result.digest.empty()) result.tag = "latest";
  return result;
}

}  // namespace agenttier::node
