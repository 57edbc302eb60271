#include "programs/local_images.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace agenttier::programs {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

base::Status take(const fs::path& layout, const fs::path& target) {
  if (fs::exists(target / "index.json") &&
      content(target / "index.json") == content(layout / "index.json")) {
    return {};
  }
  std::error_code failed;
  const fs::path half = target.string() + ".new";
  fs::remove_all(half, failed);
  fs::create_directories(target.parent_path(), failed);
  fs::copy(layout, half, fs::copy_options::recursive, failed);
  if (failed) return base::from_errno("copy image " + layout.string(), failed.value());
  fs::remove_all(target, failed);
  fs::rename(half, target, failed);
  if (failed) return base::from_errno("copy image " + layout.string(), failed.value());
  return {};
}

}  // namespace

base::Status take_local_images(const std::string& from, const std::string& to) {
  std::error_code failed;
  fs::directory_iterator entries(from, failed);
  if (failed) return base::from_errno("--images: read " + from, failed.value());
  for (const auto& entry : entries) {
    if (!fs::exists(entry.path() / "oci-layout") || !fs::exists(entry.path() / "index.json"))
      continue;
    AT_OK(take(entry.path(), fs::path(to) / "agenttier" / entry.path().filename()));
  }
  return {};
}

}  // namespace agenttier::programs
