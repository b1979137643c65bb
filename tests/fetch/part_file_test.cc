#include "pando/fetch/part_file.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::fetch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(PartFile, StaysUntilItIsWhole) {
  const TempFolder folder;
  {
    PartFile part(folder.path("x"));
    part.append(bytes_of("one"));
    EXPECT_EQ(part.bytes(), 3);
  }
  EXPECT_EQ(folder.read("x.part"), "one");
  PartFile part(folder.path("x"));
  EXPECT_EQ(part.bytes(), 3);
  part.append(bytes_of("two"));
  part.commit();
  EXPECT_EQ(folder.read("x"), "onetwo");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(PartFile, StartsOver) {
  const TempFolder folder;
  PartFile part(folder.path("x"));
  part.append(bytes_of("wrong"));
  part.restart();
  EXPECT_EQ(part.bytes(), 0);
  part.append(bytes_of("ok"));
  EXPECT_EQ(folder.read("x.part"), "ok");
}

TEST(PartFile, IsRemoved) {
  const TempFolder folder;
  PartFile part(folder.path("x"));
  part.discard();
  EXPECT_EQ(folder.entries(), 0);
}

TEST(PartFile, SaysWhatFailed) {
  const TempFolder folder;
  const std::string nowhere = error_of<IoError>([&] { PartFile part(folder.path("no/x")); });
  EXPECT_SAYS(nowhere, folder.path("no/x.part"));
  EXPECT_SAYS(nowhere, "No such file or directory");
  ASSERT_EQ(::mkfifo(folder.path("pipe.part").c_str(), 0600), 0);
  EXPECT_SAYS(error_of<IoError>([&] { PartFile part(folder.path("pipe")); }), "Illegal seek");
  std::filesystem::create_directory(folder.path("taken"));
  PartFile part(folder.path("taken"));
  EXPECT_SAYS(error_of<IoError>([&] { part.commit(); }), "Is a directory");
  part.discard();
  EXPECT_SAYS(error_of<IoError>([&] { part.discard(); }), "No such file");
}

// A limit of the process simulates a full disk.
TEST(PartFile, ADiskWithoutRoomKeepsWhatCame) {
  const TempFolder folder;
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  PartFile part(folder.path("x"));
  const std::string message =
      error_of<IoError>([&] { part.append(bytes_of(std::string(1500, 'a'))); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_SAYS(message, "File too large");
  EXPECT_SAYS(message, "1000 bytes");
  EXPECT_EQ(folder.read("x.part").size(), 1000u);
}

}  // namespace
}  // namespace pando::fetch
