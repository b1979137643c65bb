#include "pando/options/output_place.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

TEST(OutputPlace, AFileThatCanBeWrittenIsLeftAsItIs) {
  const app::TestFolder folder;
  const std::string path = (folder.path / "x").string();
  check_output_file("--output", path);
  EXPECT_FALSE(fs::exists(path));
  std::ofstream(path) << "old";
  check_output_file("--output", path);
  EXPECT_EQ(folder.read("x"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 1);
}

TEST(OutputPlace, AFileThatCannotBeWrittenIsAnErrorOfTheFlag) {
  const app::TestFolder folder;
  const std::string loop = (folder.path / "loop").string();
  fs::create_symlink("loop", loop);
  const std::string long_name = (folder.path / std::string(300, 'x')).string();
  const std::vector<std::pair<std::string, std::string>> places = {
      {folder.path.string(), "got the folder"},
      {(folder.path / "none" / "x").string(), "does not exist"},
      {(folder.path / "none" / "").string(), "does not exist"},
      {"/dev/full", "not a regular file"},
      {"/proc/x", "/proc/x"},
      {loop, "symbolic link"},
      {loop + "/x", "does not exist"},
      {long_name, "too long"},
  };
  for (const auto& [path, word] : places) {
    SCOPED_TRACE(path);
    EXPECT_SAYS(error_of<UsageError>([&, place = path] { check_output_file("--graph", place); }),
                "--graph: ", word, "use another path");
  }
}

TEST(OutputPlace, AFolderIsMadeWithItsParents) {
  const app::TestFolder folder;
  const fs::path deep = folder.path / "a" / "b";
  make_output_folder("--output", deep.string());
  EXPECT_TRUE(fs::is_directory(deep));
  make_output_folder("--output", deep.string());
  std::ofstream(folder.path / "file") << "x";
  fs::create_symlink("loop", folder.path / "loop");
  for (const char* wrong : {"file", "file/x", "loop", "loop/x"}) {
    SCOPED_TRACE(wrong);
    const std::string path = (folder.path / wrong).string();
    EXPECT_SAYS(error_of<UsageError>([&] { make_output_folder("--log-dir", path); }),
                "--log-dir: ", wrong, "use another path");
  }
}

}  // namespace
}  // namespace pando
