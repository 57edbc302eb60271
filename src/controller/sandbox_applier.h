#pragma once
// Carries out the actions of a plan: each idempotent, each guarded.
//
// A creation that finds the object there succeeds only if that object belongs to the sandbox, by
// UID; an object of another owner is left alone and reported. Replacements and patches carry the
// resourceVersion that the plan was made from, deletions the UID: what changed meanwhile is
// kConflict, and the caller plans anew. The status is written as a merge patch of what differs.
//
// The actions of a stage run at the same time; a failure of one does not stop the others, and the
// first is reported. `written` afterwards holds the version of each write, for waiting until the
// caches show it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/sandbox.h"
#include "async/task_group.h"
#include "base/result.h"
#include "controller/sandbox_plan.h"
#include "kube/client.h"

namespace agenttier::controller {

api::ResourceType type_of(Part part);

// One plan being carried out.
struct PlanRun {
  explicit PlanRun(std::shared_ptr<const api::Sandbox> sandbox_in)
      : sandbox(std::move(sandbox_in)), sandbox_version(sandbox->metadata.resource_version) {}

  std::shared_ptr<const api::Sandbox> sandbox;
  std::string sandbox_version;  // grows with each write of this plan
  bool sandbox_written = false;
  std::map<Part, std::string> written;  // version of the last write
  std::optional<ApplyFailure> failure;  // of a creation or replacement
};

class SandboxApplier {
 public:
  // All outlive the applier; `tasks` runs the actions.
  SandboxApplier(kube::Client& client, async::Executor executor, async::TaskGroup& tasks)
      : client_(client), executor_(std::move(executor)), tasks_(tasks) {}

  // AskHealth and AskActivity are not for it and are passed over.
  async::Task<base::Status> apply(std::shared_ptr<PlanRun> run, Stage stage);

 private:
  struct StageRun;

  async::Task<void> run_action(std::shared_ptr<StageRun> stage, std::shared_ptr<PlanRun> run,
                               Action action);
  async::Task<base::Status> perform(std::shared_ptr<PlanRun> run, Action action);
  async::Task<base::Status> create(std::shared_ptr<PlanRun> run, Create action);
  async::Task<base::Status> settle_existing(std::shared_ptr<PlanRun> run, Part part,
                                            std::string name);
  async::Task<base::Status> replace(std::shared_ptr<PlanRun> run, Replace action);
  async::Task<base::Status> remove(std::shared_ptr<PlanRun> run, Delete action);
  async::Task<base::Status> write_status(std::shared_ptr<PlanRun> run, WriteStatus action);
  async::Task<base::Status> patch_sandbox(std::shared_ptr<PlanRun> run, PatchSandbox action);
  async::Task<base::Status> patch_guarded(std::shared_ptr<PlanRun> run, boost::json::object patch,
                                          kube::Subresource subresource);

  kube::Client& client_;
  async::Executor executor_;
  async::TaskGroup& tasks_;
};

// The merge patch that makes `after` of `before`.
boost::json::object merge_difference(const boost::json::object& before,
                                     const boost::json::object& after);

}  // namespace agenttier::controller
