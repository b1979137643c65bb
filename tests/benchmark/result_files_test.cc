#include "pando/benchmark/result_files.h"

#include <gtest/gtest.h>

#include "tests/app/expect_xml.h"
#include "tests/benchmark/results_of.h"

namespace pando::benchmark {
namespace {

class ResultFiles : public testing::Test {
 protected:
  const Benchmark first_{.name = "z\"1\"", .path = "/s/b.yml", .env = {{"A", "1"}}};
  const Benchmark second_{.name = "a<2>", .path = "/s/b.yml"};
  const Benchmark third_{.name = "skipped", .path = "/s/b.yml"};
  const std::vector<VariantResult> results_ = {result_of(first_, "throughput", {3, 4}),
                                               failed_result(second_, "loss", "broke & <ended>"),
                                               {.benchmark = &third_,
                                                .variant = {.name = "skipped", .parameters = {}},
                                                .skipped = "no data"}};
};

TEST_F(ResultFiles, JsonHasWhatRanSortedByName) {
  const Json json = Json::parse(results_json(results_));
  ASSERT_EQ(json.members().size(), 2u);
  EXPECT_EQ(json.members()[0].key, "a<2>");
  EXPECT_EQ(json.at("a<2>").items()[0].get<int>("exitcode"), 3);
  EXPECT_TRUE(json.at("a<2>").items()[0].at("results").at("loss").at("mean").is_null());
  std::string before;
  for (const Json::Member& one : json.members()[0].value.items()[0].members()) {
    EXPECT_LT(before, one.key);
    before = one.key;
  }
}

TEST_F(ResultFiles, CsvQuotesEverything) {
  EXPECT_EQ(
      results_csv(results_, {}),
      "\"benchmark name\",\"Variant name\",\"throughput\",\"latency\",\"total_compiling_time\"\n"
      "\"z\"\"1\"\"\",\"z\"\"1\"\"\",\"3.5\",\"\",\"\"\n"
      "\"a<2>\",\"a<2>\",\"\",\"\",\"\"\n");
  const std::string more = results_csv(results_, {.additional = true, .metrics = {"loss"}});
  EXPECT_TRUE(more.starts_with(
      "\"benchmark name\",\"Variant name\",\"throughput\",\"latency\",\"total_compiling_time\","
      "\"test_duration\",\"loss\",\"result\",\"cmd\",\"env\",\"git_commit_hash\",\"loss\"\n"
      "\"z\"\"1\"\"\",\"z\"\"1\"\"\",\"3.5\",\"\",\"\",\"3.500000\",\"\",\"PASSED\","
      "\"run z\"\"1\"\"\",\"{\"\"A\"\":\"\"1\"\"}\",\"\",\"\"\n"))
      << more;
}

TEST_F(ResultFiles, XmlEscapesNamesAndHasCounts) {
  const std::string xml = results_xml(results_);
  app::expect_xml(xml);
  for (const char* part :
       {"<testsuites tests=\"3\" failures=\"1\" skipped=\"1\" time=\"4.500\">",
        "classname=\"z&quot;1&quot;\"", "<property name=\"throughput.mean\" value=\"3.5\"/>",
        "<failure message=\"broke &amp; &lt;ended&gt;\">line &lt;1&gt;\nline \xef\xbf\xbd 2\n",
        "<skipped message=\"no data\"/>"}) {
    EXPECT_NE(xml.find(part), std::string::npos) << part << "\n" << xml;
  }
}

}  // namespace
}  // namespace pando::benchmark
