#include "pando/fetch/folder_lock.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::fetch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

TEST(FolderLock, LeavesNothing) {
  const TempFolder folder;
  {
    const FolderLock lock(folder.path(), [] { FAIL() << "nobody holds it"; });
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
      const FolderLock lock(folder.path(), [] {});
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
  const FolderLock held(folder.path(), [] {});
  int asked = 0;
  const auto give_up = [&] {
    if (++asked == 2) throw std::runtime_error("enough");
  };
  EXPECT_THROW(FolderLock(folder.path(), give_up), std::runtime_error);
  EXPECT_EQ(asked, 2);
}

TEST(FolderLock, NamesAFolderThatCannotBeWritten) {
  const TempFolder folder;
  const std::string message =
      error_of<IoError>([&] { FolderLock lock(folder.path("none"), [] {}); });
  EXPECT_SAYS(message, folder.path("none"));
  EXPECT_SAYS(message, "--folder");
}

}  // namespace
}  // namespace pando::fetch
