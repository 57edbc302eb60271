// What survives: restarts, copies taken at any moment, full disks, damaged files.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "store/testing.h"

namespace agenttier::store {
namespace {

namespace fs = std::filesystem;

async::Task<void> call(std::function<void()> function) {
  function();
  co_return;
}

class DurabilityTest : public StoreTest {
 protected:
  // A copy of the files as they are now: what a crash would leave.
  std::string copy_files(int number) {
    const std::string copy = directory_ + "/copy" + std::to_string(number);
    fs::create_directory(copy);
    for (const char* file : {"store.db-wal", "store.db"}) {
      if (fs::exists(fs::path(directory_) / file)) {
        fs::copy_file(fs::path(directory_) / file, fs::path(copy) / file);
      }
    }
    return copy;
  }
};

TEST_F(DurabilityTest, KeepsObjectsAndVersionsAcrossARestart) {
  const Reply created = post(kSandboxes, sandbox("a", {{"mode", "agent"}}));
  post(kMaps, config_map("b"));
  remove(kMaps / "b");
  const std::string version = get(kMaps).version();
  reopen();
  EXPECT_EQ(get(kSandboxes / "a").object(), created.object());
  EXPECT_EQ(get(kMaps / "b").status, 404);
  EXPECT_EQ(get(kMaps).version(), version);
  EXPECT_GT(std::stoull(post(kMaps, config_map("c")).version()), std::stoull(version));
}

TEST_F(DurabilityTest, FollowsOwnersAfterARestart) {
  const Reply owner = post(kSandboxes, sandbox("a"));
  const json::array owners{json::object{{"apiVersion", "agenttier.io/v1alpha1"},
                                        {"kind", "Sandbox"},
                                        {"name", "a"},
                                        {"uid", owner.at("metadata.uid")}}};
  post(kMaps, config_map("child", {{"metadata", {{"ownerReferences", owners}}}}));
  reopen();
  remove(kSandboxes / "a");
  EXPECT_EQ(get(kMaps / "child").status, 404);
}

TEST_F(DurabilityTest, WhatWasAnsweredIsInACopyOfTheFiles) {
  std::vector<std::pair<std::string, std::size_t>> copies;
  for (int round = 0; round < 8; ++round) {
    std::vector<http::Request> requests;
    for (int i = 0; i < 20; ++i) {
      requests.push_back(request(
          "POST", kMaps, config_map("m-" + std::to_string(round) + "-" + std::to_string(i))));
    }
    for (const Reply& reply : send_together(std::move(requests))) ASSERT_EQ(reply.status, 201);
    copies.emplace_back(copy_files(round), (round + 1) * 20);
  }
  close();
  for (const auto& [copy, count] : copies) {
    auto reopened = Store::open(loop_.get_executor(), copy, clock_, random_, {});
    ASSERT_TRUE(reopened) << reopened.error().message;
    store_ = *std::move(reopened);
    EXPECT_EQ(get(kMaps).item_names().size(), count);
    close();
  }
}

// Writes go on while the files are copied; a copy holds all that was answered before it began.
TEST_F(DurabilityTest, ACopyTakenInTheMiddleOfWritesIsWhole) {
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(post(kMaps, config_map("done-" + std::to_string(round))).status, 201);
    std::vector<http::Request> requests;
    for (int i = 0; i < 30; ++i) {
      const std::string name = "open-" + std::to_string(round) + "-" + std::to_string(i);
      requests.push_back(request("POST", kMaps, config_map(name)));
    }
    std::string copy;
    ASSERT_TRUE(tasks_.spawn(call([&] { copy = copy_files(round); })));
    send_together(std::move(requests));
    boost::asio::io_context other;
    auto reopened = Store::open(other.get_executor(), copy, clock_, random_, {});
    ASSERT_TRUE(reopened) << reopened.error().message;
    std::swap(store_, *reopened);
    EXPECT_EQ(get(kMaps / ("done-" + std::to_string(round))).status, 200);
    std::swap(store_, *reopened);
  }
}

// The child answers creates until it is killed, and tells each answer through the pipe.
void create_until_killed(const std::function<void(int round)>& create_round) {
  for (int round = 0;; ++round) create_round(round);
}

TEST_F(DurabilityTest, AKillLosesNothingThatWasAnswered) {
  close();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    open();
    create_until_killed([&](int round) {
      std::vector<http::Request> requests;
      for (int i = 0; i < 5; ++i) {
        const std::string name = "m-" + std::to_string(round) + "-" + std::to_string(i);
        requests.push_back(request("POST", kMaps, config_map(name)));
      }
      for (const Reply& reply : send_together(std::move(requests))) {
        const std::string line = reply.at("metadata.name") + "\n";
        if (::write(ends[1], line.data(), line.size()) < 0) ::_exit(1);
      }
    });
  }
  ::close(ends[1]);
  std::string told;
  char buffer[512];
  while (told.size() < 2000) {
    const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
    ASSERT_GT(got, 0);
    told.append(buffer, static_cast<std::size_t>(got));
  }
  ::kill(child, SIGKILL);
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    told.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  open();
  const auto names = get(kMaps).item_names();
  const std::set<std::string> kept(names.begin(), names.end());
  std::istringstream lines(told.substr(0, told.rfind('\n') + 1));
  for (std::string name; std::getline(lines, name);) EXPECT_TRUE(kept.contains(name)) << name;
}

