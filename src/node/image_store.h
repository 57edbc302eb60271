#pragma once
// The images of this node by name: fetched once, shared by every container made from them.
//
// Guarantees: one fetch of an image runs at a time, and whoever else asks for it waits for that
// one; a caller that gives up does not end it. Few fetches run at once. An image that needed
// credentials is given only to a caller whose own credentials the registry accepts.
//
// A name for which an OCI layout lies in images/local (or, for agenttier/<name>, in the images
// folder), or that was imported, is served from this machine whatever the policy says. Everything
// else follows the pull policy as the kubelet does. Errors carry the container's waiting reason in
// Error::reason.
//
// One loop; the references given to the constructor outlive the store. close() before destroying.
//
// Example:
//   AT_CO_TRY(Image image, co_await images.get({.name = "alpine:3.20"}));
//   mount_overlay({.lower = image.rootfs, ...});

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "node/image_fetcher.h"
#include "node/image_record.h"
#include "node/image_reference.h"

namespace agenttier::node {

enum class PullPolicy : std::uint8_t { kAlways, kIfNotPresent, kNever };

namespace image_reasons {
inline constexpr const char* kErrImagePull = "ErrImagePull";
inline constexpr const char* kErrImageNeverPull = "ErrImageNeverPull";
inline constexpr const char* kInvalidImageName = "InvalidImageName";
}  // namespace image_reasons

struct Image {
  std::string name;    // whole reference
  std::string digest;  // of the manifest here, the key of its files
  std::string id;      // for status: "registry/repository@digest"
  std::string rootfs;  // folder of its files
  ImageConfig config;
};

struct ImageRequest {
  std::string name;
  PullPolicy policy = PullPolicy::kIfNotPresent;
  std::string auth_json;  // content of a docker config.json; empty: anonymous
};

struct ImageStoreOptions {
  FetchOptions fetch;
  // Folder of OCI layouts that are the images agenttier/<name>; empty: none.
  std::string images_dir;
};

class ImageStore {
 public:
  static constexpr std::size_t kFetchesMax = 3;

  ImageStore(const NodePaths& paths, os::CommandRunner& runner, async::BlockingPool& blocking,
             async::Timers& timers, async::Executor executor, ImageStoreOptions options);

  // Once, before any other call: reads the records, drops what is broken.
  async::Task<base::Status> recover();
  async::Task<void> close();

  async::Task<base::Result<Image>> get(ImageRequest request);
  // The same without awaiting, if it is here and needs no question to a registry.
  std::optional<Image> find(const ImageRequest& request) const;

  // For administrators. `source` is a folder or tar file that holds an OCI layout, or a skopeo
  // source
  // ("docker://...", "docker-archive:..."). The name then means this image on this node.
  async::Task<base::Result<Image>> import_image(std::string name, std::string source);
  std::vector<ImageRecord> list() const;
  // Forgets the name. Its files go with the next collect_garbage, unless something needs them.
  async::Task<base::Status> remove(std::string name);
  // Removes files that no name and no container uses. While less than `bytes_free_wanted` are free,
  // pulled images that no container uses go too, the least recently used first.
  // `in_use` is asked again before each step, for containers start meanwhile.
  using DigestsInUse = std::function<std::set<std::string>()>;
  async::Task<base::Status> collect_garbage(DigestsInUse in_use, std::uint64_t bytes_free_wanted);

 private:
  struct Fetch {
    explicit Fetch(async::Executor executor) : ended(std::move(executor)) {}
    async::Event ended;
    std::optional<base::Result<Image>> result;
  };

  async::Task<base::Result<Image>> get_local(ImageReference reference, std::string layout);
  async::Task<base::Result<Image>> get_remote(ImageReference reference, ImageRequest request);
  async::Task<base::Result<Image>> fetch_shared(std::string key, ImageRecord record,
                                                std::string source, std::string auth_json);
  async::Task<void> run_fetch(std::shared_ptr<Fetch> fetch, std::string key, ImageRecord record,
                              std::string source, std::string auth_json);
  async::Task<base::Result<Image>> fetch_now(ImageRecord record, std::string source,
                                             std::string auth_json);
  async::Task<base::Status> save(ImageRecord record);
  async::Task<void> remove_unused(DigestsInUse in_use);
  // Of the layout on this machine that the name means; empty if there is none.
  std::string local_layout(const ImageReference& reference) const;
  const ImageRecord* find_record(const std::string& name) const;
  std::optional<Image> image_of(const ImageRecord& record) const;
  std::optional<std::string> oldest_unused(const std::set<std::string>& in_use) const;

  const NodePaths& paths_;
  async::BlockingPool& blocking_;
  async::Timers& timers_;
  async::Executor executor_;
  const std::string images_dir_;
  ImageFetcher fetcher_;
  std::map<std::string, ImageRecord> records_;  // by whole name
  std::map<std::string, ImageConfig> configs_;  // by digest: the unpacked images
  std::map<std::string, std::shared_ptr<Fetch>> fetches_;
  std::size_t fetching_ = 0;
  async::Event fetch_ended_;
  async::TaskGroup tasks_;
};

}  // namespace agenttier::node
