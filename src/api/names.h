#pragma once
// Every name that is written down in objects: labels, annotations, the finalizer, names of the
// objects that belong to a sandbox, condition types and reasons, event reasons.
//
// Nothing else in the tree spells one of these. Names derived from a sandbox's name always fit the
// limit of their kind: what would be too long is cut and given a hash of the whole, so two long
// names never meet.
//
// Example:
//   pod.metadata.name = names::pod_of(sandbox.metadata.name);
//   pod.metadata.labels[std::string(names::kSandboxLabel)] = sandbox.metadata.name;

#include <cstdint>
#include <string>
#include <string_view>

namespace agenttier::api::names {

inline constexpr std::string_view kGroup = "agenttier.io";
inline constexpr std::string_view kVersion = "v1alpha1";
inline constexpr std::string_view kApiVersion = "agenttier.io/v1alpha1";

// Namespaces unless the installation says otherwise.
inline constexpr std::string_view kInstallNamespace = "agenttier";
inline constexpr std::string_view kSandboxNamespace = "default";

// The finalizer of a sandbox.
inline constexpr std::string_view kSandboxFinalizer = "agenttier.io/sandbox-cleanup";

// Labels.
inline constexpr std::string_view kSandboxLabel = "agenttier.io/sandbox";    // the sandbox's name
inline constexpr std::string_view kManagedLabel = "agenttier.io/managed";    // "true"
inline constexpr std::string_view kTemplateLabel = "agenttier.io/template";  // resolved template
inline constexpr std::string_view kPooledLabel = "agenttier.io/pooled";  // "true" while unclaimed
inline constexpr std::string_view kPoolTemplateLabel = "agenttier.io/pool-template";
inline constexpr std::string_view kClonedFromSnapshotLabel = "agenttier.io/cloned-from-snapshot";
inline constexpr std::string_view kClonedFromLabel = "agenttier.io/cloned-from";
inline constexpr std::string_view kRestoredFromLabel = "agenttier.io/restored-from";
inline constexpr std::string_view kSourceSandboxLabel = "agenttier.io/source-sandbox";
inline constexpr std::string_view kCloneTargetLabel = "agenttier.io/clone-target";
inline constexpr std::string_view kSnapshotKindLabel = "agenttier.io/snapshot-kind";
inline constexpr std::string_view kSourcePvcLabel = "agenttier.io/source-pvc";
inline constexpr std::string_view kSecretPurposeLabel = "agenttier.io/secret-purpose";
inline constexpr std::string_view kApiKeyUserLabel = "agenttier.io/api-key-user";
inline constexpr std::string_view kWebhookOwnerLabel = "agenttier.io/webhook-owner";
inline constexpr std::string_view kPortForwardLabel = "agenttier.io/port-forward";  // "true"
inline constexpr std::string_view kPortLabel = "agenttier.io/port";
inline constexpr std::string_view kObjectKindLabel = "agenttier.io/kind";
inline constexpr std::string_view kNodeRuntimeLabel = "agenttier.io/runtime";  // on nodes: "gvisor"
inline constexpr std::string_view kNamespaceNameLabel = "kubernetes.io/metadata.name";
inline constexpr std::string_view kComponentLabel = "app.kubernetes.io/component";
inline constexpr std::string_view kTrue = "true";

// Values of kSecretPurposeLabel.
inline constexpr std::string_view kPurposeRuntimeToken = "runtime-token";
inline constexpr std::string_view kPurposeScopedApiKey = "scoped-api-key";
inline constexpr std::string_view kPurposeApiKey = "api-key";
inline constexpr std::string_view kPurposeWebhook = "webhook-subscription";

// Annotations.
inline constexpr std::string_view kActionAnnotation = "agenttier.io/action";  // on a sandbox
inline constexpr std::string_view kActionStop = "stop";
// Starts a sandbox that stopped or failed although its spec wants it to run.
inline constexpr std::string_view kActionResume = "resume";
inline constexpr std::string_view kActionStart = "start";  // the same as resume
// Before the name of a volume claim, in spec.cloneFromSnapshot: the disk is copied from that claim.
inline constexpr std::string_view kCloneFromClaimPrefix = "PersistentVolumeClaim/";
inline constexpr std::string_view kCreatedByAnnotation = "agenttier.io/created-by";  // on a pod
// On a pod whose sandbox container the node agent starts with the runtime as pid 1.
inline constexpr std::string_view kRuntimeAnnotation = "agenttier.io/runtime";
// Hash of the specification an object was made from (spec_hash.h).
inline constexpr std::string_view kSpecHashAnnotation = "agenttier.io/spec-hash";

// The sandbox's container, volumes and files.
inline constexpr std::string_view kSandboxContainer = "sandbox";
inline constexpr std::string_view kWorkspaceVolume = "workspace";
inline constexpr std::string_view kTmpVolume = "tmp";
inline constexpr std::string_view kWorkspacePath = "/workspace";
inline constexpr std::string_view kRuntimePath = "/.agenttier/runtime";
inline constexpr std::uint16_t kRuntimePort = 9000;

// Environment of the sandbox.
inline constexpr std::string_view kRuntimeTokenHashEnv = "AGENTTIER_RUNTIME_TOKEN_SHA256";
inline constexpr std::string_view kRuntimeListenEnv = "AGENTTIER_RUNTIME_LISTEN";
inline constexpr std::string_view kWorkspaceEnv = "AGENTTIER_WORKSPACE";
inline constexpr std::string_view kSandboxNameEnv = "AGENTTIER_SANDBOX_NAME";
inline constexpr std::string_view kSandboxNamespaceEnv = "AGENTTIER_SANDBOX_NAMESPACE";
inline constexpr std::string_view kSandboxApiKeyEnv = "AGENTTIER_SANDBOX_API_KEY";

// Keys of Secrets and ConfigMaps.
inline constexpr std::string_view kTokenKey = "token";
inline constexpr std::string_view kScopedKeyKey = "key";
inline constexpr std::string_view kApiKeyHashKey = "keyHash";
inline constexpr std::string_view kApiKeyRecordKey = "record";

// Well-known objects of the install namespace.
inline constexpr std::string_view kWarmPoolConfigMap = "agenttier-warmpool-config";
inline constexpr std::string_view kGovernanceConfigMap = "agenttier-governance";
inline constexpr std::string_view kWebhookCursorConfigMap = "agenttier-webhook-cursor";
inline constexpr std::string_view kControllerLease = "agenttier-controller-leader";

// Objects that belong to a sandbox; each carries an owner reference to it.
std::string pod_of(std::string_view sandbox);                // <sandbox>-pod
std::string claim_of(std::string_view sandbox);              // <sandbox>-workspace
std::string network_policy_of(std::string_view sandbox);     // <sandbox>-netpol
std::string token_secret_of(std::string_view sandbox);       // <sandbox>-runtime-token
std::string files_secret_of(std::string_view sandbox);       // <sandbox>-sandbox-files
std::string scoped_key_secret_of(std::string_view sandbox);  // <sandbox>-scoped-key
std::string install_log_of(std::string_view sandbox);        // <sandbox>-install-log
std::string port_service_of(std::string_view sandbox, std::uint16_t port);  // pf-<sandbox>-<port>
// agenttier-apikey-<first 40 hex digits>
std::string api_key_secret_of(std::string_view key_sha256_hex);

// `wanted` if it is at most `size_max` long; else its front, '-' and ten hex digits of a hash of
// the whole, together size_max long.
std::string bounded_name(std::string_view wanted, std::size_t size_max);
// Text made fit to be the value of a label: other characters become '-', cut to 63.
std::string label_value_of(std::string_view text);

// Condition types of a sandbox.
namespace conditions {
inline constexpr std::string_view kReady = "Ready";                        // exec works
inline constexpr std::string_view kTemplateResolved = "TemplateResolved";  // chain found and merged
inline constexpr std::string_view kStorageReady = "StorageReady";          // the volume is there
inline constexpr std::string_view kNetworkReady = "NetworkReady";          // the policy is in force
inline constexpr std::string_view kPodReady = "PodReady";                  // its containers run
inline constexpr std::string_view kPodScheduled = "PodScheduled";          // of a pod
inline constexpr std::string_view kPodReadyCondition = "Ready";            // of a pod

inline constexpr std::string_view kTrueStatus = "True";
inline constexpr std::string_view kFalseStatus = "False";
inline constexpr std::string_view kUnknownStatus = "Unknown";
}  // namespace conditions

// Reasons: of conditions, and of status.reason.
namespace reasons {
inline constexpr std::string_view kAsExpected = "AsExpected";
inline constexpr std::string_view kPending = "Pending";
inline constexpr std::string_view kTemplateNotFound = "TemplateNotFound";
inline constexpr std::string_view kTemplateInvalid = "TemplateInvalid";
inline constexpr std::string_view kTemplateCycle = "TemplateCycle";
inline constexpr std::string_view kSpecInvalid = "SpecInvalid";
inline constexpr std::string_view kPolicyViolation = "PolicyViolation";
inline constexpr std::string_view kTokenLost = "TokenLost";
inline constexpr std::string_view kSecretFailed = "SecretFailed";
inline constexpr std::string_view kVolumeFailed = "VolumeFailed";
inline constexpr std::string_view kVolumeLost = "VolumeLost";
inline constexpr std::string_view kNetworkPolicyFailed = "NetworkPolicyFailed";
inline constexpr std::string_view kPodCreateFailed = "PodCreateFailed";
inline constexpr std::string_view kPodFailed = "PodFailed";
inline constexpr std::string_view kPodVanished = "PodVanished";
inline constexpr std::string_view kImagePullFailed = "ImagePullFailed";
inline constexpr std::string_view kUnschedulable = "Unschedulable";
inline constexpr std::string_view kStartTimeout = "StartTimeout";
inline constexpr std::string_view kRuntimeUnreachable = "RuntimeUnreachable";
inline constexpr std::string_view kRetryLimit = "RetryLimit";
inline constexpr std::string_view kRetrying = "Retrying";
inline constexpr std::string_view kApplicationFailed = "ApplicationFailed";
inline constexpr std::string_view kUserStopped = "UserStopped";
inline constexpr std::string_view kIdleTimeout = "IdleTimeout";
inline constexpr std::string_view kMaxRuntime = "MaxRuntime";
inline constexpr std::string_view kCompleted = "Completed";
inline constexpr std::string_view kResuming = "Resuming";
inline constexpr std::string_view kDeleting = "Deleting";
}  // namespace reasons

// Reasons of Events on a sandbox.
namespace events {
inline constexpr std::string_view kCreating = "Creating";
inline constexpr std::string_view kRunning = "Running";
inline constexpr std::string_view kStopped = "Stopped";
inline constexpr std::string_view kError = "Error";
inline constexpr std::string_view kDeleted = "Deleted";
inline constexpr std::string_view kIdleTimeout = "IdleTimeout";
inline constexpr std::string_view kMaxRuntimeReached = "MaxRuntimeReached";
inline constexpr std::string_view kRestartCountReset = "RestartCountReset";
inline constexpr std::string_view kAutoRestarted = "AutoRestarted";
inline constexpr std::string_view kRestarting = "Restarting";
inline constexpr std::string_view kApplicationError = "ApplicationError";
inline constexpr std::string_view kSnapshotted = "Snapshotted";
inline constexpr std::string_view kSnapshotFailed = "SnapshotFailed";
inline constexpr std::string_view kResumed = "Resumed";
inline constexpr std::string_view kBackupCreated = "BackupCreated";
inline constexpr std::string_view kBackupPruned = "BackupPruned";
inline constexpr std::string_view kShareGranted = "ShareGranted";
inline constexpr std::string_view kShareRevoked = "ShareRevoked";
inline constexpr std::string_view kAgentConfigured = "AgentConfigured";
inline constexpr std::string_view kConfigureDenied = "ConfigureDenied";
inline constexpr std::string_view kAgentInvokeStarted = "AgentInvokeStarted";
inline constexpr std::string_view kAgentInvokeCompleted = "AgentInvokeCompleted";
inline constexpr std::string_view kAgentInvokeFailed = "AgentInvokeFailed";

inline constexpr std::string_view kNormal = "Normal";
inline constexpr std::string_view kWarning = "Warning";

// Source components.
inline constexpr std::string_view kFromController = "agenttier-controller";
inline constexpr std::string_view kFromRouter = "agenttier-router";
inline constexpr std::string_view kFromNode = "agenttier-node";
}  // namespace events

// Phases of pods and volume claims, and reasons of containers, as Kubernetes spells them.
namespace kubernetes {
inline constexpr std::string_view kPodPending = "Pending";
inline constexpr std::string_view kPodRunning = "Running";
inline constexpr std::string_view kPodSucceeded = "Succeeded";
inline constexpr std::string_view kPodFailed = "Failed";
inline constexpr std::string_view kClaimPending = "Pending";
inline constexpr std::string_view kClaimBound = "Bound";
inline constexpr std::string_view kClaimLost = "Lost";
inline constexpr std::string_view kOomKilled = "OOMKilled";
inline constexpr std::string_view kEvicted = "Evicted";
inline constexpr std::string_view kNodeLost = "NodeLost";
inline constexpr std::string_view kErrorReason = "Error";
inline constexpr std::string_view kCompletedReason = "Completed";
inline constexpr std::string_view kErrImagePull = "ErrImagePull";
inline constexpr std::string_view kImagePullBackOff = "ImagePullBackOff";
inline constexpr std::string_view kInvalidImageName = "InvalidImageName";
inline constexpr std::string_view kContainerCreating = "ContainerCreating";
inline constexpr std::string_view kCreateContainerError = "CreateContainerError";
inline constexpr std::string_view kCreateContainerConfigError = "CreateContainerConfigError";
}  // namespace kubernetes

}  // namespace agenttier::api::names
