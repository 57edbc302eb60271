// usage: probe NAME [ARGUMENT...] | probe --list

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "probe.h"

namespace probe {

std::string errno_name(int number) {
  const char* name = strerrorname_np(number);
  return name == nullptr ? std::to_string(number) : name;
}

Outcome done(std::string why) {
  return {Outcome::Kind::kDone, std::move(why)};
}

Outcome refused(std::string why) {
  return {Outcome::Kind::kRefused, std::move(why)};
}

Outcome outcome_of(long result) {
  return result >= 0 ? done() : refused(errno_name(errno));
}

Outcome in_child(Outcome (*run)(Arguments), Arguments arguments) {
  struct Shared {
    bool finished;
    Outcome::Kind kind;
    char why[200];
  };
  void* const page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return refused("mmap: " + errno_name(errno));
  auto* const shared = new (page) Shared{};
  const pid_t child = fork();
  if (child < 0) return refused("fork: " + errno_name(errno));
  if (child == 0) {
    const Outcome outcome = run(arguments);
    shared->kind = outcome.kind;
    std::strncpy(shared->why, outcome.why.c_str(), sizeof shared->why - 1);
    shared->finished = true;
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (shared->finished) return {shared->kind, shared->why};
  return refused(WIFSIGNALED(status)
                     ? std::string("killed by signal ") + strsignal(WTERMSIG(status))
                     : "the child ended early");
}

std::string read_text(const std::string& path, std::size_t bytes_max) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return text;
  char buffer[4096];
  while (text.size() < bytes_max) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(fd);
  return text;
}

Outcome try_open(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return refused(errno_name(errno));
  close(fd);
  return done();
}

namespace {

std::vector<Entry> all_entries() {
  std::vector<Entry> all;
  for (auto* entries : {file_system_entries, privilege_entries, system_call_entries,
                        process_entries, network_entries, exhaustion_entries}) {
    const std::vector<Entry> more = entries();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

int run(const Entry& entry, Arguments arguments) {
  const Outcome outcome = entry.run(arguments);
  std::string why;
  for (const char c : outcome.why) why += c == '"' || c == '\\' || c < ' ' ? '\'' : c;
  std::printf("{\"name\":\"%s\",\"outcome\":\"%s\",\"why\":\"%s\"}\n", entry.name,
              outcome.kind == Outcome::Kind::kDone ? "done" : "refused", why.c_str());
  return 0;
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string name = words.empty() ? "--list" : words[0];
  for (const probe::Entry& entry : probe::all_entries()) {
    if (name == "--list") std::printf("%s\n", entry.name);
    if (name == entry.name) return probe::run(entry, probe::Arguments(words).subspan(1));
  }
  if (name == "--list") return 0;
  std::fprintf(stderr, "probe: there is none named %s\n", name.c_str());
  return 2;
}
