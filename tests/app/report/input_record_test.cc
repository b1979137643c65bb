#include "pando/app/report/input_record.h"

#include <gtest/gtest.h>

#include "pando/base/json.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

TEST(InputRecord, SpreadsOverTheData) {
  const TestFolder folder;
  Tensor labels(DType::i32, {100});
  for (int i = 0; i < 100; ++i) labels.i32()[static_cast<size_t>(i)] = i;
  write_input_record(
      folder.path, input_record(Dataset::from_tensors(Tensor(DType::f32, {100, 4, 6, 3}), labels)));
  const Json record = Json::parse(folder.read(kInputFile));
  EXPECT_EQ(record.get<std::string>("fields"), "x f32[4,6,3], y i32[]");
  EXPECT_EQ(record.at("tile").dump(), "[4,6]");
  ASSERT_EQ(record.at("samples").items().size(), 24u);
  EXPECT_EQ(record.at("samples").items()[1].dump(), "[4,4]");
  EXPECT_TRUE(folder.read(kInputPictures).starts_with("\x89PNG"));
}

// Mixed samples have shares of classes: the largest is shown.
TEST(InputRecord, LabelsOfMixedAndOtherSamples) {
  const TestFolder folder;
  const Tensor mixed({1, 3}, std::vector<float>{0.1f, 0.2f, 0.7f});
  write_input_record(folder.path,
                     input_record(Dataset::from_tensors(Tensor(DType::u8, {1, 4, 4, 1}), mixed)));
  EXPECT_EQ(Json::parse(folder.read(kInputFile)).at("samples").dump(), "[[0,2]]");
  write_input_record(folder.path,
                     input_record(Dataset::from_tensors(Tensor(DType::u8, {1, 4, 4, 1}))));
  EXPECT_EQ(Json::parse(folder.read(kInputFile)).at("samples").dump(), "[[0,null]]");
}

TEST(InputRecord, NothingForOtherDataButTheirTime) {
  const TestFolder folder;
  const Dataset numbers = Dataset::from_tensors(Tensor(DType::f32, {2, 7}));
  write_input_record(folder.path, input_record(numbers));
  EXPECT_FALSE(std::filesystem::exists(folder.path / kInputFile));
  const PreparationTime time{.samples = 30, .seconds = 0.25, .workers = 2};
  write_input_record(folder.path, input_record(numbers, time));
  const Json record = Json::parse(folder.read(kInputFile));
  EXPECT_EQ(record.at("prepared").get<int>("samples"), 30);
  EXPECT_EQ(record.at("prepared").get<double>("seconds"), 0.25);
  EXPECT_EQ(record.find("samples"), nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder.path / kInputPictures));
}

TEST(InputRecord, MeasuresPreparation) {
  const Dataset few = Dataset::from_tensors(Tensor(DType::f32, {3, 4, 4, 1}));
  const PreparationTime time = measure_preparation(few, 2);
  EXPECT_GT(time.samples, 0);
  EXPECT_GT(time.seconds, 0);
}

}  // namespace
}  // namespace pando::app
