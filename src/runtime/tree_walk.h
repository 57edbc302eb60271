#pragma once
// A TreeWalk visits everything below a directory, a directory before what it holds, without
// following any link and without ever leaving it, whatever is renamed meanwhile. Each level holds
// one descriptor; the number of levels is limited.
//
// Example:
//   TreeWalk walk(std::move(folder), {.depth_max = kDepthMax});
//   while (true) {
//     AT_TRY(const auto entry, walk.next());
//     if (!entry) break;
//     ...
//   }

#include <dirent.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace agenttier::runtime {

enum class Cross : std::uint8_t { kEnter, kSkip };
enum class Unreadable : std::uint8_t { kError, kSkip };
enum class Order : std::uint8_t { kFolderFirst, kFolderLast };

class TreeWalk {
 public:
  struct Options {
    std::size_t depth_max;
    Cross other_file_systems = Cross::kEnter;
    Unreadable unreadable = Unreadable::kError;  // directories that this user may not read
    // kFolderLast: a directory comes after what it holds, as when a tree is removed.
    Order order = Order::kFolderFirst;
  };
  struct Entry {
    int folder;        // descriptor of the directory it is in, valid until the next call
    std::string name;  // in that directory
    std::string path;  // from the start of the walk: "a/b.txt"
    struct stat info;
  };

  TreeWalk(os::Fd start, Options options);
  ~TreeWalk();

  // Nothing at the end. kInvalid if the tree is too deep; what vanished is passed over.
  base::Result<std::optional<Entry>> next();

 private:
  struct CloseStream {
    void operator()(DIR* stream) const { closedir(stream); }
  };
  struct Level {
    std::unique_ptr<DIR, CloseStream> stream;
    Entry self;  // of the directory itself; no name for the start
  };

  base::Status enter(os::Fd folder, Entry self);
  std::optional<Entry> leave();
  base::Status descend(const Entry& entry);

  Options options_;
  os::Fd start_;
  dev_t device_ = 0;
  std::vector<Level> levels_;
  std::optional<Entry> to_enter_;
};

}  // namespace agenttier::runtime
