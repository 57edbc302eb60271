// Takes all it can get of one thing, says how much that was, and holds it until it is killed.

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

constexpr long kMany = 10'000'000;

// Says what was taken, then keeps it.
[[noreturn]] void hold(const char* name, long count, int number) {
  std::printf("{\"name\":\"%s\",\"held\":%ld,\"why\":\"%s\"}\n", name, count,
              errno_name(number).c_str());
  std::fflush(stdout);
  while (true) pause();
}

Outcome hold_processes(Arguments) {
  long count = 0;
  for (; count < kMany; ++count) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      while (true) pause();
    }
  }
  hold("hold_processes", count, errno);
}

void* wait_for_ever(void*) {
  while (true) pause();
}

Outcome hold_threads(Arguments) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  long count = 0;
  int failure = 0;
  for (; count < kMany; ++count) {
    pthread_t thread;
    failure = pthread_create(&thread, &attributes, wait_for_ever, nullptr);
    if (failure != 0) break;
  }
  hold("hold_threads", count, failure);
}

// Never ends, and never holds still: what it forks forks on.
Outcome fork_bomb(Arguments) {
  std::signal(SIGCHLD, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  std::printf("{\"name\":\"fork_bomb\",\"held\":0,\"why\":\"\"}\n");
  std::fflush(stdout);
  while (true) {
    if (fork() < 0) sched_yield();
  }
}

Outcome hold_memory(Arguments) {
  constexpr std::size_t kStep = 4UL << 20;
  long count = 0;
  for (; count < kMany; ++count) {
    void* const block =
        mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    std::memset(block, 1, kStep);
  }
  hold("hold_memory", count, errno);
}

// Memory that belongs to no program: files in memory, which no kill gives back.
Outcome hold_memory_files(Arguments) {
  static char block[1U << 20];
  std::memset(block, 1, sizeof block);
  long count = 0;
  int failure = 0;
  for (const char* path : {"/dev/shm/probe", "/tmp/probe"}) {
    const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (count < kMany && write(fd, block, sizeof block) > 0) ++count;
    failure = errno;
  }
  hold("hold_memory_files", count, failure);
}

// fill FILE: as one large file.
Outcome hold_disk(Arguments arguments) {
  static char block[1U << 20];
  std::memset(block, 1, sizeof block);
  const int fd = open(arguments[0].c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  long count = 0;
  ssize_t written = 0;
  while (count < kMany) {
    written = write(fd, block, sizeof block);
    if (written <= 0) break;
    ++count;
  }
  hold("hold_disk", count, errno);
}

// fill FOLDER: as very many empty files.
Outcome hold_inodes(Arguments arguments) {
  mkdir(arguments[0].c_str(), 0700);
  long count = 0;
  for (; count < kMany; ++count) {
    const std::string path = arguments[0] + "/" + std::to_string(count);
    const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) break;
    close(fd);
  }
  hold("hold_inodes", count, errno);
}

// In this process and in as many others.
Outcome hold_descriptors(Arguments arguments) {
  const int processes = std::atoi(arguments[0].c_str());
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
    while (true) pause();
  }
  long count = 0;
  while (count < kMany && open("/dev/null", O_RDONLY) >= 0) ++count;
  hold("hold_descriptors", count, errno);
}

Outcome hold_watches(Arguments) {
  long count = 0;
  while (count < kMany && inotify_init1(IN_CLOEXEC) >= 0) ++count;
  hold("hold_watches", count, errno);
}

// One watcher, as an editor or a build tool needs it.
Outcome make_watch(Arguments) {
  return outcome_of(inotify_init1(IN_CLOEXEC));
}

Outcome hold_pipes(Arguments) {
  static char block[1U << 20];
  long count = 0;
  for (; count < kMany; ++count) {
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) break;
    (void)fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    while (write(ends[1], block, sizeof block) > 0) {
    }
  }
  hold("hold_pipes", count, errno);
}

// How much one new pipe takes before its writer waits.
Outcome make_pipe(Arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return refused(errno_name(errno));
  const int bytes = fcntl(ends[1], F_GETPIPE_SZ);
  return bytes >= 65536 ? done(std::to_string(bytes)) : refused(std::to_string(bytes) + " bytes");
}

Outcome hold_signals(Arguments) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  long count = 0;
  while (count < kMany && sigqueue(getpid(), SIGRTMIN, {}) == 0) ++count;
  hold("hold_signals", count, errno);
}

Outcome queue_signal(Arguments) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  return outcome_of(sigqueue(getpid(), SIGRTMIN, {}));
}

// Connections to the runtime of its own sandbox, each with half a request.
Outcome hold_connections(Arguments) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9000);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  long count = 0;
  for (; count < 4000; ++count) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) break;
    if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) < 0) break;
    (void)send(fd, "GET /v1/health HTTP/1.1\r\n", 25, MSG_NOSIGNAL);
  }
  hold("hold_connections", count, errno);
}

// Every processor, and more.
Outcome hold_processors(Arguments) {
  for (int i = 0; i < 64; ++i) {
    if (fork() != 0) continue;
    while (true) {
      asm volatile("");
    }
  }
  hold("hold_processors", 64, 0);
}

Outcome flood_output(Arguments) {
  static char block[65536];
  for (std::size_t i = 0; i < sizeof block; ++i) block[i] = i % 80 == 79 ? '\n' : 'x';
  while (write(STDOUT_FILENO, block, sizeof block) > 0) {
  }
  return refused(errno_name(errno));
}

}  // namespace

std::vector<Entry> exhaustion_entries() {
  return {{"hold_processes", hold_processes},
          {"hold_threads", hold_threads},
          {"fork_bomb", fork_bomb},
          {"hold_memory", hold_memory},
          {"hold_memory_files", hold_memory_files},
          {"hold_disk", hold_disk},
          {"hold_inodes", hold_inodes},
          {"hold_descriptors", hold_descriptors},
          {"hold_watches", hold_watches},
          {"make_watch", make_watch},
          {"hold_pipes", hold_pipes},
          {"make_pipe", make_pipe},
          {"hold_signals", hold_signals},
          {"queue_signal", queue_signal},
          {"hold_connections", hold_connections},
          {"hold_processors", hold_processors},
          {"flood_output", flood_output}};
}

}  // namespace probe
