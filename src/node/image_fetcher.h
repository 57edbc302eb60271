#pragma once
// Brings an image onto this machine: skopeo copies it into an OCI layout, umoci unpacks that, and a
// rename makes the finished files visible under their digest.
//
// Guarantees: files appear whole or not at all; what fails or is cancelled leaves nothing but what
// the next start empties; a copy ends before the disk is full. Credentials are in a file that only
// root can read, for as long as the copy runs, and never on a command line.
//
// Example:
//   AT_CO_TRY(FetchedImage image, co_await fetcher.fetch("docker://docker.io/library/alpine:3",
//   ""));

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "async/blocking_pool.h"
#include "async/timers.h"
#include "node/node_paths.h"
#include "node/oci_image.h"
#include "os/process.h"

namespace agenttier::node {

struct FetchOptions {
  // "host" or "host:port" of registries without TLS or with a certificate that nobody vouches for.
  // Those on this machine's loopback addresses need not be named.
  std::set<std::string> insecure_registries;
  std::chrono::milliseconds time_max = std::chrono::minutes(30);
  std::chrono::milliseconds inspect_time_max = std::chrono::minutes(1);
  std::uint64_t image_bytes_max = 32ULL << 30U;    // compressed
  std::uint64_t disk_reserve_bytes = 1ULL << 30U;  // what must stay free
};

struct FetchedImage {
  std::string digest;  // of the manifest in the layout; its files are at paths.image_root(digest)
  ImageConfig config;
  std::uint64_t compressed_bytes = 0;
};

class ImageFetcher {
 public:
  // The references outlive the fetcher.
  ImageFetcher(const NodePaths& paths, os::CommandRunner& runner, async::BlockingPool& blocking,
               async::Timers& timers, FetchOptions options);

  // `source` as skopeo names it. `auth_json` is the content of a docker config.json, or empty.
  async::Task<base::Result<FetchedImage>> fetch(std::string source, std::string auth_json);
  // Asks the registry for the digest behind "registry/repository:tag", with these credentials.
  async::Task<base::Result<std::string>> remote_digest(std::string reference,
                                                       std::string auth_json);

 private:
  async::Task<base::Result<FetchedImage>> fetch_into(std::string work, std::string source,
                                                     std::string auth_json);
  async::Task<base::Status> run(os::Command command);
  async::Task<async::Wake> until_disk_is_low();
  async::Task<base::Result<std::string>> write_auth(std::string path, std::string auth_json);
  async::Task<base::Status> install(std::string work, FetchedImage image);
  std::string temporary();
  bool is_insecure(std::string_view reference) const;

  const NodePaths& paths_;
  os::CommandRunner& runner_;
  async::BlockingPool& blocking_;
  async::Timers& timers_;
  const FetchOptions options_;
  std::uint64_t temporaries_ = 0;
};

}  // namespace agenttier::node
