#include "pando/app/record/append_file.h"

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

TEST(AppendFile, MovesAndGoesOn) {
  const TestFolder folder;
  AppendFile file(folder.path / "f");
  file.append("one ");
  folder.write("g", "old");
  file.move_to(folder.path / "g");
  file.append("two");
  EXPECT_EQ(folder.read("g"), "one two");
  EXPECT_FALSE(fs::exists(folder.path / "f"));
  fs::create_directory(folder.path / "d");
  EXPECT_NE(
      message_of<IoError>([&] { file.move_to(folder.path / "d"); }).find("cannot be replaced"),
      std::string::npos);
  EXPECT_EQ(file.path(), folder.path / "g");
}

}  // namespace
}  // namespace pando::app
