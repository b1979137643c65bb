#include "pando/app/record/history_writer.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

nlohmann::json read_json(const TestFolder& folder) {
  return nlohmann::json::parse(folder.read("history.json"));
}

TEST(History, RowsInBothFiles) {
  const TestFolder folder;
  HistoryWriter history(folder.path / "history.csv", folder.path / "history.json");
  EXPECT_EQ(read_json(folder).size(), 0u);
  history.append({.epoch = 0.5, .step = 469, .loss = 1.0 / 3, .throughput = 6e4});
  history.append({.epoch = 1, .step = 938, .val_metric = 0.875});
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
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 2);
}

TEST(History, NotFiniteIsNullInJson) {
  const TestFolder folder;
  HistoryWriter history(folder.path / "history.csv", folder.path / "history.json");
  history.append({.epoch = 1, .step = 1, .loss = std::nan(""), .metric = INFINITY});
  EXPECT_TRUE(read_json(folder)[0]["loss"].is_null());
  EXPECT_NE(folder.read("history.csv").find("1,1,nan,inf,"), std::string::npos);
}

TEST(History, AnInvalidFileIsAnErrorThatSaysWhere) {
  const TestFolder folder;
  const auto error = [&](const std::string& text) {
    const std::string path = folder.write("history.json", text);
    return message_of<IoError>([&] { read_history(path, 10); });
  };
  EXPECT_SAYS(error("[\n{]"), "history.json: not a valid history file: ", "line 2, column 2");
  EXPECT_SAYS(error(R"([{"epoch": 1}])"), "expected key 'step'", "epoch");
  EXPECT_SAYS(error(R"([{"epoch": 1, "step": 2, "loss": "x"}])"), "'loss'", R"("x")");
  EXPECT_SAYS(error(R"({"epoch": 1, "step": 2})"), "expected an array");
}

TEST(History, RefusesColumnsThatWouldBreakTheFile) {
  const TestFolder folder;
  HistoryWriter history(folder.path / "history.csv", folder.path / "history.json");
  for (const char* name : {"", "a,b", "a\"b", "a\nb", "loss"}) {
    const auto append = [&] { history.append({.extra = {{name, 1.0}}}); };
    EXPECT_SAYS(message_of<InvalidArgument>(append), "history", concat("'", name, "'"));
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
  EXPECT_SAYS(message, "history.json: ", "File too large");
  EXPECT_GT(written, 5u);
  EXPECT_EQ(read_json(folder).size(), written);
  // The disk has space again.
  history.append({.epoch = 7, .step = 7});
  EXPECT_EQ(read_json(folder).size(), written + 1);
}

}  // namespace
}  // namespace pando::app
