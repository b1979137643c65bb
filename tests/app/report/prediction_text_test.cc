#include "pando/app/report/prediction_text.h"

#include <sstream>

#include <gtest/gtest.h>

#include "pando/base/json.h"

namespace pando::app {
namespace {

const std::vector<Prediction>& two() {
  static const std::vector<Prediction> predictions = {
      {.file = "a,b.png", .scores = {{1, "big \"cat\"", 0.75}, {0, "dog", 0.25}}, .mask = {}},
      {.file = "c\n.png", .scores = {{2, "2", 1}}, .mask = "masks/c.png"}};
  return predictions;
}

std::string written(PredictionForm form, const std::vector<Prediction>& predictions,
                    bool several_outputs = false) {
  std::ostringstream out;
  PredictionWriter writer(out, form, several_outputs);
  for (const Prediction& prediction : predictions) writer.write(prediction);
  writer.finish();
  return out.str();
}

TEST(PredictionText, ALineForEachPicture) {
  EXPECT_EQ(written(PredictionForm::text, two()),
            "a,b.png: big \"cat\" 75.00 %, dog 25.00 %\nc .png: masks/c.png, 2 100.00 %\n");
  Prediction numbers = two()[0];
  numbers.are_shares = false;
  EXPECT_EQ(written(PredictionForm::text, {numbers}), "a,b.png: big \"cat\" 0.75, dog 0.25\n");
}

TEST(PredictionText, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(written(PredictionForm::csv, two()),
            "file,rank,index,label,value\n\"a,b.png\",1,1,\"big \"\"cat\"\"\",0.75\n"
            "\"a,b.png\",2,0,dog,0.25\n\"c\n.png\",1,2,2,1\n");
  EXPECT_EQ(written(PredictionForm::csv, {}), "file,rank,index,label,value\n");
}

TEST(PredictionText, JsonCanBeReadBack) {
  const Json json = Json::parse(written(PredictionForm::json, two()));
  ASSERT_EQ(json.items().size(), 2u);
  EXPECT_EQ(json.items()[0].at("scores").items()[0].get<std::string>("label"), "big \"cat\"");
  EXPECT_EQ(json.items()[1].get<std::string>("file"), "c\n.png");
  EXPECT_EQ(json.items()[1].get<std::string>("mask"), "masks/c.png");
  EXPECT_EQ(written(PredictionForm::json, {}), "[]\n");
}

TEST(PredictionText, NamesEachOfSeveralOutputs) {
  const std::vector<Prediction> outputs = {
      {.file = "a.png", .output = "kind", .scores = {{1, "cat", 0.75}}, .mask = {}},
      {.file = "a.png",
       .output = "weight",
       .scores = {{0, "0", 4.5}},
       .mask = {},
       .are_shares = false}};
  EXPECT_EQ(written(PredictionForm::text, outputs, true),
            "a.png, kind: cat 75.00 %\na.png, weight: 0 4.5\n");
  EXPECT_EQ(
      written(PredictionForm::csv, outputs, true),
      "file,output,rank,index,label,value\na.png,kind,1,1,cat,0.75\na.png,weight,1,0,0,4.5\n");
  EXPECT_EQ(written(PredictionForm::csv, {}, true), "file,output,rank,index,label,value\n");
  const Json json = Json::parse(written(PredictionForm::json, outputs, true));
  EXPECT_EQ(json.items()[1].get<std::string>("output"), "weight");
}

}  // namespace
}  // namespace pando::app
