#include "node/claims.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/names.h"
#include "api/quantity.h"
#include "base/time_format.h"
#include "kube/typed.h"
#include "observe/log.h"
#include "os/file.h"

namespace agenttier::node {

namespace json = boost::json;
namespace names = api::names;
using api::PersistentVolumeClaim;
using base::Result;
using base::Status;

namespace {

constexpr std::string_view kFinalizer = "kubernetes.io/pvc-protection";
constexpr auto kAppearTimeMax = std::chrono::seconds(30);
constexpr auto kLetGoTimeMax = std::chrono::seconds(120);

bool is_bound(const PersistentVolumeClaim& claim) {
  return claim.status && claim.status->phase == names::kubernetes::kClaimBound;
}

bool has_finalizer(const PersistentVolumeClaim& claim) {
  for (const std::string& name : claim.metadata.finalizers) {
    if (name == kFinalizer) return true;
  }
  return false;
}

std::string requested_text(const PersistentVolumeClaim& claim) {
  if (!claim.spec.resources) return "";
  const auto found = claim.spec.resources->requests.find("storage");
  return found == claim.spec.resources->requests.end() ? "" : found->second;
}

std::uint64_t requested_bytes(const PersistentVolumeClaim& claim) {
  const auto bytes = api::parse_bytes(requested_text(claim));
  return bytes && *bytes > 0 ? static_cast<std::uint64_t>(*bytes) : 0;
}

// The claim to copy from; empty if it starts empty.
Result<std::string> source_claim(const PersistentVolumeClaim& claim) {
  const auto& source = claim.spec.data_source ? claim.spec.data_source : claim.spec.data_source_ref;
  if (!source) return std::string();
  if (source->kind != "PersistentVolumeClaim" || !source->api_group.value_or("").empty()) {
    return base::invalid(
        "spec.dataSource: this node copies from a PersistentVolumeClaim, not from " + source->kind);
  }
  return source->name;
}

json::object patch_of(const PersistentVolumeClaim& claim) {
  return {{"metadata", json::object{{"uid", claim.metadata.uid}}}};
}

Status unless_gone(const Status& status) {
  if (!status && status.error().code == base::ErrorCode::kNotFound) return {};
  return status;
}

}  // namespace

Claims::Claims(async::Executor executor, async::Timers& timers, base::Random& random,
               kube::Client& client, async::BlockingPool& bulk, VolumeStore& volumes)
    : timers_(timers),
      client_(client),
      bulk_(bulk),
      volumes_(volumes),
      informer_(client, timers, random, executor),
      queue_(executor, timers, random, {.name = "volume claims", .workers = 4}),
      changed_(executor) {
  informer_.add_handler([this](const ClaimPointer& old, const ClaimPointer& now) {
    const PersistentVolumeClaim& claim = now ? *now : *old;
    (void)queue_.add(kube::key_of(claim));
    // One that went without our finalizer, in its first moments, may have left a directory.
    const std::string uid = claim.metadata.uid;
    if (!now && !held(uid)) (void)queue_.add({"", uid});
  });
}

async::Task<void> Claims::run() {
  return queue_.run([this](kube::ObjectKey key) { return reconcile(std::move(key)); });
}

std::set<std::string> Claims::known_uids() const {
  std::set<std::string> uids;
  for (const ClaimPointer& claim : informer_.list()) uids.insert(claim->metadata.uid);
  return uids;
}

async::Task<Result<kube::WorkQueue::Requeue>> Claims::reconcile(kube::ObjectKey key) {
  const VolumeStore* volumes = &volumes_;
  if (key.ns.empty()) {
    const std::string uid = key.name;
    AT_CO_OK(co_await bulk_.run([volumes, uid] { return volumes->remove(uid); }));
    co_return kube::WorkQueue::Requeue();
  }
  const ClaimPointer claim = informer_.find(key);
  if (!claim) co_return kube::WorkQueue::Requeue();
  if (claim->metadata.deletion_timestamp) {
    AT_CO_OK(unless_gone(co_await withdraw(*claim)));
  } else {
    AT_CO_OK(unless_gone(co_await provide(*claim)));
  }
  co_return kube::WorkQueue::Requeue();
}

async::Task<Status> Claims::provide(PersistentVolumeClaim claim) {
  if (!has_finalizer(claim)) AT_CO_OK(co_await set_finalizer(claim));
  if (is_bound(claim)) {
    const bool there = volumes_.find(claim.metadata.uid).has_value();
    co_return there ? Status() : co_await write_lost(std::move(claim));
  }
  if (claim.status && claim.status->phase == names::kubernetes::kClaimLost) co_return Status();
  AT_CO_TRY(VolumeInfo volume, co_await ensure(claim));
  co_return co_await write_status(std::move(claim), std::move(volume));
}

async::Task<Status> Claims::withdraw(PersistentVolumeClaim claim) {
  const std::string uid = claim.metadata.uid;
  if (!has_finalizer(claim) || held(uid)) co_return Status();
  const VolumeStore* volumes = &volumes_;
  AT_CO_OK(co_await bulk_.run([volumes, uid] { return volumes->remove(uid); }));
  json::array others;
  for (const std::string& name : claim.metadata.finalizers) {
    if (name != kFinalizer) others.emplace_back(name);
  }
  json::object patch = patch_of(claim);
  patch["metadata"].as_object()["finalizers"] = std::move(others);
  kube::ObjectKey key = kube::key_of(claim);
  auto patched = co_await client_.patch(PersistentVolumeClaim::kType, std::move(key),
                                        kube::PatchType::kMerge, json::value(std::move(patch)));
  if (!patched) co_return std::move(patched).error();
  co_return Status();
}

async::Task<Status> Claims::set_finalizer(PersistentVolumeClaim claim) {
  json::array all(claim.metadata.finalizers.begin(), claim.metadata.finalizers.end());
  all.emplace_back(kFinalizer);
  json::object patch = patch_of(claim);
  json::object& metadata = patch["metadata"].as_object();
  metadata["finalizers"] = std::move(all);
  // Others may change finalizers too; the version keeps this write from undoing theirs.
  metadata["resourceVersion"] = claim.metadata.resource_version;
  kube::ObjectKey key = kube::key_of(claim);
  auto patched = co_await client_.patch(PersistentVolumeClaim::kType, std::move(key),
                                        kube::PatchType::kMerge, json::value(std::move(patch)));
  if (!patched) co_return std::move(patched).error();
  co_return Status();
}

async::Task<Result<VolumeInfo>> Claims::ensure(PersistentVolumeClaim claim) {
  VolumeRequest request;
  request.uid = claim.metadata.uid;
  request.bytes = requested_bytes(claim);
  AT_CO_TRY(const std::string source, source_claim(claim));
  if (!source.empty() && !volumes_.find(request.uid)) {
    const ClaimPointer from = informer_.find(claim.metadata.ns, source);
    if (!from)
      co_return base::not_found("the claim to copy from, \"" + source + "\", is not there");
    request.clone_of = from->metadata.uid;
  }
  while (ensuring_.contains(request.uid)) {
    if (co_await async::is_cancelled()) co_return base::cancelled("stopping");
    if (co_await changed_.wait() == async::Wake::kCancelled) co_return base::cancelled("stopping");
  }
  ensuring_.insert(request.uid);
  const VolumeStore* volumes = &volumes_;
  const std::string uid = request.uid;
  auto make = [volumes, request = std::move(request)] { return volumes->ensure(request); };
  auto made = co_await bulk_.run(std::move(make));
  ensuring_.erase(uid);
  changed_.notify_all();
  if (!made) co_return std::move(made).error().context("volume of claim " + claim.metadata.name);
  co_return made;
}

async::Task<Status> Claims::write_status(PersistentVolumeClaim claim, VolumeInfo volume) {
  json::object status;
  status["phase"] = names::kubernetes::kClaimBound;
  status["accessModes"] =
      json::array(claim.spec.access_modes.begin(), claim.spec.access_modes.end());
  status["capacity"] = json::object{{"storage", requested_text(claim)}};
  if (!volume.size_enforced && requested_bytes(claim) > 0) {
    json::object condition{{"type", "SizeNotEnforced"}, {"status", "True"}};
    condition["reason"] = "NoProjectQuota";
    condition["message"] = volume.limit;
    condition["lastTransitionTime"] = base::format_rfc3339(timers_.clock().now());
    status["conditions"] = json::array{std::move(condition)};
  }
  json::object patch = patch_of(claim);
  patch["status"] = std::move(status);
  kube::ObjectKey key = kube::key_of(claim);
  auto patched =
      co_await client_.patch(PersistentVolumeClaim::kType, std::move(key), kube::PatchType::kMerge,
                             json::value(std::move(patch)), kube::Subresource::kStatus);
  if (!patched) co_return std::move(patched).error();
  co_return Status();
}

async::Task<Status> Claims::write_lost(PersistentVolumeClaim claim) {
  observe::log_error("volume of a bound claim is gone",
                     {{"claim", claim.metadata.name}, {"uid", claim.metadata.uid}});
  json::object patch = patch_of(claim);
  patch["status"] = json::object{{"phase", names::kubernetes::kClaimLost}};
  kube::ObjectKey key = kube::key_of(claim);
  auto patched =
      co_await client_.patch(PersistentVolumeClaim::kType, std::move(key), kube::PatchType::kMerge,
                             json::value(std::move(patch)), kube::Subresource::kStatus);
  if (!patched) co_return std::move(patched).error();
  co_return Status();
}

async::Task<Result<ClaimedVolume>> Claims::acquire(kube::ObjectKey key, std::string pod_uid) {
  auto claim = co_await informer_.wait_for(
      key, [](const ClaimPointer& now) { return now != nullptr; }, kAppearTimeMax);
  if (!claim) {
    co_return base::not_found("persistentvolumeclaim \"" + key.name + "\" not found");
  }
  const std::string uid = (*claim)->metadata.uid;
  if ((*claim)->metadata.deletion_timestamp) {
    co_return base::conflict("persistentvolumeclaim \"" + key.name + "\" is being deleted");
  }
  const auto end = timers_.clock().monotonic() + kLetGoTimeMax;
  while (held_by_ending(uid, pod_uid)) {
    const auto left = end - timers_.clock().monotonic();
    if (left.count() <= 0) co_return base::unavailable("volume is still in use by an ending pod");
    if (co_await async::is_cancelled()) co_return base::cancelled("no longer wanted");
    const auto wake = co_await async::wait_or_sleep(changed_, timers_, left);
    if (wake == async::Wake::kCancelled) co_return base::cancelled("no longer wanted");
  }
  // Held first: nothing may remove it between its making and its use.
  adopt(key, pod_uid);
  if (is_bound(**claim) || volumes_.find(uid)) {
    auto path = volumes_.find(uid);
    if (!path) co_return base::not_found("the volume of claim \"" + key.name + "\" is lost");
    co_return ClaimedVolume{uid, *std::move(path)};
  }
  PersistentVolumeClaim copy = **claim;
  AT_CO_TRY(VolumeInfo volume, co_await ensure(std::move(copy)));
  co_return ClaimedVolume{uid, std::move(volume.path)};
}

void Claims::adopt(const kube::ObjectKey& key, const std::string& pod_uid) {
  const ClaimPointer claim = informer_.find(key);
  if (!claim) return;
  const auto [first, last] = holders_.equal_range(pod_uid);
  for (auto holder = first; holder != last; ++holder) {
    if (holder->second.claim_uid == claim->metadata.uid) return;
  }
  holders_.emplace(pod_uid, Holder{claim->metadata.uid, false});
}

void Claims::mark_ending(const std::string& pod_uid) {
  const auto [first, last] = holders_.equal_range(pod_uid);
  for (auto holder = first; holder != last; ++holder) holder->second.ending = true;
}

void Claims::release(const std::string& pod_uid) {
  holders_.erase(pod_uid);
  for (const ClaimPointer& claim : informer_.list()) {
    if (claim->metadata.deletion_timestamp) (void)queue_.add(kube::key_of(*claim));
  }
  changed_.notify_all();
}

bool Claims::held(const std::string& claim_uid) const {
  for (const auto& [pod, holder] : holders_) {
    if (holder.claim_uid == claim_uid) return true;
  }
  return false;
}

bool Claims::held_by_ending(const std::string& claim_uid, const std::string& except_pod) const {
  for (const auto& [pod, holder] : holders_) {
    if (holder.claim_uid == claim_uid && holder.ending && pod != except_pod) return true;
  }
  return false;
}

}  // namespace agenttier::node
