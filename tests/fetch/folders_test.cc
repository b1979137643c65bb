#include "pando/fetch/folders.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::fetch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

// Unsets the variables that name folders, and restores them at the end.
class CleanEnvironment {
 public:
  CleanEnvironment() {
    for (const char* name : {"PANDO_DATA", "XDG_DATA_HOME", "HOME"}) {
      const char* value = std::getenv(name);
      before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      ::unsetenv(name);
    }
  }
  ~CleanEnvironment() {
    for (const auto& [name, value] : before_) {
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
  }
  CleanEnvironment(const CleanEnvironment&) = delete;
  CleanEnvironment& operator=(const CleanEnvironment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST(Folders, TheDefaultFollowsTheEnvironment) {
  const CleanEnvironment clean;
  const std::string message = error_of([] { default_folder(); });
  EXPECT_SAYS(message, "PANDO_DATA, XDG_DATA_HOME and HOME are not set", "set PANDO_DATA");
  EXPECT_EQ(message.find("--"), std::string::npos);  // not every command has a flag for it
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_folder(), "/home/me/.local/share/pando");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_EQ(default_folder(), "/home/me/.local/share/pando");
  ::setenv("XDG_DATA_HOME", "/share", 1);
  EXPECT_EQ(default_folder(), "/share/pando");
  ::setenv("PANDO_DATA", "/data", 1);
  EXPECT_EQ(default_folder(), "/data");
  EXPECT_EQ(dataset_folder({.name = "x"}, ""), "/data/x");
  EXPECT_EQ(dataset_folder({.name = "x"}, "/own"), "/own/x");
}

// Only commands with the flag pass a folder on.
TEST(Folders, AdviceNamesAFlagOnlyToItsUsers) {
  EXPECT_SAYS(other_folder_advice(""), "PANDO_DATA");
  EXPECT_EQ(other_folder_advice("").find("--"), std::string::npos);
  EXPECT_SAYS(other_folder_advice("/own"), "--folder");
}

TEST(Folders, FindsPlainFilesOfTheRightSize) {
  const TempFolder folder;
  const RemoteDataset set = {.name = "set",
                             .files = {{.name = "a", .bytes = 3}, {.name = "b", .bytes = 4}}};
  EXPECT_EQ(find_fetched(set, folder.path()), std::nullopt);
  std::filesystem::create_directory(folder.path("set"));
  folder.write_text("set/a", "abc");
  EXPECT_EQ(find_fetched(set, folder.path()), std::nullopt);
  folder.write_text("set/b", "abc");
  EXPECT_EQ(find_fetched(set, folder.path()), std::nullopt);
  folder.write_text("set/b", "abcd");
  EXPECT_EQ(find_fetched(set, folder.path()), folder.path("set"));
}

TEST(Folders, FindsUnpackedFiles) {
  const TempFolder folder;
  const RemoteDataset set = {
      .name = "set",
      .files = {{.name = "a.tar.gz",
                 .bytes = 99,
                 .contents = {{.path = "in/a", .bytes = 3},
                              {.path = "in/text", .bytes = 9, .optional = true}}}},
      .subfolder = "in"};
  std::filesystem::create_directories(folder.path("set/in"));
  EXPECT_EQ(find_fetched(set, folder.path()), std::nullopt);
  folder.write_text("set/in/a", "abc");
  EXPECT_EQ(find_fetched(set, folder.path()), folder.path("set/in"));
}

TEST(ReplaceFolder, TheOldOneGoesAside) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("made"));
  replace_folder(folder.path("made"), folder.path("target"), folder.path("aside"));
  folder.write_text("target/x", "old");
  std::filesystem::create_directory(folder.path("made"));
  folder.write_text("made/x", "new");
  replace_folder(folder.path("made"), folder.path("target"), folder.path("aside"));
  EXPECT_EQ(folder.read("target/x"), "new");
  EXPECT_EQ(folder.read("aside/x"), "old");
  EXPECT_EQ(folder.entries(), 2);
}

TEST(ReplaceFolder, TheOldOneStaysWhenItFails) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("target"));
  folder.write_text("target/x", "old");
  const auto error = [&](const std::string& aside) {
    return error_of<IoError>(
        [&] { replace_folder(folder.path("made"), folder.path("target"), folder.path(aside)); });
  };
  for (const std::string aside : {"aside", "none/aside"}) {
    EXPECT_SAYS(error(aside), "'" + folder.path("target") + "'");
    EXPECT_SAYS(error(aside), "No such file");
  }
  EXPECT_EQ(folder.read("target/x"), "old");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(Folders, APackageHasAllFiles) {
  const TempFolder folder;
  RemoteDataset set = {.name = "set", .files = {{.name = "a.gz"}, {.name = "b.gz"}}};
  EXPECT_EQ(find_packaged(set), std::nullopt);
  set.packaged = folder.path();
  folder.write_text("a.gz", "of any size");
  EXPECT_EQ(find_packaged(set), std::nullopt);
  folder.write_text("b.gz", "");
  EXPECT_EQ(find_packaged(set), folder.path());
}

}  // namespace
}  // namespace pando::fetch