TEST_F(DurabilityTest, ConcurrentWritesEachGetAnAnswerAndAVersion) {
  std::vector<http::Request> requests;
  for (int i = 0; i < 200; ++i) {
    requests.push_back(request("POST", kMaps, config_map("m" + std::to_string(i))));
  }
  std::set<std::string> versions;
  for (const Reply& reply : send_together(std::move(requests))) {
    ASSERT_EQ(reply.status, 201);
    versions.insert(reply.version());
  }
  EXPECT_EQ(versions.size(), 200U);
}

TEST_F(DurabilityTest, OfConcurrentWritersWithOneVersionOneWins) {
  json::object object = post(kMaps, config_map("a")).object();
  std::vector<http::Request> requests;
  for (int i = 0; i < 20; ++i) {
    object["data"] = {{"writer", std::to_string(i)}};
    requests.push_back(request("PUT", kMaps / "a", object));
  }
  int won = 0;
  for (const Reply& reply : send_together(std::move(requests))) {
    won += reply.status == 200;
    EXPECT_TRUE(reply.status == 200 || reply.status == 409);
  }
  EXPECT_EQ(won, 1);
}

TEST_F(DurabilityTest, ARefusalIsBasedOnWhatCanBeRead) {
  std::vector<http::Request> requests;
  requests.push_back(request("POST", kMaps, config_map("a")));
  requests.push_back(request("POST", kMaps, config_map("a")));
  const auto replies = send_together(std::move(requests));
  EXPECT_EQ(replies[1].status, 409);
  EXPECT_EQ(get(kMaps / "a").status, 200);
}

TEST_F(DurabilityTest, CommitsInlineWithoutAThread) {
  reopen({.threading = Threading::kInline});
  EXPECT_EQ(post(kMaps, config_map("a")).status, 201);
  reopen({.threading = Threading::kInline});
  EXPECT_EQ(get(kMaps / "a").status, 200);
}

// The limit of the file's size stands for the end of the disk.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(DurabilityTest, AFullDiskFailsTheWriteAndNothingElse) {
  post(kMaps, config_map("a"));
  const std::string version = get(kMaps).version();
  {
    const FileLimit limit(fs::file_size(directory_ + "/store.db-wal"));
    const Reply failed = post(kMaps, config_map("b"));
    EXPECT_GE(failed.status, 429) << failed.text;
    EXPECT_NE(failed.at("message").find(directory_), std::string::npos);
    EXPECT_EQ(get(kMaps / "b").status, 404);
    EXPECT_EQ(get(kMaps / "a").status, 200);
  }
  const Reply later = post(kMaps, config_map("b"));
  EXPECT_EQ(later.status, 201) << later.text;
  EXPECT_GT(std::stoull(later.version()), std::stoull(version));
  reopen();
  EXPECT_EQ(get(kMaps / "b").status, 200);
}

