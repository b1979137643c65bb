#include "pando/base/temporary_file.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/base/new_file.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

using testing_support::TempFolder;

// Lets another process begin to write `path` and be killed.
void kill_a_writer(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const NewFile file(path);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(TemporaryFile, TheFileOfAKilledProcessIsRemovedByTheNextWriter) {
  const TempFolder folder;
  kill_a_writer(folder.path("file"));
  ASSERT_EQ(folder.entries(), 1);
  write_new_file(folder.path("other"), {});
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_TRUE(fs::exists(folder.path("other")));
}

TEST(TemporaryFile, TheFileOfALivingProcessStays) {
  const TempFolder folder;
  NewFile file(folder.path("file"));
  file.write(std::vector<uint8_t>{1});
  sweep_temporaries(folder.path());
  file.commit();
  EXPECT_EQ(folder.read("file"), "\x01");
}

TEST(TemporaryFile, OtherFilesStay) {
  const TempFolder folder;
  const std::vector<std::string> names = {".pando-1-0.tm",   "pando-1-0.tmp",    ".pando--0.tmp",
                                          ".pando-1-.tmp",   ".pando-1.tmp",     ".pando-x-0.tmp",
                                          ".pando-1-0x.tmp", ".pando-1-0-1.tmp", ".pando-1-0.tmp~"};
  for (const std::string& name : names) folder.write_text(name, "x");
  fs::create_directory(folder.path(".pando-7-0.tmp"));
  fs::create_symlink(".pando-1-.tmp", folder.path(".pando-8-0.tmp"));
  folder.write_text(".pando-9-0.tmp", "of a process that has ended");
  sweep_temporaries(folder.path());
  EXPECT_EQ(folder.entries(), static_cast<int>(names.size()) + 2);
  EXPECT_FALSE(fs::exists(folder.path(".pando-9-0.tmp")));
  sweep_temporaries(folder.path("absent"));
}

TEST(TemporaryFile, TheFileOfAnotherUserStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const TempFolder folder;
  const std::string path = folder.write_text(".pando-9-0.tmp", "x");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  sweep_temporaries(folder.path());
  EXPECT_EQ(folder.entries(), 1);
}

TEST(TemporaryFile, ATryLeavesNothing) {
  const TempFolder folder;
  folder.write_text("old", "x");
  check_can_write(folder.path("new"));
  check_can_write(folder.path("old"));
  check_can_write("/dev/null");
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_EQ(folder.read("old"), "x");
  EXPECT_ANY_THROW(check_can_write(folder.path()));
  EXPECT_ANY_THROW(check_can_write(folder.path("absent/new")));
  EXPECT_ANY_THROW(check_can_write("/proc/new"));
}

}  // namespace
}  // namespace pando
