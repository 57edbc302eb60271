#include "node/image_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/time_format.h"
#include "node/digest.h"
#include "observe/log.h"
#include "os/file.h"

namespace agenttier::node {

using base::Error;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kRecordBytesMax = 64 * 1024;
constexpr std::size_t kWaitingFetchesMax = 1000;
constexpr const char* kLocalTag = "latest";
constexpr std::string_view kOwnImages = "agenttier/";

Error with_reason(Error error, const char* reason, const std::string& name) {
  if (error.code == base::ErrorCode::kCancelled) return error;
  if (error.reason.empty()) error.reason = reason;
  return std::move(error).context("pull image " + name);
}

std::string auth_hash(const std::string& auth_json) {
  return auth_json.empty() ? "" : sha256_hex(auth_json);
}

// Changes whenever a layout is written anew; empty if there is no layout.
std::string stamp_of(const std::string& layout) {
  if (layout.empty()) return "";
  struct stat info;
  if (::stat((layout + "/index.json").c_str(), &info) != 0) return "";
  return std::to_string(info.st_ino) + "-" + std::to_string(info.st_size) + "-" +
         std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
}

struct Loaded {
  std::vector<ImageRecord> records;
  std::map<std::string, ImageConfig> configs;
};

Result<Loaded> load(const NodePaths& paths) {
  Loaded loaded;
  for (const std::string& name : os::list_directory(paths.image_roots())) {
    const auto text = os::read_file(paths.image_roots() + "/" + name + "/image.json", 1UL << 20U);
    const auto config = text ? parse_image_config(*text) : Result<ImageConfig>(text.error());
    std::string digest = name;
    std::replace(digest.begin(), digest.end(), '-', ':');
    if (config && is_sha256_digest(digest)) {
      loaded.configs.emplace(digest, *config);
    } else {
      AT_OK(os::remove_tree(paths.image_roots() + "/" + name));
    }
  }
  for (const std::string& name : os::list_directory(paths.image_records())) {
    const std::string path = paths.image_records() + "/" + name;
    const auto text = os::read_file(path, kRecordBytesMax);
    const auto record = text ? parse_image_record(*text) : Result<ImageRecord>(text.error());
    if (record && loaded.configs.contains(record->digest)) {
      loaded.records.push_back(*record);
    } else {
      AT_OK(os::remove_file(path));
    }
  }
  return loaded;
}

// A folder or a file of this machine as skopeo names it; other sources stay as they are.
Result<std::string> skopeo_source(const std::string& source) {
  if (source.empty()) return base::invalid("import image: the source is empty");
  if (source[0] != '/') return source;
  if (os::is_directory(source)) return "oci:" + source;
  return "oci-archive:" + source;
}

}  // namespace

ImageStore::ImageStore(const NodePaths& paths, os::CommandRunner& runner,
                       async::BlockingPool& blocking, async::Timers& timers,
                       async::Executor executor, ImageStoreOptions options)
    : paths_(paths),
      blocking_(blocking),
      timers_(timers),
      executor_(executor),
      images_dir_(std::move(options.images_dir)),
      fetcher_(paths, runner, blocking, timers, options.fetch),
      fetch_ended_(executor),
      tasks_(executor, {.name = "image pulls", .tasks_max = kWaitingFetchesMax}) {}

async::Task<Status> ImageStore::recover() {
  const NodePaths* paths = &paths_;
  AT_CO_TRY(Loaded loaded, co_await blocking_.run([paths] { return load(*paths); }));
  configs_ = std::move(loaded.configs);
  for (ImageRecord& record : loaded.records) records_[record.name] = std::move(record);
  co_return Status();
}

async::Task<void> ImageStore::close() {
  co_await tasks_.close();
}

std::string ImageStore::local_layout(const ImageReference& reference) const {
  const std::string name = reference.local_name();
  const std::string own = paths_.local_images() + "/" + name;
  if (!stamp_of(own).empty()) return own;
  if (images_dir_.empty() || !name.starts_with(kOwnImages)) return "";
  const std::string given = images_dir_ + "/" + name.substr(kOwnImages.size());
  return stamp_of(given).empty() ? "" : given;
}

const ImageRecord* ImageStore::find_record(const std::string& name) const {
  const auto record = records_.find(name);
  return record == records_.end() ? nullptr : &record->second;
}

std::optional<Image> ImageStore::image_of(const ImageRecord& record) const {
  const auto config = configs_.find(record.digest);
  if (config == configs_.end()) return std::nullopt;
  Image image;
  image.name = record.name;
  image.digest = record.digest;
  const auto reference = parse_image_reference(record.name);
  const std::string digest = record.remote_digest.empty() ? record.digest : record.remote_digest;
  image.id = (reference ? reference->registry + "/" + reference->repository : "") + "@" + digest;
  image.rootfs = paths_.image_root(record.digest) + "/rootfs";
  image.config = config->second;
  return image;
}

