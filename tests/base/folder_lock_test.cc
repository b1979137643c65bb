#include "pando/base/folder_lock.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

FolderLockOptions lock_of(
    const TempFolder& folder, std::function<void()> when_busy = [] {}) {
  return {.folder = folder.path(), .when_busy = std::move(when_busy)};
}

TEST(FolderLock, LeavesNothing) {
  const TempFolder folder;
  {
    const FolderLock lock(lock_of(folder, [] { FAIL() << "nobody holds it"; }));
    EXPECT_EQ(folder.entries(), 1);
  }
  EXPECT_EQ(folder.entries(), 0);
}

TEST(FolderLock, OneAfterTheOther) {
  const TempFolder folder;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const FolderLock lock(lock_of(folder));
      most = std::max(most.load(), ++inside);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      --inside;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(folder.entries(), 0);
}

TEST(FolderLock, WhoWaitsMayGiveUp) {
  const TempFolder folder;
  const FolderLock held(lock_of(folder));
  int asked = 0;
  const auto give_up = [&] {
    if (++asked == 2) throw std::runtime_error("enough");
  };
  EXPECT_THROW(FolderLock(lock_of(folder, give_up)), std::runtime_error);
  EXPECT_EQ(asked, 2);
}

TEST(FolderLock, UsersOfOtherNamesDoNotConflict) {
  const TempFolder folder;
  const FolderLock held(lock_of(folder));
  const FolderLock other({.folder = folder.path(), .name = ".other", .when_busy = [] { FAIL(); }});
  EXPECT_EQ(folder.entries(), 2);
}

TEST(FolderLock, DoesNotRemoveTheFileOfAnotherHolder) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("a"));
  auto moved =
      std::make_unique<FolderLock>(FolderLockOptions{.folder = folder.path("a"), .when_busy = {}});
  std::filesystem::rename(folder.path("a"), folder.path("b"));
  std::filesystem::create_directory(folder.path("a"));
  const FolderLock later({.folder = folder.path("a"), .when_busy = [] { FAIL(); }});
  moved.reset();
  EXPECT_TRUE(std::filesystem::exists(folder.path("a/.lock")));
}

TEST(FolderLock, NamesAFolderThatCannotBeWritten) {
  const TempFolder folder;
  const std::string message =
      error_of<IoError>([&] { FolderLock({.folder = folder.path("none"), .remedy = "do this"}); });
  EXPECT_SAYS(message, folder.path("none"));
  EXPECT_SAYS(message, "do this");
}

// An open folder.
struct OpenFolder {
  explicit OpenFolder(const std::string& path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY)) {}
  ~OpenFolder() { ::close(descriptor); }
  int descriptor;
};

TEST(FolderLock, OthersCanAskWhetherItIsHeld) {
  const TempFolder folder;
  const OpenFolder open(folder.path());
  EXPECT_EQ(is_lock_held(open.descriptor), false);
  {
    const FolderLock lock(lock_of(folder));
    EXPECT_EQ(is_lock_held(open.descriptor), true);
    EXPECT_EQ(is_lock_held(open.descriptor, "another"), false);
  }
  EXPECT_EQ(is_lock_held(open.descriptor), false);
  std::ofstream(folder.path() + "/.lock") << "";  // as a killed process leaves it
  EXPECT_EQ(is_lock_held(open.descriptor), false);
  std::filesystem::remove(folder.path() + "/.lock");
  std::filesystem::create_symlink("/etc/passwd", folder.path() + "/.lock");
  EXPECT_EQ(is_lock_held(open.descriptor), std::nullopt);
}

TEST(FolderLock, NobodyFailsBecauseOthersAsk) {
  const TempFolder folder;
  const OpenFolder open(folder.path());
  std::atomic<bool> stop = false;
  std::thread asking([&] {
    while (!stop) is_lock_held(open.descriptor);
  });
  for (int i = 0; i < 200; ++i) {
    const FolderLock lock(lock_of(folder, [] { FAIL() << "nobody holds it"; }));
  }
  stop = true;
  asking.join();
}

}  // namespace
}  // namespace pando
