#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <fstream>

#include "runtime/byte_range.h"
#include "runtime/file_changes.h"
#include "runtime/file_info.h"
#include "runtime/file_upload.h"
#include "runtime/testing.h"

namespace agenttier::runtime {
namespace {

using testing::HasSubstr;

class Files : public RuntimeTest {
 protected:
  std::string at(const std::string& name) const { return workspace() + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void make(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
  }
  mode_t mode(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::stat(at(name).c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  std::string query(const std::string& name) const {
    return "path=" + http::percent_encode(at(name));
  }
  Reply put(const std::string& name, std::string bytes, const std::string& more = "") {
    return call("PUT", "/v1/files/content?" + query(name) + more, std::move(bytes));
  }
  Reply get(const std::string& name) { return call("GET", "/v1/files/content?" + query(name)); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(workspace_)) {
      found.push_back(entry.path().lexically_relative(workspace_).string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
};

TEST_F(Files, WrittenBytesAreReadBackWhateverTheyAre) {
  for (std::size_t size : {0UL, 1UL, 65'536UL, 5'000'001UL}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    const Reply written = put("a/b/c.bin", bytes);
    EXPECT_EQ(written.status, 201) << written.body;
    EXPECT_THAT(written.body, HasSubstr("\"bytes\":" + std::to_string(size)));
    const Reply read = get("a/b/c.bin");
    EXPECT_EQ(read.status, 200);
    EXPECT_EQ(read.body, bytes);
    EXPECT_TRUE(read.headers.find("ETag"));
    EXPECT_THAT(std::string(*read.headers.find("Last-Modified")), HasSubstr("GMT"));
  }
  EXPECT_THAT(names(), testing::ElementsAre("a", "a/b", "a/b/c.bin"));
}

TEST_F(Files, ANewFileGetsItsModeAndAnExistingOneKeepsIt) {
  put("plain", "x");
  EXPECT_EQ(mode("plain"), 0644U);
  put("tool", "x", "&mode=0755");
  EXPECT_EQ(mode("tool"), 0755U);
  ::chmod(at("plain").c_str(), 0600);
  put("plain", "y", "&mode=0755");
  EXPECT_EQ(mode("plain"), 0600U);
  EXPECT_EQ(content("plain"), "y");
  EXPECT_EQ(put("bad", "x", "&mode=9").status, 400);
  EXPECT_EQ(put("bad", "x", "&mode=4755").status, 400);
}

TEST_F(Files, ABodyOverTheLimitLeavesNothingAndKeepsTheOld) {
  put("file", "old");
  http::Request request_made =
      request("PUT", "/v1/files/content?" + query("file"), std::string(100'000, 'x'));
  request_made.headers.set("X-Body-Limit", "99999");
  EXPECT_EQ(await(service_.handle(std::move(request_made))).status, 413);
  EXPECT_EQ(content("file"), "old");
  EXPECT_THAT(names(), testing::ElementsAre("file"));
}

// A stream that breaks in the middle.
class BrokenReader final : public http::BodyReader {
 public:
  async::Task<base::Result<std::string>> read() override {
    if (++reads_ < 3) co_return std::string(400'000, 'x');
    co_return base::unavailable("connection broke");
  }

 private:
  int reads_ = 0;
};

TEST_F(Files, AnUploadThatBreaksLeavesNothing) {
  std::unique_ptr<http::BodyReader> reader = std::make_unique<BrokenReader>();
  EXPECT_NE(call("PUT", "/v1/files/content?" + query("file"), http::Body(std::move(reader))).status,
            201);
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, PathsThatLeadOutAreRefused) {
  ::symlink("/etc", at("etc").c_str());
  ::symlink("/etc/passwd", at("passwd").c_str());
  ::symlink("../../../../etc/passwd", at("up").c_str());
  ::symlink("/proc/self/root", at("magic").c_str());
  for (const std::string& path :
       {"/etc/passwd", "//etc/passwd", "/", "/workspacex/a", "/proc/1/environ"}) {
    const Reply reply = call("GET", "/v1/files/content?path=" + path);
    EXPECT_EQ(reply.status, 403) << path << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("outside_workspace"));
  }
  for (const std::string name : {"etc/passwd", "passwd", "up", "magic/etc/passwd"}) {
    EXPECT_EQ(get(name).status, 403) << name;
    EXPECT_EQ(put(name, "x").status, 403) << name;
    EXPECT_EQ(call("GET", "/v1/files/content?" + query(name)).status, 403) << name;
  }
  for (const std::string& name : {std::string("../etc/passwd"), std::string("a/../../etc"),
                                  std::string(".."), std::string(256, 'n')}) {
    EXPECT_EQ(get(name).status, 400) << name;
    EXPECT_EQ(put(name, "x").status, 400) << name;
  }
  EXPECT_EQ(call("GET", "/v1/files/content?path=" + workspace() + "/%00a").status, 400);
  EXPECT_EQ(call("GET", "/v1/files/content?path=relative").status, 400);
  EXPECT_EQ(call("GET", "/v1/files/content").status, 400);
}

TEST_F(Files, LinksInsideAreFollowed) {
  make("real", "text");
  ::mkdir(at("dir").c_str(), 0755);
  make("dir/inner", "deep");
  ::symlink("real", at("relative").c_str());
  ::symlink(at("real").c_str(), at("absolute").c_str());
  ::symlink(at("dir").c_str(), at("folder").c_str());
  ::symlink("../real", at("dir/up").c_str());
  EXPECT_EQ(get("relative").body, "text");
  EXPECT_EQ(get("absolute").body, "text");
  EXPECT_EQ(get("folder/inner").body, "deep");
  EXPECT_EQ(get("folder/up").body, "text");
  // A write through a link changes the file, not the link.
  EXPECT_EQ(put("absolute", "new").status, 201);
  EXPECT_EQ(content("real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(at("absolute")));
  ::symlink("loop", at("loop").c_str());
  EXPECT_EQ(get("loop").status, 400);
}

// Both ways to resolve a path must agree on every path.
TEST_F(Files, TheKernelAndTheFallbackResolveAlike) {
  make("real", "text");
  ::mkdir(at("dir").c_str(), 0755);
  ::symlink("../real", at("dir/up").c_str());
  ::symlink("../../out", at("dir/out").c_str());
  ::symlink(at("dir").c_str(), at("abs").c_str());
  ::symlink("loop", at("loop").c_str());
  const FileRoots kernel({workspace(), "/tmp"}, Resolver::kKernel);
  const FileRoots walk({workspace(), "/tmp"}, Resolver::kByComponent);
  for (const std::string& path : {at("real"), at("dir/up"), at("dir/out"), at("abs/up"), at("loop"),
                                  at("none"), at("none/x"), at("real/x"), at("dir"), workspace(),
                                  std::string("/etc/passwd"), at("dir//./up"), at("abs/out")}) {
    const auto by_kernel = kernel.open(path, O_RDONLY);
    const auto by_walk = walk.open(path, O_RDONLY);
    EXPECT_EQ(by_kernel.has_value(), by_walk.has_value()) << path;
    if (!by_kernel && !by_walk) {
      EXPECT_EQ(by_kernel.error().code, by_walk.error().code) << path;
    }
  }
}

TEST_F(Files, OnlyRegularFilesHaveContent) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0644), 0);
  ::mkdir(at("dir").c_str(), 0755);
  EXPECT_EQ(get("pipe").status, 400);
  EXPECT_EQ(get("dir").status, 400);
  EXPECT_EQ(put("pipe", "x").status, 400);
  EXPECT_EQ(put("dir", "x").status, 409);
  EXPECT_EQ(get("none").status, 404);
  EXPECT_THAT(get("none").body, HasSubstr("No such file or directory"));
}

TEST_F(Files, ARangeGivesItsPart) {
  make("file", "0123456789");
  const auto range = [&](const std::string& header) {
    http::Request made = request("GET", "/v1/files/content?" + query("file"));
    made.headers.set("Range", header);
    return await(service_.handle(std::move(made)));
  };
  const http::Response part = range("bytes=2-4");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body.length(), 3U);
  EXPECT_EQ(part.headers.find("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(range("bytes=10-").status, 416);
}

TEST_F(Files, ListsADirectoryByName) {
  make("b", "12");
  make("a\xC3\xA9", "");
  make(".agenttier-upload-0123", "");
  ::mkdir(at("c").c_str(), 01777);
  ::chmod(at("c").c_str(), 01777);
  ::symlink("b", at("d").c_str());
  const Reply reply = call("GET", "/v1/files?path=" + workspace());
  ASSERT_EQ(reply.status, 200) << reply.body;
  auto list = api::FileList::from_json(boost::json::parse(reply.body));
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->entries.size(), 4U);
  EXPECT_EQ(list->entries[0].name, "a\xC3\xA9");
  EXPECT_EQ(list->entries[1].name, "b");
  EXPECT_EQ(list->entries[1].size, 2);
  EXPECT_EQ(list->entries[1].type, "file");
  EXPECT_EQ(list->entries[2].mode, "drwxrwxrwt");
  EXPECT_TRUE(list->entries[2].is_dir);
  EXPECT_EQ(list->entries[3].type, "symlink");
  EXPECT_EQ(list->entries[3].target, "b");
  EXPECT_EQ(call("GET", "/v1/files?" + query("b")).status, 400);
  EXPECT_EQ(call("GET", "/v1/files?" + query("none")).status, 404);
}

TEST_F(Files, ALargeListingComesInPiecesAndIsWhole) {
  for (int i = 0; i < 5000; ++i) make("file-" + std::to_string(i), "");
  const Reply reply = call("GET", "/v1/files?path=" + workspace());
  auto list = api::FileList::from_json(boost::json::parse(reply.body));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->entries.size(), 5000U);
}

TEST_F(Files, DescribesOneFile) {
  make("file", "123");
  auto entry = api::FileEntry::from_json(
      boost::json::parse(call("GET", "/v1/files/stat?" + query("file")).body));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->name, "file");
  EXPECT_EQ(entry->size, 3);
  EXPECT_EQ(entry->mode, "-rw-r--r--");
  EXPECT_EQ(call("GET", "/v1/files/stat?path=" + workspace()).status, 200);
  EXPECT_EQ(call("GET", "/v1/files/stat?" + query("none")).status, 404);
}

TEST_F(Files, MakesMovesAndRemoves) {
  EXPECT_EQ(call("POST", "/v1/files/mkdir?" + query("a/b")).status, 201);
  EXPECT_EQ(call("POST", "/v1/files/mkdir?" + query("a/b")).status, 200);
  make("file", "x");
  EXPECT_EQ(call("POST", "/v1/files/mkdir?" + query("file")).status, 409);
  const auto move = [&](const std::string& from, const std::string& to) {
    return call("POST", "/v1/files/move?from=" + at(from) + "&to=" + at(to)).status;
  };
  EXPECT_EQ(move("file", "a"), 409);
  EXPECT_EQ(move("file", "a/b/moved"), 204);
  EXPECT_EQ(move("file", "a/other"), 404);
  EXPECT_EQ(move("a", "a/b/inside"), 400);
  EXPECT_EQ(content("a/b/moved"), "x");
  EXPECT_EQ(call("DELETE", "/v1/files?" + query("a")).status, 409);
  EXPECT_EQ(call("DELETE", "/v1/files?" + query("a") + "&recursive=true").status, 204);
  EXPECT_EQ(call("DELETE", "/v1/files?" + query("a")).status, 404);
  EXPECT_EQ(call("DELETE", "/v1/files?path=" + workspace() + "&recursive=true").status, 400);
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, RemovingALinkKeepsWhatItPointsTo) {
  ::mkdir(at("dir").c_str(), 0755);
  make("dir/file", "x");
  ::symlink("dir", at("link").c_str());
  ::mkdir(at("tree").c_str(), 0755);
  ::symlink(at("dir").c_str(), at("tree/link").c_str());
  EXPECT_EQ(call("DELETE", "/v1/files?" + query("link") + "&recursive=true").status, 204);
  EXPECT_EQ(call("DELETE", "/v1/files?" + query("tree") + "&recursive=true").status, 204);
  EXPECT_THAT(names(), testing::ElementsAre("dir", "dir/file"));
}

TEST_F(Files, ATreeThatIsTooDeepIsAnErrorNotACrash) {
  std::string chain = at("d");
  exec(R"({"command":"i=0; while [ $i -lt 400 ]; do mkdir d; cd d; i=$((i+1)); done"})");
  const Reply reply = call("DELETE", "/v1/files?" + query("d") + "&recursive=true");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("deeper than 256 levels"));
}

TEST_F(Files, AFullDiskIsToldAndNothingIsLeft) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to limit a disk";
  exec(R"({"command":"mkdir small && mount -t tmpfs -o size=1m none small"})");
  const Reply reply = put("small/big", std::string(3'000'000, 'x'));
  EXPECT_EQ(reply.status, 507) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("no_space"));
  EXPECT_THAT(reply.body, HasSubstr("No space left on device"));
  EXPECT_TRUE(std::filesystem::is_empty(at("small")));
  exec(R"({"command":"umount small"})");
}

TEST_F(Files, AMoveBetweenFileSystemsCopiesAFile) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  exec(
      R"({"command":"mkdir other && mount -t tmpfs none other && echo x > other/file && chmod 750 other/file && mkdir other/dir"})");
  EXPECT_EQ(call("POST", "/v1/files/move?from=" + at("other/file") + "&to=" + at("here")).status,
            204);
  EXPECT_EQ(content("here"), "x\n");
  EXPECT_EQ(mode("here"), 0750U);
  EXPECT_FALSE(std::filesystem::exists(at("other/file")));
  EXPECT_EQ(call("POST", "/v1/files/move?from=" + at("other/dir") + "&to=" + at("dir")).status,
            400);
  exec(R"({"command":"umount other"})");
}

TEST_F(Files, AnArchiveUnpacksToTheSameTree) {
  exec(
      R"json({"command":"mkdir -p x/é/empty && printf '\\000\\377' > b && seq 1 200000 > x/big && chmod 751 x/big && ln -s ../b x/link && echo 1 > 'x/é/ü ö' && mkfifo pipe && : > zero"})json");
  const Reply reply = call("GET", "/v1/archive?path=" + workspace());
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.find("Content-Type"), "application/zip");
  const std::string other = (std::filesystem::temp_directory_path() / "runtime-test-zip").string();
  std::filesystem::remove_all(other);
  std::filesystem::create_directories(other);
  std::ofstream(other + "/a.zip", std::ios::binary) << reply.body;
  const Output unpacked = exec(
      R"json({"command":"cd )json" + other +
      R"json( && python3 - <<'E'\nimport zipfile\nz = zipfile.ZipFile('a.zip')\nassert z.testzip() is None\nfor i in z.infolist(): print(i.filename, oct(i.external_attr >> 16), i.file_size)\nassert z.read('b') == b'\\0\\xff'\nE"})json");
  EXPECT_EQ(unpacked.err, "");
  EXPECT_THAT(unpacked.out, HasSubstr("x/big 0o100751 1288895\n"));
  EXPECT_THAT(unpacked.out, HasSubstr("x/link 0o120777 4\n"));
  EXPECT_THAT(unpacked.out, HasSubstr("x/é/ü ö 0o100644 2\n"));
  EXPECT_THAT(unpacked.out, HasSubstr("x/é/empty/ 0o40755 0\n"));
  EXPECT_THAT(unpacked.out, HasSubstr("zero 0o100644 0\n"));
  EXPECT_THAT(unpacked.out, testing::Not(HasSubstr("pipe")));
  std::filesystem::remove_all(other);
}

