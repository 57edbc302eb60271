#pragma once
// FileRoots are the directories that clients may reach: the workspace and /tmp. It turns a path
// from a client into an open directory and a name in it, so that nothing outside is ever reached.
//
// Guarantees: the kernel resolves each step (openat2 beneath the root, or one component at a time
// without following links where the kernel has no openat2); a symlink is followed as long as it
// stays inside, be it relative or absolute. Leading out is kDenied with reason "outside_workspace";
// "..", NUL and names that are too long are kInvalid. All calls may block: use a BlockingPool.
//
// Example:
//   AT_TRY(os::Fd file, roots.open("/workspace/a.txt", O_RDONLY));
//   AT_TRY(Place place, roots.find("/workspace/b/new.txt", {.parents = Parents::kMake}));

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace agenttier::runtime {

// A name in a directory. The name is "." for a root itself.
struct Place {
  os::Fd parent;
  std::string name;
  bool is_root() const { return name == "."; }
};

enum class Parents : std::uint8_t { kMustExist, kMake };
enum class FinalLink : std::uint8_t { kFollow, kKeep };
enum class Resolver : std::uint8_t { kKernel, kByComponent };

class FileRoots {
 public:
  struct FindOptions {
    Parents parents = Parents::kMustExist;
    FinalLink link = FinalLink::kFollow;
  };

  explicit FileRoots(std::vector<std::string> roots);
  FileRoots(std::vector<std::string> roots, Resolver resolver);

  // O_CLOEXEC is added; O_CREAT is not for here.
  base::Result<os::Fd> open(const std::string& path, int flags) const;
  // Where the path leads; the name itself need not exist.
  base::Result<Place> find(const std::string& path, FindOptions options) const;

  const std::vector<std::string>& roots() const { return roots_; }

 private:
  struct Inside {
    std::string root;
    std::vector<std::string> names;
  };
  class Walk;

  base::Result<Inside> parse(const std::string& path) const;
  base::Result<Place> walk(const std::string& path, const Inside& inside,
                           FindOptions options) const;

  std::vector<std::string> roots_;
  Resolver resolver_;
};

// "step: path: reason", with the code that fits the error number; reason "no_space" when the disk
// is full.
base::Error file_error(std::string_view step, const std::string& path, int error_number);

}  // namespace agenttier::runtime
