#include "pando/app/run_directory.h"

#include <cmath>
#include <csignal>

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

nlohmann::json read_json(const TestFolder& folder) {
  return nlohmann::json::parse(folder.read("history.json"));
}

// The working directory of the test while it lives.
struct InFolder {
  fs::path old = fs::current_path();
  explicit InFolder(const fs::path& path) { fs::current_path(path); }
  ~InFolder() { fs::current_path(old); }
};

// No file may grow beyond this while it lives, as on a full disk: a write stops in the middle.
struct FileLimit {
  rlimit old{};
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    const rlimit now{.rlim_cur = bytes, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &old); }
};

TEST(RunDirectory, WritesConfigHistoryLogAndCheckpoints) {
  const TestFolder folder;
  const fs::path path = folder.path / "a/b";
  RunDirectory run({.path = path, .model = "m", .config = "seed: 1\n"});
  run.log("first");
  run.log("second");
  run.append_history({.epoch = 1, .step = 938, .loss = 0.5});
  EXPECT_EQ(run.path(), path);
  EXPECT_TRUE(fs::is_directory(run.checkpoints()));
  EXPECT_EQ(folder.read("a/b/config.yml"), "seed: 1\n");
  EXPECT_EQ(folder.read("a/b/log.txt"), "first\nsecond\n");
  EXPECT_EQ(nlohmann::json::parse(folder.read("a/b/history.json")).size(), 1u);
  EXPECT_TRUE(run.previous().empty());
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
    std::ofstream(run.checkpoints() / "epoch_1.h5") << text;
  }
  EXPECT_EQ(folder.read("config.yml"), "three\n");
  EXPECT_EQ(folder.read("previous-1/config.yml"), "one\n");
  EXPECT_EQ(folder.read("previous-2/checkpoints/epoch_1.h5"), "two\n");
}

TEST(RunDirectory, AFileInTheWayIsNamed) {
  const TestFolder folder;
  const std::string file = folder.write("file", "x");
  for (const std::string& path : {file, file + "/below"}) {
    const std::string message = message_of<IoError>([&] { RunDirectory run({.path = path}); });
    EXPECT_NE(message.find("run directory " + path + ": cannot be made: "), std::string::npos)
        << message;
    EXPECT_NE(message.find("--run-dir"), std::string::npos);
  }
  EXPECT_EQ(folder.read("file"), "x");
}

TEST(RunDirectory, AFolderThatCannotBeWrittenIsNamed) {
  if (geteuid() == 0) {
    // The kernel refuses new folders in /proc to everybody.
    EXPECT_NE(message_of<IoError>([] { RunDirectory run({.path = "/proc/pando"}); }), "");
    return;
  }
  const TestFolder folder;
  fs::permissions(folder.path, fs::perms::owner_read | fs::perms::owner_exec);
  const fs::path below = folder.path / "x";
  EXPECT_NE(message_of<IoError>([&] { RunDirectory run({.path = below}); }), "");
  fs::permissions(folder.path, fs::perms::owner_all);
}

TEST(History, RowsInBothFiles) {
  const TestFolder folder;
  HistoryWriter history(folder.path / "history.csv", folder.path / "history.json");
  EXPECT_EQ(read_json(folder).size(), 0u);
  history.append({.epoch = 0.5, .step = 469, .loss = 1.0 / 3, .throughput = 6e4});
  history.append({.epoch = 1, .step = 938, .val_accuracy = 0.875});
  EXPECT_EQ(folder.read("history.csv"),
            "epoch,step,loss,accuracy,throughput,learning_rate,seconds,val_loss,val_accuracy\n"
            "0.5,469,0.3333333333333333,,60000,,,,\n"
            "1,938,,,,,,,0.875\n");
  const nlohmann::json rows = read_json(folder);
  EXPECT_EQ(rows[0]["loss"].get<double>(), 1.0 / 3);
  EXPECT_EQ(rows[1]["step"].dump(), "938");
  EXPECT_FALSE(rows[0].contains("val_loss"));
}

TEST(History, AColumnMayAppearLater) {
  const TestFolder folder;
  HistoryWriter history(folder.path / "history.csv", folder.path / "history.json");
  history.append({.epoch = 1, .step = 1});
  history.append({.epoch = 2, .step = 2, .extra = {{"top_5", 0.5}}});
  history.append({.epoch = 3, .step = 3, .extra = {{"scale", 128}}});
  const std::vector<std::string> lines = split(folder.read("history.csv"), '\n');
  EXPECT_EQ(lines[0].substr(lines[0].size() - 24), "val_accuracy,top_5,scale");
  EXPECT_EQ(lines[1], "1,1,,,,,,,,,");
  EXPECT_EQ(lines[2], "2,2,,,,,,,,0.5,");
  EXPECT_EQ(lines[3], "3,3,,,,,,,,,128");
  EXPECT_EQ(read_json(folder)[1]["top_5"].get<double>(), 0.5);
  EXPECT_FALSE(fs::exists(folder.path / "history.csv.new"));
}

TEST(History, NotFiniteIsNullInJson) {
  const TestFolder folder;
  HistoryWriter history(folder.path / "history.csv", folder.path / "history.json");
  history.append({.epoch = 1, .step = 1, .loss = std::nan(""), .accuracy = INFINITY});
  EXPECT_TRUE(read_json(folder)[0]["loss"].is_null());
  EXPECT_NE(folder.read("history.csv").find("1,1,nan,inf,"), std::string::npos);
}

TEST(History, RefusesColumnsThatWouldBreakTheFile) {
  const TestFolder folder;
  HistoryWriter history(folder.path / "history.csv", folder.path / "history.json");
  for (const char* name : {"", "a,b", "a\"b", "a\nb", "loss"}) {
    const auto append = [&] { history.append({.extra = {{name, 1.0}}}); };
    EXPECT_NE(message_of<InvalidArgument>(append).find("history: column"), std::string::npos);
  }
  EXPECT_EQ(read_json(folder).size(), 0u);
}

TEST(History, AFullDiskLosesNoRowThatWasWritten) {
  const TestFolder folder;
  HistoryWriter history(folder.path / "history.csv", folder.path / "history.json");
  size_t written = 0;
  std::string message;
  {
    const FileLimit limit(1000);
    message = message_of<IoError>([&] {
      for (int i = 0; i < 1000; ++i, ++written)
        history.append({.epoch = 1.0 * i, .step = i, .loss = 1});
    });
  }
  EXPECT_NE(message.find("history.json: writing failed: "), std::string::npos) << message;
  EXPECT_GT(written, 5u);
  EXPECT_EQ(read_json(folder).size(), written);
  // There is room again.
  history.append({.epoch = 7, .step = 7});
  EXPECT_EQ(read_json(folder).size(), written + 1);
}

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