std::optional<Image> ImageStore::find(const ImageRequest& request) const {
  const auto reference = parse_image_reference(request.name);
  if (!reference) return std::nullopt;
  const ImageRecord* record = find_record(reference->text());
  const std::string stamp = stamp_of(local_layout(*reference));
  if (record == nullptr) return std::nullopt;
  if (record->origin == ImageOrigin::kLocalLayout && stamp != record->layout_stamp) {
    return std::nullopt;
  }
  if (record->origin == ImageOrigin::kRegistry) {
    if (!stamp.empty() || !record->auths.contains(auth_hash(request.auth_json)))
      return std::nullopt;
    const bool fixed = !reference->digest.empty();
    if (request.policy == PullPolicy::kAlways && !fixed) return std::nullopt;
  }
  return image_of(*record);
}

async::Task<Result<Image>> ImageStore::get(ImageRequest request) {
  auto reference = parse_image_reference(request.name);
  if (!reference) {
    Error error = std::move(reference).error();
    error.reason = image_reasons::kInvalidImageName;
    co_return error;
  }
  const std::string name = reference->text();
  if (auto image = find(request)) {
    records_[name].used = base::format_rfc3339(timers_.clock().now());
    co_return *std::move(image);
  }
  const std::string layout = local_layout(*reference);
  Result<Image> result = base::internal("");
  if (layout.empty()) {
    result = co_await get_remote(*reference, std::move(request));
  } else {
    result = co_await get_local(*reference, layout);
  }
  if (!result) {
    co_return with_reason(std::move(result).error(), image_reasons::kErrImagePull, name);
  }
  co_return result;
}

async::Task<Result<Image>> ImageStore::get_local(ImageReference reference, std::string layout) {
  ImageRecord record;
  record.name = reference.text();
  record.origin = ImageOrigin::kLocalLayout;
  record.layout_stamp = stamp_of(layout);
  const std::string tag = reference.tag.empty() ? kLocalTag : reference.tag;
  const std::string key = record.name + " " + record.layout_stamp;
  co_return co_await fetch_shared(key, std::move(record), "oci:" + layout + ":" + tag, "");
}

async::Task<Result<Image>> ImageStore::get_remote(ImageReference reference, ImageRequest request) {
  if (request.policy == PullPolicy::kNever) {
    Error error = base::not_found("it is not on this machine and its pull policy is Never");
    error.reason = image_reasons::kErrImageNeverPull;
    co_return error;
  }
  // The digest is asked for first: it tells whether anything changed, it proves that these
  // credentials may see the image, and what is then copied cannot be another.
  AT_CO_TRY(const std::string digest,
            co_await fetcher_.remote_digest(reference.pull_text(), request.auth_json));
  ImageRecord record;
  record.name = reference.text();
  record.remote_digest = digest;
  if (const ImageRecord* present = find_record(record.name);
      present != nullptr && present->remote_digest == digest && image_of(*present)) {
    record = *present;
    record.auths.insert(auth_hash(request.auth_json));
    AT_CO_OK(co_await save(record));
    co_return *image_of(record);
  }
  record.auths.insert(auth_hash(request.auth_json));
  const std::string source =
      "docker://" + reference.registry + "/" + reference.repository + "@" + digest;
  const std::string key = record.name + " " + digest + " " + auth_hash(request.auth_json);
  co_return co_await fetch_shared(key, std::move(record), source, std::move(request.auth_json));
}

async::Task<Result<Image>> ImageStore::import_image(std::string name, std::string source) {
  AT_CO_TRY(const ImageReference reference, parse_image_reference(name));
  AT_CO_TRY(std::string from, skopeo_source(source));
  ImageRecord record;
  record.name = reference.text();
  record.origin = ImageOrigin::kImported;
  const std::string key = record.name + " import " + from;
  auto result = co_await fetch_shared(key, std::move(record), std::move(from), "");
  if (!result) co_return std::move(result).error().context("import image " + name);
  co_return result;
}

async::Task<Result<Image>> ImageStore::fetch_shared(std::string key, ImageRecord record,
                                                    std::string source, std::string auth_json) {
  auto running = fetches_.find(key);
  std::shared_ptr<Fetch> fetch;
  if (running != fetches_.end()) {
    fetch = running->second;
  } else {
    fetch = std::make_shared<Fetch>(executor_);
    AT_CO_OK(tasks_.spawn(
        run_fetch(fetch, key, std::move(record), std::move(source), std::move(auth_json))));
    fetches_[key] = fetch;
  }
  while (!fetch->result) {
    if (co_await async::is_cancelled()) co_return base::cancelled("no longer wanted");
    if (co_await fetch->ended.wait() == async::Wake::kCancelled) {
      co_return base::cancelled("no longer wanted");
    }
  }
  co_return *fetch->result;
}

