#include "pando/app/html/run_report.h"

#include "pando/app/html/summary_data.h"
#include "pando/base/error.h"
#include "pando/base/json.h"
#include "tests/app/html/page_data.h"
#include "tests/app/html/trace_text.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

TEST(RunReport, HasResultCommandAndCurves) {
  const TestFolder folder;
  folder.write("config.yml", "model: mnist_cnn\nseed: 3\n");
  folder.write("history.json",
               "[\n{\"epoch\":1.0,\"step\":10,\"loss\":0.5,\"val_accuracy\":0.8125}\n]\n");
  RunFacts facts;
  facts.command = "pando train '</script><b>'";
  write_run_facts(folder.path, facts);
  RunSummary summary;
  summary.state = RunState::failed;
  summary.cause = "no space <!-- ";
  folder.write("summary.json", to_json_text(summary));
  const std::string html = run_report_html({folder.path});
  EXPECT_EQ(html.find("'</script><b>'"), std::string::npos);
  const Json data = data_of_page(html);
  const Json& run = data.at("runs").items()[0];
  EXPECT_EQ(run.get<std::string>("command"), facts.command);
  EXPECT_EQ(run.get<std::string>("cause"), summary.cause);
  EXPECT_EQ(run.get<std::string>("state"), "failed");
  EXPECT_EQ(run.at("best").get<std::string>("text"), "81.25 %");
  EXPECT_EQ(data.at("charts").items().size(), 2u);
}

TEST(RunReport, ValidationsOfEarlierEpochsDoNotTurnBackTheCount) {
  const TestFolder folder;
  folder.write("config.yml", "model: mnist_cnn\n");
  folder.write("history.json",
               "[\n{\"epoch\":3.0,\"step\":30,\"loss\":0.5},\n"
               "{\"epoch\":1.0,\"step\":10,\"val_accuracy\":0.8}\n]\n");
  const Json data = data_of_page(run_report_html({folder.path}));
  EXPECT_EQ(data.at("runs").items()[0].get<double>("epochs"), 3);
}

TEST(RunReport, NamesTheOptionsThatDiffer) {
  const TestFolder folder;
  for (const char* name : {"a", "b"}) std::filesystem::create_directory(folder.path / name);
  folder.write("a/config.yml", "model: m\nseed: 1\nrun-dir: a\nonly: 1\n");
  folder.write("b/config.yml", "model: m\nseed: 2\nrun-dir: b\n");
  const std::vector<RunRecord> runs = {read_run(folder.path / "a"), read_run(folder.path / "b")};
  EXPECT_EQ(differing_options(runs).dump(),
            "[{\"name\":\"seed\",\"values\":[\"1\",\"2\"]},"
            "{\"name\":\"only\",\"values\":[\"1\",null]}]");
  EXPECT_SAYS(run_report_html(runs), "<title>a, b · Pando</title>");
  EXPECT_SAYS(run_report_html(runs, {.title = "x"}), "<title>x</title>");
  EXPECT_SAYS(error_of<IoError>([&] { run_report_html({folder.path}); }),
              "not the directory of a run");
}

// A long run stays small: 10,000 rows and a trace of 40,000 events.
TEST(RunReport, LongRunsAreBounded) {
  const TestFolder folder;
  std::string rows = "[\n";
  for (int i = 1; i <= 10000; ++i) {
    rows += "{\"epoch\":" + std::to_string(i / 100.0) + ",\"step\":" + std::to_string(i) +
            ",\"loss\":" + std::to_string(1.0 / i) +
            ",\"accuracy\":0.5,\"seconds\":" + std::to_string(i) + "},\n";
  }
  folder.write("history.json", rows + "]\n");
  std::filesystem::create_directory(folder.path / "profile");
  folder.write("profile/train_trace.json", trace_text(40000));
  std::vector<RunRecord> runs = {read_run(folder.path)};
  runs[0].facts.profile = (folder.path / "profile").string();
  const std::string html = run_report_html(runs);
  EXPECT_LT(html.size(), size_t{15} << 20);
  const Json data = data_of_page(html);
  EXPECT_EQ(data.at("runs").items()[0].get<int>("rows"), 10000);
  for (const Json& chart : data.at("charts").items()) {
    EXPECT_LE(chart.at("curves").items()[0].at("y").items().size(), 1000u);
  }
  EXPECT_LE(data.at("details").items()[0].at("profile").at("trace").get<size_t>("shown"), 20000u);
}

}  // namespace
}  // namespace pando::app
