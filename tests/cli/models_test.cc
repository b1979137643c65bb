#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
#include "pando/base/strings.h"
#include "pando/zoo/zoo.h"
#include "tests/cli/run_cli.h"

namespace pando::cli {
namespace {

int64_t parameters_of(const ZooEntry& entry) {
  return entry.build(entry.input_shape, entry.outputs).trainable_parameters();
}

TEST(Models, TableHasEveryModelWithItsParameters) {
  const Result result = run({"models"});
  EXPECT_EQ(result.code, app::kDone);
  const std::vector<std::string> lines = split(result.out, '\n');
  ASSERT_GT(lines.size(), model_zoo().size());
  EXPECT_NE(lines[0].find(" made for "), std::string::npos);
  for (size_t i = 0; i < model_zoo().size(); ++i) {
    const ZooEntry& entry = model_zoo()[i];
    EXPECT_EQ(lines[i + 1].rfind(entry.name + " ", 0), 0u) << lines[i + 1];
    const std::string count = " " + with_thousands(parameters_of(entry)) + " ";
    EXPECT_NE(lines[i + 1].find(count), std::string::npos) << lines[i + 1];
  }
}

TEST(Models, JsonHasEveryModelWithItsParameters) {
  const Result result = run({"models", "--json"});
  EXPECT_EQ(result.code, app::kDone);
  const auto list = nlohmann::json::parse(result.out);
  ASSERT_EQ(list.size(), model_zoo().size());
  for (size_t i = 0; i < list.size(); ++i) {
    const ZooEntry& entry = model_zoo()[i];
    EXPECT_EQ(list[i].at("name"), entry.name);
    EXPECT_EQ(list[i].at("parameters"), parameters_of(entry));
    EXPECT_EQ(list[i].at("dataset"), entry.dataset);
  }
}

TEST(Models, HelpAndUnknownFlags) {
  EXPECT_NE(run({"models", "--help"}).out.find("usage: pando models"), std::string::npos);
  EXPECT_EQ(run({"models", "--jason"}).code, app::kUsage);
}

}  // namespace
}  // namespace pando::cli
