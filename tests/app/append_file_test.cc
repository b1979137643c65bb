#include "pando/app/append_file.h"

#include "pando/base/error.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

TEST(AppendFile, AFullDeviceIsAnError) {
  AppendFile file("/dev/full");
  EXPECT_EQ(message_of<IoError>([&] { file.append("x"); }),
            "/dev/full: writing failed: No space left on device");
}

TEST(AppendFile, PathThatCannotBeOpened) {
  const auto open = [] { AppendFile file("/absent/file"); };
  EXPECT_NE(message_of<IoError>(open).find("/absent/file: cannot be opened for writing"),
            std::string::npos);
}

TEST(AppendFile, ReplacesTheTail) {
  const TestFolder folder;
  AppendFile file(folder.path / "f");
  file.append("one END");
  file.replace_tail("END", "two END");
  EXPECT_EQ(folder.read("f"), "one two END");
  EXPECT_NE(message_of<InternalError>([&] { file.replace_tail(std::string(99, 'x'), ""); }), "");
}

TEST(ReplaceFile, KeepsTheOldFileWhenTheNewOneFails) {
  const TestFolder folder;
  folder.write("f", "old");
  {
    const FileLimit limit(2);
    EXPECT_NE(message_of<IoError>([&] { replace_file(folder.path / "f", "new text"); }), "");
  }
  EXPECT_EQ(folder.read("f"), "old");
  EXPECT_FALSE(fs::exists(folder.path / "f.new"));
  replace_file(folder.path / "f", "new");
  EXPECT_EQ(folder.read("f"), "new");
  fs::create_directory(folder.path / "d");
  EXPECT_NE(
      message_of<IoError>([&] { replace_file(folder.path / "d", "x"); }).find("cannot be replaced"),
      std::string::npos);
}

}  // namespace
}  // namespace pando::app
