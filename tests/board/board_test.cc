// SPDX-License-Identifier: MIT
#include "pando/board/board.h"

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "tests/board/board_runs.h"
#include "tests/support/expect_error.h"

namespace pando::board {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::TempFolder;

struct BoardTest : testing::Test {
  fs::path run(const std::string& name) const { return fs::path(folder.path()) / name; }
  Mark mark_of(const Json& opened, size_t index = 0) const {
    return parse_mark(opened.at("marks").items().at(index).get<std::string>());
  }
  static const Json* chart_of(const Json& json, const std::string& title) {
    for (const Json& chart : json.at("charts").items()) {
      if (chart.get<std::string>("title") == title) return &chart;
    }
    return nullptr;
  }
  static std::vector<int64_t> steps_of(const Json& json, size_t curve = 0) {
    const Json* chart = chart_of(json, "Loss");
    if (chart == nullptr) return {};
    return chart->at("curves").items().at(curve).at("x").get<std::vector<int64_t>>("step");
  }
  TempFolder folder;
  Board board{folder.path()};
};

TEST_F(BoardTest, ListsRuns) {
  write_run(run("a"));
  write_summary(run("<script>"), summary_with(app::RunState::failed));
  const Json list = board.runs();
  EXPECT_EQ(list.get<std::string>("folder"), folder.path());
  const auto& runs = list.at("runs").items();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].get<std::string>("id"), "%3Cscript%3E");
  EXPECT_EQ(runs[0].get<std::string>("name"), "<script>");
  EXPECT_EQ(runs[0].get<std::string>("state"), "failed");
  EXPECT_EQ(runs[1].at("best").get<std::string>("text"), "87.50 %");
  EXPECT_EQ(runs[1].get<std::vector<double>>("points"), (std::vector<double>{1, 0.5, 0.25}));
  EXPECT_EQ(board.history_bytes(), 0);  // no run is open
  EXPECT_EQ(board.changes_since(list.get<int64_t>("version")), std::nullopt);
  fs::remove_all(run("a"));
  board.scan();
  const std::optional<Json> changes = board.changes_since(list.get<int64_t>("version"));
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->get<std::vector<std::string>>("removed"), std::vector<std::string>{"a"});
}

