#include "pando/app/run/export_version.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/nn/layers.h"
#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::TempFolder;

Model exported_model() { return Model(Sequential({4}, {Dense({.units = 2})}), {.name = "m"}); }

std::set<std::string> entries(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TEST(ExportVersion, NumbersAreWhole) {
  EXPECT_EQ(version_number("00000123"), 123);
  EXPECT_EQ(version_number("0"), 0);
  EXPECT_EQ(version_number("9223372036854775807"), 9223372036854775807);
  for (const std::string name : {"", "-1", "+1", "1a", " 1", ".tmp-7", "9223372036854775808"}) {
    EXPECT_EQ(version_number(name), std::nullopt) << name;
  }
}

TEST(ExportVersion, HasExamplesBesideTheModel) {
  const TempFolder folder;
  const std::string base = folder.path("base");
  export_version(exported_model(), {.base = base, .examples = {{"0-cat.png", {1, 2, 3}}}});
  EXPECT_EQ(entries(base + "/1"), (std::set<std::string>{"model.onnx", "examples"}));
  EXPECT_EQ(entries(base + "/1/examples"), std::set<std::string>{"0-cat.png"});
  EXPECT_EQ(fs::file_size(base + "/1/examples/0-cat.png"), 3u);
  export_version(exported_model(), {.base = base});
  EXPECT_EQ(entries(base + "/2"), std::set<std::string>{"model.onnx"});
}

TEST(ExportVersion, TakesTheNextFreeNumber) {
  const TempFolder folder;
  const std::string base = folder.path("a/b");
  EXPECT_EQ(export_version(exported_model(), {.base = base}), base + "/1/model.onnx");
  EXPECT_EQ(export_version(exported_model(), {.base = base, .version = 7}), base + "/7/model.onnx");
  fs::create_directory(base + "/notes");
  EXPECT_EQ(export_version(exported_model(), {.base = base}), base + "/8/model.onnx");
  EXPECT_EQ(entries(base), (std::set<std::string>{"1", "7", "8", "notes"}));
  EXPECT_EQ(load_model(base + "/8/model.onnx").network().parameters(), 10);
}

TEST(ExportVersion, RefusesPlacesThatAreNotForVersions) {
  const TempFolder folder;
  const auto refusal = [](const VersionExport& what) {
    return error_of<UsageError>([&] { export_version(exported_model(), what); });
  };
  EXPECT_SAYS(refusal({.base = ""}), "--export-dir");
  folder.write_text("file", "");
  EXPECT_SAYS(refusal({.base = folder.path("file")}), "is a file");
  EXPECT_SAYS(refusal({.base = folder.path()}), "no versions", "'file'");
  export_version(exported_model(), {.base = folder.path("good"), .version = 3});
  EXPECT_SAYS(refusal({.base = folder.path("good"), .version = 3}), "version 3 already");
  fs::create_directory(folder.path("good/9223372036854775807"));
  EXPECT_SAYS(refusal({.base = folder.path("good")}), "no larger one");
}

TEST(ExportVersion, LeavesUnfinishedFoldersOfOthersAlone) {
  const TempFolder folder;
  const std::string own = concat(".tmp-", ::getpid());
  for (const std::string& name : {own, own + "-0"}) {
    fs::create_directories(folder.path("base/" + name));
    folder.write_text("base/" + name + "/model.onnx", "half");
  }
  export_version(exported_model(), {.base = folder.path("base")});
  EXPECT_EQ(entries(folder.path("base")), (std::set<std::string>{"1", own, own + "-0"}));
  EXPECT_EQ(folder.read("base/" + own + "-0/model.onnx"), "half");
}

TEST(ExportVersion, LeavesNothingIfItCannotWrite) {
  const TempFolder folder;
  folder.write_text("file", "");
  EXPECT_SAYS(error_of<IoError>(
                  [&] { export_version(exported_model(), {.base = folder.path("file/base")}); }),
              "--export-dir", "cannot create");
}

TEST(ExportVersion, AFailureLeavesNoVersion) {
  const TempFolder folder;
  EXPECT_THROW(export_version(exported_model(), {.base = folder.path("v"), .save = {.opset = 1}}),
               Error);
  EXPECT_EQ(entries(folder.path("v")), std::set<std::string>{});
}

TEST(ExportVersion, RemovesWhatKilledExportsLeft) {
  const TempFolder folder;
  fs::create_directories(folder.path("v/.tmp-1"));
  fs::create_directories(folder.path("v/.tmp-2"));
  fs::last_write_time(folder.path("v/.tmp-1"),
                      fs::file_time_type::clock::now() - std::chrono::hours(30));
  export_version(exported_model(), {.base = folder.path("v")});
  EXPECT_EQ(entries(folder.path("v")), (std::set<std::string>{".tmp-2", "1"}));
}

}  // namespace
}  // namespace pando::app
