// Files through the whole router, against a runtime from memory.

#include <gtest/gtest.h>

#include "router/file_routes.h"
#include "router/testing.h"

namespace agenttier::router {
namespace {

TEST(FilePath, IsAbsoluteWhateverSlashesAreWritten) {
  EXPECT_EQ(*parse_file_path("workspace/a b"), "/workspace/a b");
  EXPECT_EQ(*parse_file_path("/workspace//a/./b/"), "/workspace/a/b");
  EXPECT_EQ(*parse_file_path("workspace/..a"), "/workspace/..a");
}

TEST(FilePath, NeverClimbsAndHasNoNul) {
  EXPECT_EQ(parse_file_path("../etc/passwd").error().message, "path: must not contain the step ..");
  EXPECT_EQ(parse_file_path("workspace/a/..").error().message,
            "path: must not contain the step ..");
  EXPECT_EQ(parse_file_path(std::string_view("a\0b", 3)).error().message,
            "path: must not contain a NUL byte");
  EXPECT_EQ(parse_file_path("").error().message, "path: must name a file, for example workspace/a");
  EXPECT_FALSE(parse_file_path(std::string(5000, 'a')));
}

TEST(DownloadName, IsSafeInAHeader) {
  EXPECT_EQ(download_name("/workspace/report.zip"), "report.zip");
  EXPECT_EQ(download_name("/workspace/a\"\r\nSet-Cookie: x"), "aSet-Cookiex");
  EXPECT_EQ(download_name("/workspace/\u00ef"), "file");
}

struct FileTest : testing::Test {
  FileTest() {
    plane.add_template("minimal");
    plane.create("demo", alice);
    plane.set_running("demo");
  }
  const std::string& last_target() { return plane.runtime.seen.back().target; }

  TestPlane plane;
  std::string alice = plane.key_of("alice");
  const std::string files = "/sandboxes/demo/files/";
};

TEST_F(FileTest, AreWrittenAndReadBack) {
  const Reply written = plane.call("PUT", files + "workspace/d%C3%AFr/a%20b.txt", alice, "hi\n");
  EXPECT_EQ(written.status, 201);
  EXPECT_EQ(written.text("bytes"), "3");
  EXPECT_EQ(last_target(), "/v1/files/content?path=/workspace/d%C3%AFr/a%20b.txt");
  EXPECT_EQ(plane.runtime.seen.back().headers.find("X-Body-Limit"), "8589934592");

  const Reply read = plane.get(files + "/workspace/d%C3%AFr/a%20b.txt", alice);
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.body, "hi\n");
}

TEST_F(FileTest, AreNeverTakenForAPage) {
  plane.runtime.files["/workspace/x.html"] = "<script>";
  const Reply read = plane.get(files + "workspace/x.html", alice);
  EXPECT_EQ(read.headers.find("Content-Type"), "application/octet-stream");
  EXPECT_EQ(read.headers.find("Content-Disposition"), "attachment; filename=\"x.html\"");
  EXPECT_EQ(read.headers.find("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(read.headers.find("ETag"), "\"1\"");
  EXPECT_FALSE(read.headers.find("Set-Cookie"));
}

TEST_F(FileTest, CanBeReadInPart) {
  plane.runtime.files["/workspace/r"] = "0123456789";
  const Reply read = plane.call("GET", files + "workspace/r", alice, "", {{"Range", "bytes=2-4"}});
  EXPECT_EQ(read.status, 206);
  EXPECT_EQ(read.body, "234");
  EXPECT_EQ(read.headers.find("Content-Range"), "bytes 2-4/10");
}

TEST_F(FileTest, TellTheirSizeWithoutBeingRead) {
  plane.runtime.files["/workspace/r"] = "0123456789";
  const Reply head = plane.call("HEAD", files + "workspace/r", alice);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.find("Content-Length"), "10");
  EXPECT_EQ(last_target(), "/v1/files/stat?path=/workspace/r");
  EXPECT_EQ(plane.get("/sandboxes/demo/files-stat/workspace/r", alice).text("size"), "10");
}

TEST_F(FileTest, AreListedWithOrWithoutASlash) {
  for (const char* path : {"/sandboxes/demo/files", "/sandboxes/demo/files/"}) {
    const Reply list = plane.get(path, alice);
    EXPECT_EQ(list.status, 200) << path;
    EXPECT_EQ(list.text("path"), "/workspace") << path;
    EXPECT_EQ(list.text("entries"), "[]") << path;
  }
  plane.get("/sandboxes/demo/files/?path=%2Fworkspace%2Fsub", alice);
  EXPECT_EQ(last_target(), "/v1/files?path=/workspace/sub");
}

TEST_F(FileTest, ThatAreMissingAreNotFound) {
  const Reply none = plane.get(files + "workspace/none", alice);
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.error(), "/workspace/none: no such file");
}