TEST_F(BoardTest, OpensAndComparesRuns) {
  write_run(run("a"), 3);
  write_run(run("b"), 5);
  const Json opened = board.open({"a", "b"});
  EXPECT_EQ(steps_of(opened, 0), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(steps_of(opened, 1), (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(opened.at("differing").items().at(0).get<std::string>("name"), "seed");
  EXPECT_EQ(opened.at("runs").items().at(1).get<std::string>("id"), "b");
  EXPECT_EQ(opened.at("runs").items().at(1).at("entry").get<std::string>("state"), "done");
  const int64_t bytes = board.history_bytes();
  EXPECT_EQ(bytes, static_cast<int64_t>(fs::file_size(run("a") / "history.json") +
                                        fs::file_size(run("b") / "history.json")));
  board.open({"a", "b"});
  EXPECT_EQ(board.history_bytes(), bytes);  // another page costs no further read
}

TEST_F(BoardTest, TellsWhatWasAppended) {
  write_run(run("a"), 0);
  app::HistoryWriter history(run("a") / "history.csv", run("a") / "history.json");
  history.append(row_at(1));
  Mark mark = mark_of(board.open({"a"}));
  EXPECT_EQ(mark.rows, 1u);
  Mark other_page = mark;
  EXPECT_EQ(board.news_of("a", mark), std::nullopt);
  history.append(row_at(2));
  history.append(row_at(3));
  const std::optional<Json> news = board.news_of("a", mark);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->get<std::string>("run"), "a");
  EXPECT_EQ(steps_of(*news), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(mark.rows, 3u);
  const int64_t bytes = board.history_bytes();
  EXPECT_EQ(steps_of(*board.news_of("a", other_page)), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(board.history_bytes(), bytes);
  EXPECT_EQ(board.news_of("a", mark), std::nullopt);
}

TEST_F(BoardTest, AResumedRunIsOpenedAgain) {
  write_run(run("a"), 5);
  Mark mark = mark_of(board.open({"a"}));
  write_run(run("a"), 2);
  std::optional<Json> news = board.news_of("a", mark);
  ASSERT_TRUE(news);
  EXPECT_TRUE(news->get<bool>("reset"));
  mark = mark_of(board.open({"a"}));
  EXPECT_EQ(mark.rows, 2u);
  EXPECT_EQ(board.news_of("a", mark), std::nullopt);
  // A page that was open before the board was started anew.
  Mark foreign = {.opening = 77, .rows = 1};
  EXPECT_TRUE(board.news_of("a", foreign)->get<bool>("reset"));
  EXPECT_TRUE(board.news_of("never-opened", foreign)->get<bool>("reset"));
}

TEST_F(BoardTest, ARunThatCannotBeReadIsNotKeptOpen) {
  write_summary(run("a"), summary_with(app::RunState::running));  // it has only just begun
  EXPECT_SAYS(error_of<IoError>([&] { board.open({"a"}); }), "config.yml");
  write_run(run("a"), 2);
  EXPECT_EQ(mark_of(board.open({"a"})).rows, 2u);
  write_run(run("a"), 1);
  EXPECT_EQ(steps_of(board.open({"a"})), std::vector<int64_t>{1});
}

TEST_F(BoardTest, AnOpenRunMayVanish) {
  write_run(run("a"));
  Mark mark = mark_of(board.open({"a"}));
  fs::remove_all(run("a"));
  EXPECT_EQ(board.news_of("a", mark), std::nullopt);
  board.scan();
  EXPECT_EQ(board.news_of("a", mark), std::nullopt);
  EXPECT_SAYS(error_of<IoError>([&] { board.open({"a"}); }), "no run 'a'");
}

TEST_F(BoardTest, OnlyRunsOfTheListAreOpened) {
  write_run(run("a"));
  const TempFolder elsewhere;
  write_run(fs::path(elsewhere.path()) / "b");
  for (const std::string path : {"../b", "..", "/etc", "a/..", "a/../a", "./a", "a/", "", "b"}) {
    EXPECT_SAYS(error_of<IoError>([&] { board.open({path}); }), "no run");
    EXPECT_SAYS(error_of<IoError>([&] { board.folders_of({path}); }), "no run");
  }
  EXPECT_SAYS(error_of([&] { board.open({}); }), "1 to 16", "got 0");
  EXPECT_SAYS(error_of([&] { board.open(std::vector<std::string>(17, "a")); }), "got 17");
  EXPECT_EQ(board.folders_of({"a"}), std::vector<fs::path>{run("a")});
}

TEST_F(BoardTest, FilesThatLeadOutOfTheFolderAreNotShown) {
  const TempFolder elsewhere;
  std::ofstream(elsewhere.path("secrets.yml")) << "password: s3cret\n";
  write_run(run("a"));
  fs::remove(run("a") / "config.yml");
  fs::create_symlink(elsewhere.path("secrets.yml"), run("a") / "config.yml");
  EXPECT_SAYS(error_of<IoError>([&] { board.open({"a"}); }), "config.yml", "link out of");
  EXPECT_SAYS(error_of<IoError>([&] { board.folders_of({"a"}); }), "link out of");
  // Weights on another disk, and links that stay inside, are common.
  write_run(run("b"));
  fs::create_directory_symlink(elsewhere.path(), run("b") / "checkpoints");
  fs::create_symlink("history.csv", run("b") / "latest.csv");
  EXPECT_EQ(board.folders_of({"b"}).size(), 1u);
}

TEST_F(BoardTest, ForgetsRunsThatNobodyLooksAt) {
  for (int i = 0; i < 48; ++i) write_run(run(concat("run-", i)), 1);
  Mark first = mark_of(board.open({"run-0"}));
  for (int i = 1; i < 48; ++i) board.open({concat("run-", i)});
  EXPECT_TRUE(board.news_of("run-0", first)->get<bool>("reset"));
}

TEST(BoardMark, Parse) {
  const Mark mark = parse_mark(to_string(Mark{.opening = 3, .rows = 14}));
  EXPECT_EQ(mark.opening, 3);
  EXPECT_EQ(mark.rows, 14u);
  for (const std::string text : {"", "3", "a.b", "3.", "-1.2", "1.-2", "1.2.3"}) {
    EXPECT_SAYS(error_of([&] { parse_mark(text); }), "opening.rows", text);
  }
}

}  // namespace
}  // namespace pando::board
