#pragma once
// The probe: a static program that a test puts into a sandbox, where it tries what must not work.
//
// `probe NAME [ARGUMENT...]` tries one thing and prints one line of JSON:
//   {"name":"mount_tmpfs","outcome":"refused","why":"EPERM"}
// "done" means that the attempt worked, "refused" that it did not, and `why` says by what. Run on
// the host as root the same attempts work, which is how a test knows that they try the right thing.
//
// Never: a library beyond the C library's; a thing that would harm a host on which it worked
// (calls that would are made with arguments that no kernel accepts, see attempts()).

#include <cerrno>
#include <span>
#include <string>
#include <vector>

namespace probe {

struct Outcome {
  enum class Kind { kDone, kRefused } kind = Kind::kRefused;
  std::string why;
};

using Arguments = std::span<const std::string>;

struct Entry {
  const char* name;
  Outcome (*run)(Arguments);
};

// "EPERM" for 1.
std::string errno_name(int number);

// What a call that gives -1 for a failure came to.
Outcome outcome_of(long result);
Outcome done(std::string why = "");
Outcome refused(std::string why);

// Runs a part in a child, for what cannot be undone; the child's death is a refusal.
Outcome in_child(Outcome (*run)(Arguments), Arguments arguments);

std::string read_text(const std::string& path, std::size_t bytes_max = 1U << 20U);
// Opens for the flags given; what the kernel says.
Outcome try_open(const std::string& path, int flags);

std::vector<Entry> file_system_entries();
std::vector<Entry> privilege_entries();
std::vector<Entry> system_call_entries();
std::vector<Entry> process_entries();
std::vector<Entry> network_entries();
std::vector<Entry> exhaustion_entries();

}  // namespace probe
