#pragma once
// The class behind plan_sandbox: one object per plan, with the new status in the making.
//
// Private to the sandbox_plan*.cc files; everyone else uses sandbox_plan.h. Each plan_* function
// decides about one phase or one concern and adds actions; nothing here has effects.

#include <string>
#include <string_view>
#include <vector>

#include "api/sandbox_lifecycle.h"
#include "controller/pod_outcome.h"
#include "controller/sandbox_plan.h"

namespace agenttier::controller {

class Planner {
 public:
  Planner(const Observed& observed, const PlanOptions& options, base::WallTime now);
  Plan run();

 private:
  using PodPointer = std::shared_ptr<const api::Pod>;

  // sandbox_plan.cc: requests and phases.
  bool plan_requests();
  void plan_new();
  void plan_stopped();
  void plan_error();
  bool is_curable() const;
  void start(api::Action action);

  // sandbox_plan_create.cc: from nothing to Running.
  void plan_creating();
  bool volume_is_lost() const;
  void ensure_volume(const policy::EffectiveSpec& spec);
  void ensure_policy(const api::NetworkSpec& network);
  void ensure_token();
  void ensure_files(const policy::EffectiveSpec& spec);
  void plan_pod(const policy::EffectiveSpec& spec);
  void plan_started_pod(const api::Pod& pod);
  void create_pod(const policy::EffectiveSpec& spec);
  void become_running(const api::Pod& pod);
  void show_problem(const api::Pod& pod);
  void show_apply_failure();
  void show_resolution();
  void fail_resolution(const base::Error& error);

  // sandbox_plan_run.cc: Running, failures.
  void plan_running();
  void keep_running(const api::Pod& pod);
  void sync_policy();
  void refill_budget();
  bool plan_max_runtime();
  void fail_pod(const PodOutcome& outcome);
  void fail_retryable(const PodOutcome& outcome);
  void fail_terminal(std::string_view reason, std::string message);
  void note_failure(const PodOutcome& outcome);
  bool token_fits(const api::Pod& pod) const;

  // sandbox_plan_idle.cc
  void plan_idle(const api::Pod& pod);
  void ask_activity(const api::Pod& pod, base::WallTime not_before);

  // sandbox_plan_stop.cc: stop and deletion.
  bool stop_is_wanted() const;
  void begin_stop(std::string_view cause);
  void plan_stop();
  bool is_wanted_again(std::string_view cause) const;
  bool can_call_off(std::string_view cause) const;
  void call_off_stop();
  void finish_stop(std::string_view cause);
  void plan_deletion();

  // What is observed.
  bool wants_running() const;
  bool is_ours(const api::ObjectMeta& meta) const;
  std::vector<PodPointer> our_pods() const;  // terminating ones included
  PodPointer find_pod(std::string_view uid) const;
  std::string token() const;

  // What is planned.
  void act(std::size_t stage, Action action);
  void delete_pods(std::size_t stage, std::string_view except_uid = "");
  void enter(api::Action action);
  void clear_pod();
  void show(std::string_view reason, std::string message);  // status and Ready, False
  void set_condition(std::string_view type, std::string_view state, std::string_view reason,
                     std::string message);
  void write_status(std::size_t stage);
  bool status_changed() const;
  void tell(EventType type, std::string_view reason, std::string message);
  void wake(base::WallTime at);
  base::WallTime time_of(const std::optional<std::string>& text, base::WallTime fallback) const;

  const Observed& in_;
  const PlanOptions& options_;
  const api::Sandbox& sandbox_;
  const base::WallTime now_;
  const api::SandboxStatus before_;
  api::SandboxStatus status_;
  api::Phase phase_;
  bool resume_requested_ = false;
  bool drop_annotation_ = false;
  Plan plan_;
};

// Whether status.reason says that a stop has begun.
bool is_stop_reason(std::string_view reason);

}  // namespace agenttier::controller
