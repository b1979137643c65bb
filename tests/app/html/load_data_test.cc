#include "pando/app/html/load_data.h"

#include <gtest/gtest.h>

#include "pando/base/json.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

TEST(LoadData, HasStepsOfTheHistory) {
  const TestFolder folder;
  folder.write("history.json",
               "[\n{\"epoch\":1.0,\"step\":10,\"seconds\":2.0,\"loss\":0.5},\n"
               "{\"epoch\":2.0,\"step\":20,\"seconds\":4.0,\"loss\":0.5}\n]\n");
  EXPECT_EQ(load_charts(std::vector{read_run(folder.path)}).dump(), "[]");
  folder.write("load.csv", "seconds,...\n1,50,60,1000,0,0\n3,50,60,1000,0,0\n9,50,60,1000,0,0\n");
  const Json charts = load_charts(std::vector{read_run(folder.path)});
  ASSERT_EQ(charts.items().size(), 3u);
  const Json& memory = charts.items()[1].at("curves").items()[0];
  EXPECT_EQ(charts.items()[1].get<std::string>("unit"), "B");
  EXPECT_EQ(memory.at("x").at("epoch").dump(), "[0.5,1.5,2.0]");
  EXPECT_EQ(memory.at("x").at("step").dump(), "[5.0,15.0,20.0]");
  EXPECT_EQ(memory.at("y").dump(), "[1000.0,1000.0,1000.0]");
}

}  // namespace
}  // namespace pando::app
