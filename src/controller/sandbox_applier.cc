#include "controller/sandbox_applier.h"

#include <utility>

#include "api/meta.h"
#include "async/event.h"
#include "kube/wire.h"

namespace agenttier::controller {
namespace {

namespace json = boost::json;
using base::ErrorCode;

std::string text_at(const json::object& object, std::string_view name) {
  return std::string(kube::metadata_text(object, name));
}

}  // namespace

api::ResourceType type_of(Part part) {
  switch (part) {
    case Part::kPod:
      return api::Pod::kType;
    case Part::kVolume:
      return api::PersistentVolumeClaim::kType;
    case Part::kPolicy:
      return api::NetworkPolicy::kType;
    case Part::kToken:
    case Part::kFiles:
      return api::Secret::kType;
  }
  return api::Pod::kType;
}

struct SandboxApplier::StageRun {
  explicit StageRun(async::Executor executor) : done(std::move(executor)) {}
  async::Event done;
  std::size_t left = 0;
  std::optional<base::Error> error;  // the first
};

async::Task<base::Status> SandboxApplier::apply(std::shared_ptr<PlanRun> run, Stage stage) {
  if (stage.size() == 1) co_return co_await perform(std::move(run), std::move(stage.front()));
  const auto state = std::make_shared<StageRun>(executor_);
  for (Action& action : stage) {
    AT_CO_OK(tasks_.spawn(run_action(state, run, std::move(action))));
    ++state->left;
  }
  while (state->left > 0) {
    if (co_await state->done.wait() == async::Wake::kCancelled) {
      co_return base::cancelled("apply a plan");
    }
  }
  if (state->error) co_return *state->error;
  co_return base::Status();
}

async::Task<void> SandboxApplier::run_action(std::shared_ptr<StageRun> stage,
                                             std::shared_ptr<PlanRun> run, Action action) {
  base::Status status = co_await perform(std::move(run), std::move(action));
  if (!status && !stage->error) stage->error = std::move(status).error();
  if (--stage->left == 0) stage->done.notify_all();
}

async::Task<base::Status> SandboxApplier::perform(std::shared_ptr<PlanRun> run, Action action) {
  if (auto* create_action = std::get_if<Create>(&action)) {
    co_return co_await create(std::move(run), std::move(*create_action));
  }
  if (auto* replace_action = std::get_if<Replace>(&action)) {
    co_return co_await replace(std::move(run), std::move(*replace_action));
  }
  if (auto* delete_action = std::get_if<Delete>(&action)) {
    co_return co_await remove(std::move(run), std::move(*delete_action));
  }
  if (auto* status_action = std::get_if<WriteStatus>(&action)) {
    co_return co_await write_status(std::move(run), std::move(*status_action));
  }
  if (auto* patch_action = std::get_if<PatchSandbox>(&action)) {
    co_return co_await patch_sandbox(std::move(run), std::move(*patch_action));
  }
  co_return base::Status();
}

async::Task<base::Status> SandboxApplier::create(std::shared_ptr<PlanRun> run, Create action) {
  const Part part = action.part;
  const std::string name = text_at(action.object, "name");
  auto created = co_await client_.create(type_of(part), std::move(action.object));
  if (created) {
    run->written[part] = text_at(*created, "resourceVersion");
    co_return base::Status();
  }
  base::Error error = std::move(created).error();
  if (error.code == ErrorCode::kExists) co_return co_await settle_existing(run, part, name);
  error = std::move(error).context("create " + std::string(type_of(part).kind) + " " + name);
  run->failure = ApplyFailure{.part = part, .error = error};
  co_return error;
}

// The name is taken: by ourselves, which a cache did not show yet, or by somebody else.
async::Task<base::Status> SandboxApplier::settle_existing(std::shared_ptr<PlanRun> run, Part part,
                                                          std::string name) {
  const std::string kind(type_of(part).kind);
  const kube::ObjectKey key{run->sandbox->metadata.ns, name};
  AT_CO_TRY(json::object found, co_await client_.get(type_of(part), key));
  const json::value value(std::move(found));
  const json::value* metadata = value.as_object().if_contains("metadata");
  AT_CO_TRY(api::ObjectMeta meta, api::ObjectMeta::from_json(metadata ? *metadata : json::value()));
  if (api::is_owned_by(meta, run->sandbox->metadata.uid)) {
    run->written[part] = meta.resource_version;
    co_return base::conflict(kind + " " + name + " was made already; looking again");
  }
  base::Error taken = base::exists(
      kind + " " + name + " exists and belongs to something else; waiting until it is gone");
  run->failure = ApplyFailure{.part = part, .error = taken};
  co_return taken;
}

async::Task<base::Status> SandboxApplier::replace(std::shared_ptr<PlanRun> run, Replace action) {
  const Part part = action.part;
  const std::string name = text_at(action.object, "name");
  auto updated = co_await client_.update(type_of(part), std::move(action.object));
  if (updated) {
    run->written[part] = text_at(*updated, "resourceVersion");
    co_return base::Status();
  }
  base::Error error =
      std::move(updated).error().context("update " + std::string(type_of(part).kind) + " " + name);
  if (error.code != ErrorCode::kConflict && error.code != ErrorCode::kNotFound) {
    run->failure = ApplyFailure{.part = part, .error = error};
  }
  co_return error;
}

async::Task<base::Status> SandboxApplier::remove(std::shared_ptr<PlanRun> run, Delete action) {
  const kube::ObjectKey key{run->sandbox->metadata.ns, action.name};
  kube::DeleteOptions options;
  options.uid = action.uid;
  base::Status removed = co_await client_.remove(type_of(action.part), key, std::move(options));
  if (removed) co_return removed;
  base::Error error = std::move(removed).error();
  // Gone, or another object of the name, which is none of our business.
  if (error.code == ErrorCode::kNotFound || error.code == ErrorCode::kConflict) {
    co_return base::Status();
  }
  co_return std::move(error).context("delete " + std::string(type_of(action.part).kind) + " " +
                                     action.name);
}

async::Task<base::Status> SandboxApplier::write_status(std::shared_ptr<PlanRun> run,
                                                       WriteStatus action) {
  const api::SandboxStatus before = run->sandbox->status.value_or(api::SandboxStatus{});
  json::object difference = merge_difference(before.to_json(), action.status.to_json());
  if (difference.empty()) co_return base::Status();
  json::object patch;
  patch["status"] = std::move(difference);
  co_return co_await patch_guarded(std::move(run), std::move(patch), kube::Subresource::kStatus);
}

async::Task<base::Status> SandboxApplier::patch_sandbox(std::shared_ptr<PlanRun> run,
                                                        PatchSandbox action) {
  co_return co_await patch_guarded(std::move(run), std::move(action.patch),
                                   kube::Subresource::kNone);
}

async::Task<base::Status> SandboxApplier::patch_guarded(std::shared_ptr<PlanRun> run,
                                                        json::object patch,
                                                        kube::Subresource subresource) {
  json::value& metadata = patch["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  // Also keeps a newer sandbox of the same name from being taken for this one.
  metadata.as_object()["resourceVersion"] = run->sandbox_version;
  const kube::ObjectKey key{run->sandbox->metadata.ns, run->sandbox->metadata.name};
  json::value body(std::move(patch));
  auto patched = co_await client_.patch(api::Sandbox::kType, key, kube::PatchType::kMerge,
                                        std::move(body), subresource);
  if (!patched) {
    if (patched.error().code == ErrorCode::kNotFound) co_return base::Status();
    co_return std::move(patched).error().context("write Sandbox " + key.text());
  }
  run->sandbox_version = text_at(*patched, "resourceVersion");
  run->sandbox_written = true;
  co_return base::Status();
}

json::object merge_difference(const json::object& before, const json::object& after) {
  json::object patch;
  for (const auto& [key, value] : after) {
    const json::value* old = before.if_contains(key);
    if (old != nullptr && *old == value) continue;
    if (old != nullptr && old->is_object() && value.is_object()) {
      patch[key] = merge_difference(old->as_object(), value.as_object());
    } else {
      patch[key] = value;
    }
  }
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

}  // namespace agenttier::controller
