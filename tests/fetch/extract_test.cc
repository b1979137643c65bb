#include "pando/fetch/extract.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/fetch/archives.h"
#include "tests/fetch/server.h"
#include "tests/support/expect_error.h"

namespace pando::fetch {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::TempFolder;

class Extract : public testing::Test {
 protected:
  Extract() { fs::create_directory(folder_.path("out")); }

  std::vector<ExtractedFile> unpack(const std::vector<std::string>& entries) {
    make_tar(folder_.path("a.tar.gz"), entries);
    return extract(folder_.path("a.tar.gz"), wanted_, folder_.path("out"));
  }
  // The error of a bad archive; nothing may be written outside the folder, and nothing but wanted
  // files inside.
  std::string fault_of(const std::vector<std::string>& entries) {
    std::string message = error_of<IoError>([&] { unpack(entries); });
    EXPECT_SAYS(message, folder_.path("a.tar.gz"));
    EXPECT_EQ(folder_.entries(), 2);
    return message;
  }

  TempFolder folder_;
  std::vector<ArchivedFile> wanted_ = {{.path = "in/a", .bytes = 1000},
                                       {.path = "in/text", .bytes = 50, .optional = true}};
};

TEST_F(Extract, TakesWhatIsWanted) {
  const std::vector<ExtractedFile> files =
      unpack({"in/", "in/a=1000", "in/text=7", "in/else=99", "elsewhere/a=1"});
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "in/a");
  EXPECT_EQ(files[0].sha256, digest_of(std::string(1000, 'a')));
  EXPECT_EQ(folder_.read("out/in/a"), std::string(1000, 'a'));
  EXPECT_EQ(folder_.read("out/in/text"), "aaaaaaa");
  EXPECT_FALSE(fs::exists(folder_.path("out/in/else")));
  EXPECT_FALSE(fs::exists(folder_.path("out/elsewhere")));
}

TEST_F(Extract, NamesMayBeginWithADot) { EXPECT_EQ(unpack({"./in/a=1000"}).size(), 1u); }

TEST_F(Extract, SizesOverOnePiece) {
  wanted_ = {{.path = "in/a", .bytes = 1'000'000}};
  EXPECT_EQ(unpack({"in/a=1000000"})[0].sha256, digest_of(std::string(1'000'000, 'a')));
}

TEST_F(Extract, RefusesToLeaveTheFolder) {
  EXPECT_SAYS(fault_of({"in/a=1000", folder_.path("evil") + "=5"}), "has an absolute path");
  fs::remove_all(folder_.path("out/in"));
  EXPECT_SAYS(fault_of({"in/a=1000", "../evil=5"}), "'../evil' has .. in its path");
  EXPECT_SAYS(fault_of({"in/../../evil=5"}), "has .. in its path");
}

TEST_F(Extract, RefusesLinks) {
  EXPECT_SAYS(fault_of({"in->/tmp", "in/a=1000"}), "'in' is a link");
  EXPECT_SAYS(fault_of({"in/a->/etc/passwd"}), "'in/a' is a link");
  EXPECT_SAYS(fault_of({"in/a=>/etc/passwd"}), "'in/a' is a link");
}

TEST_F(Extract, RefusesWhatIsNoFile) {
  EXPECT_SAYS(fault_of({"in/a!"}), "'in/a' is not a regular file");
  EXPECT_SAYS(fault_of({"in/a/"}), "in/a");
}

TEST_F(Extract, RefusesOtherSizes) {
  EXPECT_SAYS(fault_of({"in/a=1001"}), "has 1001 bytes instead of 1000");
  EXPECT_SAYS(fault_of({"in/a=999"}), "has 999 bytes instead of 1000");
  EXPECT_SAYS(fault_of({"in/text=51"}), "has 51 bytes instead of at most 50");
}

TEST_F(Extract, RefusesTheSameFileTwice) {
  EXPECT_SAYS(fault_of({"in/a=1000", "in/a=1000"}), "twice");
}

TEST_F(Extract, NamesWhatIsMissing) { EXPECT_SAYS(fault_of({"in/text=5"}), "in/a"); }

TEST_F(Extract, DamagedArchives) {
  const std::string path = make_tar(folder_.path("a.tar.gz"), {"in/a=1000"});
  const std::string whole = folder_.read("a.tar.gz");
  const auto damaged = [&](const std::string& bytes) {
    folder_.write_text("a.tar.gz", bytes);
    return error_of<IoError>([&] { extract(path, wanted_, folder_.path("out")); });
  };
  EXPECT_SAYS(damaged(whole.substr(0, 60)), "a.tar.gz: ");
  EXPECT_SAYS(damaged("not an archive, but a page that says so"), "--force");
  fs::remove(path);
  EXPECT_SAYS(error_of<IoError>([&] { extract(path, wanted_, folder_.path("out")); }),
              "Failed to open");
}

}  // namespace
}  // namespace pando::fetch