TEST_F(DurabilityTest, SaysThatTheDiskIsFull) {
  const std::string disk = directory_ + "/disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=512k") != 0) {
    GTEST_SKIP() << "cannot mount a small disk: " << std::strerror(errno);
  }
  close();
  const std::string before = std::exchange(directory_, disk);
  open();
  Reply last;
  for (int i = 0; i < 50 && (i == 0 || last.status == 201); ++i) {
    const json::object data{{"k", std::string(20'000, 'x')}};
    last = post(kMaps, config_map("m" + std::to_string(i), {{"data", data}}));
  }
  EXPECT_EQ(last.status, 429);
  EXPECT_NE(last.at("message").find("free space on the disk"), std::string::npos) << last.text;
  const auto kept = get(kMaps).item_names();
  reopen();
  EXPECT_EQ(get(kMaps).item_names(), kept);
  close();
  directory_ = before;
  ::umount(disk.c_str());
}

TEST_F(DurabilityTest, AFailedCommitFailsAllThatWasDecidedOnIt) {
  post(kMaps, config_map("a"));
  TestWatch watch =
      this->watch(std::string(kMaps) + "?watch=true&resourceVersion=" + get(kMaps).version());
  {
    const FileLimit limit(fs::file_size(directory_ + "/store.db-wal"));
    std::vector<http::Request> requests;
    for (int i = 0; i < 10; ++i) {
      requests.push_back(request("POST", kMaps, config_map("m" + std::to_string(i))));
    }
    for (const Reply& reply : send_together(std::move(requests))) EXPECT_GE(reply.status, 429);
  }
  EXPECT_EQ(get(kMaps).item_names(), std::vector<std::string>{"a"});
  post(kMaps, config_map("m0"));
  EXPECT_EQ(next(watch), "ADDED m0");
}

TEST_F(DurabilityTest, ADamagedFileIsNamedAndNotReplaced) {
  for (int i = 0; i < 50; ++i) {
    post(kMaps, config_map("m" + std::to_string(i), {{"data", {{"k", std::string(4000, 'x')}}}}));
  }
  close();
  const std::string file = directory_ + "/store.db";
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(8192);
    out << std::string(16384, '\x5A');
  }
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(file), std::string::npos) << refused.error().message;
  EXPECT_GT(fs::file_size(file), 8192U);
}

TEST_F(DurabilityTest, ASecondStoreOnTheDirectoryIsRefused) {
  auto second = Store::open(loop_.get_executor(), directory_, clock_, random_, {});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another process"), std::string::npos);
}

TEST_F(DurabilityTest, WritesAfterCloseAreRefused) {
  bool done = false;
  ASSERT_TRUE(tasks_.spawn([](Store* store, bool* out) -> async::Task<void> {
    co_await store->close();
    *out = true;
  }(store_.get(), &done)));
  ASSERT_TRUE(run_until([&] { return done; }));
  EXPECT_EQ(post(kMaps, config_map("a")).status, 503);
  store_.reset();
}

TEST_F(DurabilityTest, TooManyWaitingWritesAreRefused) {
  reopen({.waiting_changes_max = 5});
  std::vector<http::Request> requests;
  for (int i = 0; i < 50; ++i) {
    requests.push_back(request("POST", kMaps, config_map("m" + std::to_string(i))));
  }
  int refused = 0;
  for (const Reply& reply : send_together(std::move(requests))) {
    if (reply.status != 429) continue;
    ++refused;
    EXPECT_EQ(reply.headers.find("Retry-After"), "1");
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(get(kMaps).item_names().size(), 50U - static_cast<unsigned>(refused));
}

}  // namespace
}  // namespace agenttier::store
