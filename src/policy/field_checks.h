#pragma once
// The checks that decisions are made of: each looks at one part of a specification and notes what
// is wrong with it. Used by decision.cc alone; callers outside use decision.h.
//
// Example:
//   Findings findings;
//   check_storage(*spec.storage, "spec.storage", rules, findings);
//   return findings.status();

#include <string>
#include <string_view>
#include <vector>

#include "api/sandbox.h"
#include "api/template.h"
#include "base/result.h"
#include "policy/decision.h"

namespace agenttier::policy {

// Collects causes; more than kCausesMax are counted, not kept.
class Findings {
 public:
  static constexpr std::size_t kCausesMax = 50;

  void add(std::string field, std::string message);
  // Notes the status's message if it is an error.
  void add(std::string field, const base::Status& status);
  // kInvalid whose message is the first cause and the number of others.
  base::Status status() const;

 private:
  std::vector<base::FieldCause> causes_;
  std::size_t dropped_ = 0;
};

enum class ZeroDuration : std::uint8_t { kRefused, kMeansNone };

void check_duration(const std::optional<std::string>& text, std::string field, ZeroDuration zero,
                    const SandboxRules& rules, Findings& findings);
void check_image(const api::ImageSpec& image, const std::string& path, Findings& findings);
void check_storage(const api::StorageSpec& storage, const std::string& path,
                   const SandboxRules& rules, Findings& findings);
void check_resources(const api::ResourceRequirements& resources, const std::string& path,
                     Findings& findings);
void check_env(const std::vector<api::EnvVar>& env, const std::string& path,
               const SandboxRules& rules, Findings& findings);
void check_credentials(const std::vector<api::CredentialRef>& credentials, const std::string& path,
                       const SandboxRules& rules, Findings& findings);
void check_network(const api::NetworkSpec& network, const std::string& path,
                   const SandboxRules& rules, Findings& findings);
void check_files(const std::vector<api::FileSpec>& files,
                 const std::vector<std::string>& init_scripts, const std::string& path,
                 const SandboxRules& rules, Findings& findings);
// Sidecars and init containers: own processes in the pod, which must not leave it.
void check_containers(const std::vector<api::Container>& containers, const std::string& path,
                      const SandboxRules& rules, Findings& findings);

}  // namespace agenttier::policy
