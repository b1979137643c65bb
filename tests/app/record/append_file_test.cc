#include "pando/app/record/append_file.h"

#include "pando/base/error.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

TEST(AppendFile, AFullDeviceIsAnError) {
  AppendFile file("/dev/full");
  EXPECT_SAYS(message_of<IoError>([&] { file.append("x"); }),
              "/dev/full: ", "No space left on device");
}

TEST(AppendFile, PathThatCannotBeOpened) {
  const auto open = [] { AppendFile file("/absent/file"); };
  EXPECT_SAYS(message_of<IoError>(open), "/absent/file: ", "No such file or directory");
}

TEST(AppendFile, ReplacesTheTail) {
  const TestFolder folder;
  AppendFile file(folder.path / "f");
  file.append("one END");
  file.replace_tail("END", "two END");
  EXPECT_EQ(folder.read("f"), "one two END");
  EXPECT_NE(message_of<InternalError>([&] { file.replace_tail(std::string(99, 'x'), ""); }), "");
}

}  // namespace
}  // namespace pando::app
