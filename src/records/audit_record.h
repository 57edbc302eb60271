#pragma once
// An AuditRecord says who did what to which object, when, and how it ended; an AuditQuery asks for
// some of them, newest first, in pages. A page's token stays good while records are added: pages
// have no gaps and no repeats.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace agenttier::records {

enum class Outcome : std::uint8_t { kDone, kDenied, kFailed };

std::string_view outcome_name(Outcome outcome);  // "done", "denied", "failed"

struct AuditRecord {
  std::int64_t id = 0;  // given by the log; grows with time
  base::WallTime time{};
  std::string actor;     // the caller's sub
  std::string action;    // "sandbox.create"
  std::string resource;  // "sandboxes/demo"
  std::string sandbox;   // name; empty if none is concerned
  std::string sandbox_uid;
  Outcome outcome = Outcome::kDone;
  std::string request_id;
  std::string details;  // JSON text, or empty; never a secret
  bool operator==(const AuditRecord&) const = default;
};

// Each condition that is set must hold.
struct AuditQuery {
  std::string actor;
  std::string action;
  std::string sandbox;
  std::string sandbox_uid;
  std::optional<base::WallTime> not_before;
  std::optional<base::WallTime> before;
  std::int64_t page_token = 0;  // of the page before; 0: the newest records
  std::uint32_t limit = 100;    // at most kAuditPageMax
};

inline constexpr std::uint32_t kAuditPageMax = 1000;

struct AuditPage {
  std::vector<AuditRecord> records;  // newest first
  std::int64_t next_page_token = 0;  // 0 on the last page
};

}  // namespace agenttier::records
