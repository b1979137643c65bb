// SPDX-License-Identifier: MIT
#include "pando/board/run_list.h"

#include <optional>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "pando/base/folder_lock.h"
#include "pando/base/strings.h"
#include "tests/board/board_runs.h"

namespace pando::board {
namespace {

namespace fs = std::filesystem;
using app::RunState;
using testing_support::TempFolder;

std::vector<std::string> paths_of(const RunList& list) {
  std::vector<std::string> paths;
  for (const RunEntry* entry : list.runs()) paths.push_back(entry->path);
  return paths;
}

struct RunListTest : testing::Test {
  fs::path run(const std::string& name) const { return fs::path(folder.path()) / name; }
  void add(const std::string& name, RunState state = RunState::done) const {
    write_summary(run(name), summary_with(state));
  }
  RunState state_of(const std::string& name) const {
    const RunEntry* entry = list.find(name);
    return entry == nullptr ? RunState::unknown : entry->summary.state;
  }
  TempFolder folder;
  RunList list{folder.path()};
};

TEST_F(RunListTest, ReadsOneFileOfEachOfAThousandRunsAndNoneTwice) {
  for (int i = 0; i < 1000; ++i) {
    add(concat("run-", i));
    fs::create_directories(run(concat("run-", i)) / "checkpoints");
    std::ofstream(run(concat("run-", i)) / "history.json") << "[\n]\n";
  }
  list.scan();
  EXPECT_EQ(list.runs().size(), 1000u);
  EXPECT_EQ(list.files_read(), 1000);
  const int64_t version = list.version();
  list.scan();
  EXPECT_EQ(list.files_read(), 1000);
  EXPECT_EQ(list.version(), version);
  add("run-7", RunState::failed);
  list.scan();
  EXPECT_EQ(list.files_read(), 1001);
  const RunList::Changes changes = list.changes_since(version);
  ASSERT_EQ(changes.changed.size(), 1u);
  EXPECT_EQ(changes.changed[0]->path, "run-7");
  EXPECT_EQ(changes.changed[0]->summary.state, RunState::failed);
  EXPECT_TRUE(changes.removed.empty());
}

TEST_F(RunListTest, FindsRunsInFoldersOfFoldersButNotInRuns) {
  add("one");
  add("sweep/a");
  add("sweep/deep/er/b");
  add("one/previous-1");  // an earlier run that this one has replaced
  add("1/2/3/4/too-deep");
  add(".hidden");
  fs::create_directories(run("empty"));
  std::ofstream(run("file")) << "no folder";
  list.scan();
  EXPECT_EQ(paths_of(list), (std::vector<std::string>{"one", "sweep/a", "sweep/deep/er/b"}));
  EXPECT_EQ(list.problem(), "");
}

TEST_F(RunListTest, TheFolderItselfMayBeARun) {
  add("here");
  RunList inside(run("here"));
  inside.scan();
  ASSERT_EQ(paths_of(inside), std::vector<std::string>{"."});
  EXPECT_EQ(inside.runs()[0]->name, "here");
}

TEST_F(RunListTest, ARunThatNobodyHoldsWasKilled) {
  add("run", RunState::running);
  std::optional<FolderLock> lock;
  lock.emplace(FolderLockOptions{.folder = run("run").string(), .remedy = "", .when_busy = [] {}});
  list.scan();
  EXPECT_EQ(state_of("run"), RunState::running);
  const int64_t version = list.version();
  lock.reset();
  list.scan();
  EXPECT_EQ(state_of("run"), RunState::killed);
  EXPECT_EQ(list.changes_since(version).changed.size(), 1u);
  EXPECT_EQ(list.files_read(), 1);
  // Somebody resumes it, and it ends.
  lock.emplace(FolderLockOptions{.folder = run("run").string(), .remedy = "", .when_busy = [] {}});
  list.scan();
  EXPECT_EQ(state_of("run"), RunState::running);
  add("run", RunState::stopped);
  lock.reset();
  list.scan();
  EXPECT_EQ(state_of("run"), RunState::stopped);
}

TEST_F(RunListTest, ALockThatAKilledProcessLeftIsFree) {
  add("run", RunState::running);
  std::ofstream(run("run") / ".lock") << "";
  list.scan();
  EXPECT_EQ(state_of("run"), RunState::killed);
  EXPECT_TRUE(fs::exists(run("run") / ".lock"));  // nothing is written or removed
}

TEST_F(RunListTest, FoldersVanishAndComeBack) {
  add("a");
  add("b");
  list.scan();
  int64_t version = list.version();
  fs::remove_all(run("a"));
  list.scan();
  EXPECT_EQ(list.changes_since(version).removed, std::vector<std::string>{"a"});
  EXPECT_EQ(list.find("a"), nullptr);
  add("a");
  list.scan();
  EXPECT_NE(list.find("a"), nullptr);
  EXPECT_TRUE(list.changes_since(version).removed.empty());

  version = list.version();
  const fs::path away = folder.path() + "-away";
  fs::rename(folder.path(), away);
  list.scan();
  EXPECT_TRUE(list.runs().empty());
  EXPECT_EQ(list.changes_since(version).removed.size(), 2u);
  EXPECT_NE(list.problem().find("there is no folder"), std::string::npos);
  fs::rename(away, folder.path());
  list.scan();
  EXPECT_EQ(list.runs().size(), 2u);
  EXPECT_EQ(list.problem(), "");
}

TEST_F(RunListTest, DamagedSummariesAreSaidAndReadAgainWhenTheyChange) {
  fs::create_directories(run("run"));
  std::ofstream(run("run") / app::kSummaryFile) << "{\"version\": 1, \"sta";
  fs::create_directories(run("large"));
  std::ofstream(run("large") / app::kSummaryFile) << std::string(2 << 20, ' ');
  list.scan();
  EXPECT_EQ(state_of("run"), RunState::unknown);
  EXPECT_NE(list.find("run")->problem.find("not a summary"), std::string::npos);
  EXPECT_NE(list.find("large")->problem.find("too large"), std::string::npos);
  list.scan();
  EXPECT_EQ(list.files_read(), 1);
  add("run");
  list.scan();
  EXPECT_EQ(state_of("run"), RunState::done);
  EXPECT_EQ(list.find("run")->problem, "");
}

TEST_F(RunListTest, RunsOfEarlierVersionsHaveNoSummary) {
  fs::create_directories(run("old"));
  std::ofstream(run("old") / "config.yml") << "model: mnist_cnn\n";
  list.scan();
  ASSERT_NE(list.find("old"), nullptr);
  EXPECT_EQ(state_of("old"), RunState::unknown);
  EXPECT_EQ(list.files_read(), 0);
}

TEST_F(RunListTest, LinksAndPipesAreNotFollowed) {
  const TempFolder elsewhere;
  write_run(fs::path(elsewhere.path()) / "secret");
  fs::create_directory_symlink(elsewhere.path() + "/secret", run("link"));
  fs::create_directories(run("linked-file"));
  fs::create_symlink(elsewhere.path() + "/secret/summary.json",
                     run("linked-file") / "summary.json");
  fs::create_directories(run("pipe"));
  ASSERT_EQ(::mkfifo((run("pipe") / "summary.json").c_str(), 0600), 0);  // reading it would wait
  list.scan();
  EXPECT_TRUE(list.runs().empty());
  EXPECT_EQ(list.files_read(), 0);
}

TEST_F(RunListTest, RunsOfManyInstances) {
  app::RunSummary summary = summary_with(RunState::done);
  summary.facts.instances = 16;
  summary.facts.replicas = 2;
  write_summary(run("job"), summary);
  list.scan();
  EXPECT_EQ(list.find("job")->summary.facts.instances, 16);
}

TEST_F(RunListTest, ARunThatIsRemovedWhileItIsReadIsSkipped) {
  for (int i = 0; i < 50; ++i) add(concat("run-", i));
  for (int round = 0; round < 5; ++round) {
    std::thread remover([&] {
      for (int i = round; i < 50; i += 5) fs::remove_all(run(concat("run-", i)));
    });
    list.scan();
    remover.join();
  }
  list.scan();
  EXPECT_TRUE(list.runs().empty());
}

}  // namespace
}  // namespace pando::board