async::Task<void> ImageStore::run_fetch(std::shared_ptr<Fetch> fetch, std::string key,
                                        ImageRecord record, std::string source,
                                        std::string auth_json) {
  bool cancelled = false;
  while (!cancelled && fetching_ >= kFetchesMax) {
    cancelled = co_await fetch_ended_.wait() == async::Wake::kCancelled;
  }
  if (cancelled) {
    fetch->result.emplace(base::cancelled("the node agent is stopping"));
  } else {
    ++fetching_;
    auto result = co_await fetch_now(std::move(record), std::move(source), std::move(auth_json));
    --fetching_;
    fetch->result.emplace(std::move(result));
  }
  fetches_.erase(key);
  fetch->ended.notify_all();
  fetch_ended_.notify_all();
}

async::Task<Result<Image>> ImageStore::fetch_now(ImageRecord record, std::string source,
                                                 std::string auth_json) {
  const auto start = timers_.clock().monotonic();
  AT_CO_TRY(FetchedImage fetched, co_await fetcher_.fetch(std::move(source), std::move(auth_json)));
  record.digest = fetched.digest;
  record.compressed_bytes = fetched.compressed_bytes;
  record.created = base::format_rfc3339(timers_.clock().now());
  record.used = record.created;
  configs_[fetched.digest] = std::move(fetched.config);
  AT_CO_OK(co_await save(record));
  const auto elapsed = timers_.clock().monotonic() - start;
  observe::log_info(
      "image is ready",
      {{"image", record.name},
       {"digest", record.digest},
       {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()}});
  const auto image = image_of(record);
  if (!image) co_return base::conflict("its files were removed meanwhile");
  co_return *image;
}

async::Task<Status> ImageStore::save(ImageRecord record) {
  const std::string path = paths_.image_records() + "/" + sha256_hex(record.name) + ".json";
  const std::string text = format_image_record(record);
  AT_CO_OK(
      co_await blocking_.run([path, text] { return os::write_file_atomic(path, text, 0600); }));
  records_[record.name] = std::move(record);
  co_return Status();
}

std::vector<ImageRecord> ImageStore::list() const {
  std::vector<ImageRecord> result;
  for (const auto& [name, record] : records_) result.push_back(record);
  return result;
}

async::Task<Status> ImageStore::remove(std::string name) {
  AT_CO_TRY(const ImageReference reference, parse_image_reference(name));
  const std::string whole = reference.text();
  if (!records_.contains(whole)) {
    co_return base::not_found("image " + whole + " is not on this machine");
  }
  const std::string path = paths_.image_records() + "/" + sha256_hex(whole) + ".json";
  AT_CO_OK(co_await blocking_.run([path] { return os::remove_file(path); }));
  records_.erase(whole);
  co_return Status();
}

std::optional<std::string> ImageStore::oldest_unused(const std::set<std::string>& in_use) const {
  const ImageRecord* oldest = nullptr;
  for (const auto& [name, record] : records_) {
    if (record.origin != ImageOrigin::kRegistry || in_use.contains(record.digest)) continue;
    if (oldest == nullptr || record.used < oldest->used) oldest = &record;
  }
  return oldest == nullptr ? std::nullopt : std::optional<std::string>(oldest->name);
}

async::Task<Status> ImageStore::collect_garbage(DigestsInUse in_use,
                                                std::uint64_t bytes_free_wanted) {
  const std::string folder = paths_.image_roots();
  while (true) {
    co_await remove_unused(in_use);
    const auto usage = co_await blocking_.run([folder] { return os::file_system_usage(folder); });
    if (!usage || usage->bytes_free >= bytes_free_wanted) co_return Status();
    const auto oldest = oldest_unused(in_use());
    if (!oldest || co_await async::is_cancelled()) co_return Status();
    AT_CO_OK(co_await remove(*oldest));
    observe::log_info("image removed to free disk space", {{"image", *oldest}});
  }
}

async::Task<void> ImageStore::remove_unused(DigestsInUse in_use) {
  std::set<std::string> digests;
  for (const auto& [digest, config] : configs_) digests.insert(digest);
  for (const std::string& digest : digests) {
    std::set<std::string> needed = in_use();
    for (const auto& [name, record] : records_) needed.insert(record.digest);
    // A fetch may be about to use files that are there already.
    if (needed.contains(digest) || !fetches_.empty()) continue;
    configs_.erase(digest);
    const std::string root = paths_.image_root(digest);
    const std::string doomed = paths_.tmp() + "/removing-" + digest.substr(7);
    // Out of sight first, in this very step: a half-removed image must never be found.
    Status removed = os::rename_path(root, doomed);
    if (removed) removed = co_await blocking_.run([doomed] { return os::remove_tree(doomed); });
    if (!removed) observe::log_warning("image not removed", {{"why", removed.error().message}});
  }
}

}  // namespace agenttier::node
