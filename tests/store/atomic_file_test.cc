#include "pando/store/atomic_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/store/store_support.h"

namespace pando::store {
namespace {

void replace(const std::string& path, const std::string& text) {
  replace_file(path, {std::as_bytes(std::span(text))});
}

TEST(AtomicFile, JoinsPiecesAndReplaces) {
  const TempFolder dir;
  const std::string path = dir.path("a");
  replace(path, "old");
  const std::string first = "ne";
  const std::string second = "w";
  replace_file(path, {std::as_bytes(std::span(first)), std::as_bytes(std::span(second))});
  EXPECT_EQ(read_bytes(path), "new");
  EXPECT_EQ(dir.entries(), 1);
}

TEST(AtomicFile, TakesANameOfTheLongestPermittedLength) {
  const TempFolder dir;
  const std::string path = dir.path(std::string(255, 'x'));
  replace(path, "long");
  EXPECT_EQ(read_bytes(path), "long");
}

TEST(AtomicFile, WritesIntoTheCurrentDirectory) {
  const TempFolder dir;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  replace("plain", "here");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_bytes(dir.path("plain")), "here");
}

TEST(AtomicFile, KeepsPermissions) {
  const TempFolder dir;
  const std::string path = dir.path("a");
  replace(path, "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  replace(path, "new");
  struct stat status = {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(AtomicFile, FollowsASymbolicLink) {
  const TempFolder dir;
  replace(dir.path("target"), "old");
  std::filesystem::create_symlink("target", dir.path("link"));
  replace(dir.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir.path("link")));
  EXPECT_EQ(read_bytes(dir.path("target")), "new");
}

TEST(AtomicFile, RefusesALoopOfLinks) {
  const TempFolder dir;
  std::filesystem::create_symlink("b", dir.path("a"));
  std::filesystem::create_symlink("a", dir.path("b"));
  expect_contains(message_of<IoError>([&] { replace(dir.path("a"), "x"); }), dir.path("a"));
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
  const TempFolder dir;
  std::filesystem::create_directory(dir.path("sub"));
  expect_contains(message_of<IoError>([&] { replace(dir.path("sub"), "x"); }),
                  "not a regular file");
  expect_contains(message_of<IoError>([&] { replace(dir.path("sub") + "/", "x"); }),
                  "not a file name");
  expect_contains(message_of<IoError>([] { replace("/dev/null", "x"); }), "not a regular file");
  EXPECT_EQ(dir.entries(), 1);
}

TEST(AtomicFile, NamesAMissingDirectory) {
  const TempFolder dir;
  const std::string message = message_of<IoError>([&] { replace(dir.path("none/a"), "x"); });
  expect_contains(message, dir.path("none/a"));
  expect_contains(message, "No such file or directory");
}

TEST(AtomicFile, LeavesTheOldFileWhenTheDiskIsFull) {
  const TempFolder dir;
  const std::string path = dir.path("a");
  replace(path, "old");
  // A limit on the size of files stops a write half way, as a full disk does.
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of<IoError>([&] { replace(path, std::string(5000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  expect_contains(message, path);
  expect_contains(message, "File too large");
  EXPECT_EQ(read_bytes(path), "old");
  EXPECT_EQ(dir.entries(), 1);
}

TEST(AtomicFile, NamesMissingPermission) {
  const TempFolder dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0555), 0);
  const bool root = ::geteuid() == 0;  // root may write everywhere, so become nobody for a moment
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string message = message_of<IoError>([&] { replace(dir.path("a"), "x"); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  expect_contains(message, "Permission denied");
  EXPECT_EQ(dir.entries(), 0);
}

}  // namespace
}  // namespace pando::store
