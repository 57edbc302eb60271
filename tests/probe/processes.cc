// Other sandboxes' processes, and what processes share.

#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

// A process whose command line has the word given.
Outcome see_process(Arguments arguments) {
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return refused(errno_name(errno));
  Outcome outcome = refused("not among those seen");
  while (const dirent* entry = readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 0 || pid == getpid()) continue;
    // This program's own command line and its shell's have the word too.
    const std::string words = read_text("/proc/" + std::to_string(pid) + "/cmdline");
    if (words.find(arguments[0]) == std::string::npos) continue;
    if (words.find("see_process") == std::string::npos) outcome = done();
  }
  closedir(folder);
  return outcome;
}

// The process that has this number on the host.
Outcome signal_process(Arguments arguments) {
  return outcome_of(kill(std::atoi(arguments[0].c_str()), 0));
}

sockaddr_un abstract_address(const std::string& name, socklen_t& size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Outcome join_abstract_socket(Arguments arguments) {
  socklen_t size = 0;
  const sockaddr_un address = abstract_address(arguments[0], size);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return outcome_of(connect(fd, reinterpret_cast<const sockaddr*>(&address), size));
}

Outcome join_shared_memory(Arguments arguments) {
  return outcome_of(shmget(std::atoi(arguments[0].c_str()), 0, 0));
}

Outcome join_message_queue(Arguments arguments) {
  return outcome_of(mq_open(("/" + arguments[0]).c_str(), O_RDWR));
}

// Holds what the three above look for: the name for the socket and the queue, the key.
Outcome offer_shared(Arguments arguments) {
  socklen_t size = 0;
  const sockaddr_un address = abstract_address(arguments[0], size);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) < 0 || listen(fd, 8) < 0) {
    return refused("socket: " + errno_name(errno));
  }
  const int memory = shmget(std::atoi(arguments[1].c_str()), 4096, IPC_CREAT | 0666);
  if (memory < 0) return refused("shared memory: " + errno_name(errno));
  const mqd_t queue = mq_open(("/" + arguments[0]).c_str(), O_CREAT | O_RDWR, 0666, nullptr);
  if (queue < 0) return refused("queue: " + errno_name(errno));
  write(STDOUT_FILENO, "offered\n", 8);
  // Ends with its standard input.
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  shmctl(memory, IPC_RMID, nullptr);
  mq_unlink(("/" + arguments[0]).c_str());
  return done();
}

}  // namespace

std::vector<Entry> process_entries() {
  return {{"see_process", see_process},
          {"signal_process", signal_process},
          {"join_abstract_socket", join_abstract_socket},
          {"join_shared_memory", join_shared_memory},
          {"join_message_queue", join_message_queue},
          {"offer_shared", offer_shared}};
}

}  // namespace probe