TEST_F(FileTest, OutsideTheWorkspaceAreRefused) {
  EXPECT_EQ(plane.get(files + "../../etc/passwd", alice).status, 400);
  EXPECT_EQ(plane.get(files + "%2e%2e%2fetc/passwd", alice).status, 400);
  EXPECT_EQ(plane.get(files + "workspace/../etc/passwd", alice).status, 400);
  EXPECT_TRUE(plane.runtime.seen.empty());
  const Reply outside = plane.get(files + "/etc/passwd", alice);
  EXPECT_EQ(outside.status, 403);
  EXPECT_EQ(outside.code(), "outside_workspace");
}

TEST_F(FileTest, AreRemovedMovedAndMade) {
  plane.runtime.files["/workspace/a"] = "x";
  EXPECT_EQ(plane.call("DELETE", files + "workspace/a?recursive=true", alice).status, 204);
  EXPECT_EQ(last_target(), "/v1/files?path=/workspace/a&recursive=true");
  EXPECT_EQ(plane.call("DELETE", files + "workspace/a", alice).status, 404);
  EXPECT_EQ(plane.post("/sandboxes/demo/files-op/mkdir", alice, R"({"path":"workspace/d"})").status,
            201);
  EXPECT_EQ(last_target(), "/v1/files/mkdir?path=/workspace/d");
  EXPECT_EQ(plane
                .post("/sandboxes/demo/files-op/move", alice,
                      R"({"from":"/workspace/a","to":"/workspace/b&c"})")
                .status,
            204);
  EXPECT_EQ(last_target(), "/v1/files/move?from=/workspace/a&to=/workspace/b%26c");
}

TEST_F(FileTest, CannotBeWrittenOverTheLimit) {
  plane.runtime.next = http::Response();
  plane.runtime.next->status = 413;
  plane.runtime.next->body = http::Body(R"({"error":"body_too_large","message":"too large"})");
  const Reply refused = plane.call("PUT", files + "workspace/a", alice, "x");
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.error(), "too large");
}

TEST_F(FileTest, ComeAsAZipOfAFolderOfTheWorkspace) {
  const Reply zip = plane.get("/sandboxes/demo/archive?path=/workspace/z", alice);
  EXPECT_EQ(zip.status, 200);
  EXPECT_EQ(zip.body, "PK");
  EXPECT_EQ(zip.headers.find("Content-Type"), "application/zip");
  EXPECT_EQ(zip.headers.find("Content-Disposition"), "attachment; filename=\"demo-z.zip\"");
  EXPECT_EQ(plane.get("/sandboxes/demo/archive?path=/tmp", alice).error(),
            "path: must be /workspace or a folder below it");
  EXPECT_EQ(plane.get("/sandboxes/demo/archive?path=/workspaces", alice).status, 400);
}

TEST_F(FileTest, AreAConflictUnlessTheSandboxRuns) {
  plane.set_phase("demo", "Stopped");
  EXPECT_EQ(plane.get(files + "workspace/a", alice).status, 409);
  EXPECT_EQ(plane.call("PUT", files + "workspace/a", alice, "x").status, 409);
}

}  // namespace
}  // namespace agenttier::router
