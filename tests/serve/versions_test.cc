#include "pando/serve/versions.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/serve/small_models.h"
#include "tests/support/expect_error.h"

namespace pando::serve {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;
using Numbers = std::vector<int64_t>;

std::vector<FoundVersion> versions(const Numbers& numbers) {
  std::vector<FoundVersion> found;
  for (const int64_t number : numbers) found.push_back({number, "/v"});
  return found;
}

TEST(Versions, AreTheNumberedFoldersOfTheBasePath) {
  const TempFolder folder;
  for (const char* name : {"10", "9", "007", "7", ".tmp-11", "notes"}) {
    std::filesystem::create_directory(folder.path(name));
  }
  folder.write_text("12", "a file");
  const auto found = find_versions(folder.path());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], (FoundVersion{7, folder.path("7")}));
  EXPECT_EQ(found[2], (FoundVersion{10, folder.path("10")}));
  EXPECT_EQ(find_versions(folder.path("12")), (std::vector<FoundVersion>{{1, folder.path("12")}}));
  EXPECT_SAYS(error_of<IoError>([&] { find_versions(folder.path("none")); }), "none",
              "cannot read");
}

TEST(Versions, PoliciesChooseAmongThem) {
  using Kind = VersionPolicy::Kind;
  const auto found = versions({1, 3, 7});
  EXPECT_EQ(wanted_versions({}, found), (Numbers{7}));
  EXPECT_EQ(wanted_versions({.num_versions = 2}, found), (Numbers{3, 7}));
  EXPECT_EQ(wanted_versions({.num_versions = 9}, found), (Numbers{1, 3, 7}));
  EXPECT_EQ(wanted_versions({.kind = Kind::all}, found), (Numbers{1, 3, 7}));
  EXPECT_EQ(wanted_versions({.kind = Kind::specific, .versions = {7, 2, 1}}, found),
            (Numbers{1, 7}));
  EXPECT_EQ(wanted_versions({}, {}), Numbers{});
}

TEST(Versions, HaveOneModelFile) {
  const TempFolder folder;
  const FoundVersion version{1, folder.path("1")};
  std::filesystem::create_directory(version.path);
  EXPECT_SAYS(error_of<IoError>([&] { model_file_of(version); }), "model.onnx", "found 0");
  folder.write_text("1/readme.txt", "no model");
  save_model(scaling_model(1), folder.path("1/a.onnx"));
  EXPECT_EQ(model_file_of(version), folder.path("1/a.onnx"));
  save_model(scaling_model(1), folder.path("1/b.onnx"));
  EXPECT_SAYS(error_of<IoError>([&] { model_file_of(version); }), "found 2");
  save_model(scaling_model(1), folder.path("1/model.onnx"));
  EXPECT_EQ(model_file_of(version), folder.path("1/model.onnx"));
  EXPECT_EQ(model_file_of({1, folder.path("1/a.onnx")}), folder.path("1/a.onnx"));
}

TEST(Versions, FingerprintsChangeWithTheFiles) {
  const TempFolder folder;
  const FoundVersion version{1, folder.path()};
  const std::string before = fingerprint_of(version);
  folder.write_text("model.onnx", "half");
  const std::string half = fingerprint_of(version);
  folder.write_text("model.onnx", "half and the rest");
  EXPECT_NE(before, half);
  EXPECT_NE(half, fingerprint_of(version));
  EXPECT_EQ(fingerprint_of(version), fingerprint_of(version));
  EXPECT_NE(fingerprint_of({1, folder.path("model.onnx")}), "");
  EXPECT_EQ(fingerprint_of({1, folder.path("none")}), "");
}

using Progress = std::map<int64_t, VersionProgress>;
constexpr VersionProgress kLoaded = {.is_loaded = true};
constexpr VersionProgress kFailed = {.may_try = false};

TEST(VersionActions, ANewVersionIsLoadedBeforeTheOldOneGoes) {
  EXPECT_EQ(next_actions({2}, {{1, kLoaded}}, Transition::load_first),
            (VersionActions{.load = {2}, .unload = {}}));
  EXPECT_EQ(next_actions({2}, {{1, kLoaded}, {2, kLoaded}}, Transition::load_first),
            (VersionActions{.load = {}, .unload = {1}}));
  EXPECT_EQ(next_actions({2}, {{2, kLoaded}}, Transition::load_first), VersionActions{});
}

TEST(VersionActions, ABrokenVersionNeverReplacesAGoodOne) {
  EXPECT_EQ(next_actions({2}, {{1, kLoaded}, {2, kFailed}}, Transition::load_first),
            VersionActions{});
  EXPECT_EQ(next_actions({2}, {{1, kLoaded}, {2, kFailed}}, Transition::unload_first),
            VersionActions{});
  // One of two wanted versions is good.
  EXPECT_EQ(
      next_actions({2, 3}, {{1, kLoaded}, {2, kLoaded}, {3, kFailed}}, Transition::load_first),
      (VersionActions{.load = {}, .unload = {1}}));
}

TEST(VersionActions, TheOldOneGoesFirstWhereMemoryIsShort) {
  EXPECT_EQ(next_actions({2}, {{1, kLoaded}}, Transition::unload_first),
            (VersionActions{.load = {2}, .unload = {1}}));
}

TEST(VersionActions, TheNewestIsLoadedFirst) {
  EXPECT_EQ(next_actions({1, 2, 3}, {}, Transition::load_first).load, (Numbers{3, 2, 1}));
}

TEST(VersionActions, AnEmptyFolderEndsNothing) {
  EXPECT_EQ(next_actions({}, {{1, kLoaded}}, Transition::load_first), VersionActions{});
}

}  // namespace
}  // namespace pando::serve
