#include "pando/app/record/run_directory.h"

#include <cstdlib>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "pando/base/error.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

// Changes the working directory during its lifetime.
struct InFolder {
  fs::path old = fs::current_path();
  explicit InFolder(const fs::path& path) { fs::current_path(path); }
  ~InFolder() { fs::current_path(old); }
};

TEST(RunDirectory, WritesConfigHistoryLogAndCheckpoints) {
  const TestFolder folder;
  const fs::path path = folder.path / "a/b";
  RunDirectory run({.path = path, .model = "m", .config = "seed: 1\n"});
  run.log("first");
  run.log("second");
  run.append_history({.epoch = 1, .step = 938, .loss = 0.5});
  EXPECT_EQ(run.path(), path);
  EXPECT_EQ(folder.read("a/b/config.yml"), "seed: 1\n");
  EXPECT_EQ(folder.read("a/b/log.txt"), "first\nsecond\n");
  EXPECT_EQ(nlohmann::json::parse(folder.read("a/b/history.json")).size(), 1u);
  EXPECT_TRUE(run.previous().empty());
}

TEST(RunDirectory, OfAnotherInstanceIsNotTouched) {
  const TestFolder folder;
  const fs::path path = folder.path / "run";
  RunDirectory run({.path = path, .model = "m", .writes = false});
  run.log("line");
  run.append_history({.epoch = 1, .step = 938, .loss = 0.5});
  EXPECT_EQ(run.path(), path);
  EXPECT_FALSE(fs::exists(path));
}

TEST(RunDirectory, DefaultNameHasModelAndTimeAndIsUnique) {
  const TestFolder folder;
  const InFolder inside(folder.path);
  setenv("TZ", "UTC", 1);
  const RunDirectoryOptions options{.model = "mnist_cnn", .time = 1'000'000'000};
  EXPECT_EQ(RunDirectory(options).path(), "runs/mnist_cnn-20010909-014640");
  EXPECT_EQ(RunDirectory(options).path(), "runs/mnist_cnn-20010909-014640-2");
  EXPECT_EQ(RunDirectory(options).path(), "runs/mnist_cnn-20010909-014640-3");
}

TEST(RunDirectory, KeepsTheFilesOfEarlierRuns) {
  const TestFolder folder;
  for (const char* text : {"one\n", "two\n", "three\n"}) {
    RunDirectory run({.path = folder.path, .config = text});
    run.log(text);
    fs::create_directory(run.checkpoints());
    std::ofstream(run.checkpoints() / "epoch_1.h5") << text;
  }
  EXPECT_EQ(folder.read("config.yml"), "three\n");
  EXPECT_EQ(folder.read("previous-1/config.yml"), "one\n");
  EXPECT_EQ(folder.read("previous-2/checkpoints/epoch_1.h5"), "two\n");
}

TEST(RunDirectory, DoesNotKeepTemporaryFilesOfKilledRuns) {
  const TestFolder folder;
  for (int run = 0; run < 2; ++run) {
    const RunDirectory directory({.path = folder.path, .config = "x"});
    fs::create_directories(directory.checkpoints());
    std::ofstream(directory.checkpoints() / ".pando-1-0.tmp") << "half a checkpoint";
    std::ofstream(directory.checkpoints() / "epoch_1.h5") << "x";
  }
  EXPECT_TRUE(fs::exists(folder.path / "previous-1/checkpoints/epoch_1.h5"));
  EXPECT_FALSE(fs::exists(folder.path / "previous-1/checkpoints/.pando-1-0.tmp"));
}

TEST(RunDirectory, HasOneWriterAtATime) {
  const TestFolder folder;
  const InFolder inside(folder.path);
  for (const fs::path& chosen : {fs::path(), fs::path("chosen")}) {
    const RunDirectory first({.path = chosen, .model = "m"});
    EXPECT_SAYS(message_of<ResourceError>([&] { RunDirectory({.path = first.path()}); }),
                first.path().string(), "another run", "--run-dir");
  }
  EXPECT_FALSE(fs::exists("chosen/.lock"));
}

TEST(RunDirectory, AFileInTheWayIsNamed) {
  const TestFolder folder;
  const std::string file = folder.write("file", "x");
  for (const std::string& path : {file, file + "/below"}) {
    const std::string message = message_of<IoError>([&] { RunDirectory run({.path = path}); });
    EXPECT_SAYS(message, "run directory " + path, "--run-dir", "--output-dir");
  }
  EXPECT_EQ(folder.read("file"), "x");
}

TEST(RunDirectory, AFolderThatCannotBeWrittenIsNamed) {
  if (geteuid() == 0) {
    // Nobody, not even root, can create a folder in /proc.
    EXPECT_NE(message_of<IoError>([] { RunDirectory run({.path = "/proc/pando"}); }), "");
    return;
  }
  const TestFolder folder;
  fs::permissions(folder.path, fs::perms::owner_read | fs::perms::owner_exec);
  const fs::path below = folder.path / "x";
  EXPECT_NE(message_of<IoError>([&] { RunDirectory run({.path = below}); }), "");
  fs::permissions(folder.path, fs::perms::owner_all);
}

}  // namespace
}  // namespace pando::app