TEST_F(Files, LeftoversOfAnEarlierRunAreRemoved) {
  make("keep", "x");
  ::mkdir(at("dir").c_str(), 0755);
  make("dir/.agenttier-upload-0123456789abcdef", "x");
  const std::atomic<bool> go_on = true;
  // Files of this second may belong to this run.
  EXPECT_EQ(remove_leftover_uploads(workspace(), go_on), 0U);
  await_until([] {
    static const std::time_t begin = std::time(nullptr);
    return std::time(nullptr) > begin + 1;
  });
  EXPECT_EQ(remove_leftover_uploads(workspace(), go_on), 1U);
  EXPECT_THAT(names(), testing::ElementsAre("dir", "keep"));
}

TEST_F(Files, TransfersAtOnceAreLimited) {
  make("file", std::string(1'000'000, 'x'));
  std::vector<http::Response> held;
  for (int i = 0; i < 64; ++i) {
    held.push_back(await(service_.handle(request("GET", "/v1/files/content?" + query("file")))));
    ASSERT_EQ(held.back().status, 200);
  }
  EXPECT_EQ(get("file").status, 429);
  held.pop_back();
  EXPECT_EQ(get("file").status, 200);
}

TEST(ByteRange, IsReadAsHttpSays) {
  using Kind = RangeAnswer::Kind;
  const auto part = [](std::string_view header, std::uint64_t size) {
    const RangeAnswer answer = answer_range(header, size);
    EXPECT_EQ(answer.kind, Kind::kPart) << header;
    return answer.range;
  };
  EXPECT_EQ(part("bytes=0-0", 10), (ByteRange{0, 1}));
  EXPECT_EQ(part("bytes=5-", 10), (ByteRange{5, 5}));
  EXPECT_EQ(part("bytes=5-100", 10), (ByteRange{5, 5}));
  EXPECT_EQ(part("bytes=-3", 10), (ByteRange{7, 3}));
  EXPECT_EQ(part("bytes=-30", 10), (ByteRange{0, 10}));
  for (const char* header : {"bytes=10-", "bytes=-0", "bytes=99-100"}) {
    EXPECT_EQ(answer_range(header, 10).kind, Kind::kUnsatisfied) << header;
  }
  for (const char* header : {"", "bytes=", "bytes=-", "bytes=5-4", "bytes=0-1,3-4", "lines=1-2",
                             "bytes=a-b", "bytes=99999999999999999999-"}) {
    EXPECT_EQ(answer_range(header, 10).kind, Kind::kWhole) << header;
  }
}

TEST(FileInfo, ModesReadAsLsPrintsThem) {
  EXPECT_EQ(mode_text(S_IFREG | 0644), "-rw-r--r--");
  EXPECT_EQ(mode_text(S_IFDIR | 01777), "drwxrwxrwt");
  EXPECT_EQ(mode_text(S_IFREG | 04755), "-rwsr-xr-x");
  EXPECT_EQ(mode_text(S_IFREG | 02644), "-rw-r-Sr--");
  EXPECT_EQ(mode_text(S_IFLNK | 0777), "lrwxrwxrwx");
}

}  // namespace
}  // namespace agenttier::runtime
