#include "pando/app/run/predictions.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/data/image/png.h"
#include "pando/nn/layers.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

Network pooled(int64_t height, int64_t width) {
  return Sequential({height, width, 3},
                    {Conv2D({.filters = 2, .kernel = {3, 3}, .name = "conv"}),
                     GlobalAveragePooling2D(), Dense({.units = 2, .name = "last"})});
}

// A model of pictures of any size.
Model open_model() {
  Model model(pooled(8, 8), {.name = "open"});
  model.set_open_sizes(
      {.axes = {{true, true, false}}, .network = [](const std::vector<Shape>& inputs) {
         return pooled(inputs[0][0], inputs[0][1]);
       }});
  model.set_facts({.labels = {}, .pictures = assumed_preparation(model.network(), std::nullopt)});
  return model;
}

// What cannot be written, such as a mask on a full disk, ends the command. It is not a picture that
// cannot be read, and files that have an answer are not told of a second time.
TEST(Predictions, FailuresBehindTheNetworkPassThrough) {
  const testing_support::TempFolder folder;
  const std::vector<uint8_t> pixels(size_t{12 * 10 * 3}, 7);
  const std::vector<uint8_t> png = encode_png({pixels.data(), {12, 10}, 3});
  Model model = open_model();
  PredictionOptions options;
  options.files = {folder.write("a.png", png), folder.write("b.png", png)};
  options.own_sizes = true;
  std::vector<std::string> answered, unread;
  options.answer = [&](const Prediction& prediction) {
    if (!answered.empty()) throw IoError("the disk is full");
    answered.push_back(prediction.file);
  };
  options.unread = [&](const std::string& file, const std::string&) { unread.push_back(file); };
  EXPECT_THROW(predict_pictures(model, options), IoError);
  EXPECT_EQ(answered, std::vector{options.files[0]});
  EXPECT_EQ(unread, std::vector<std::string>());
}

// The kind of a picture, marks that it may have, a number and a mask.
Network with_four_outputs() {
  const SymbolicTensor picture = Input({8, 8, 3});
  const SymbolicTensor seen = GlobalAveragePooling2D()(picture);
  return Network({picture}, {Dense({.units = 3, .activation = "softmax", .name = "kind"})(seen),
                             Dense({.units = 2, .activation = "sigmoid", .name = "marks"})(seen),
                             Dense({.units = 1, .name = "amount"})(seen),
                             Conv2D({.filters = 4, .kernel = {1, 1}, .name = "places"})(picture)});
}

TEST(Predictions, EachOutputAnswersUnderItsName) {
  const testing_support::TempFolder folder;
  const std::vector<uint8_t> pixels(size_t{8 * 8 * 3}, 7);
  Model model(with_four_outputs());
  model.set_facts({.labels = {"cat", "dog", "fox"},
                   .pictures = assumed_preparation(model.network(), AssumedValues::scale)});
  PredictionOptions options;
  options.files = {folder.write("a.png", encode_png({pixels.data(), {8, 8}, 3}))};
  options.mask_folder = folder.path("masks");
  std::vector<Prediction> answers;
  options.answer = [&](const Prediction& one) { answers.push_back(one); };
  options.unread = [](const std::string&, const std::string& why) { ADD_FAILURE() << why; };
  EXPECT_EQ(predict_pictures(model, options), 1);
  ASSERT_EQ(answers.size(), 4u);
  std::vector<std::string> names;
  for (const Prediction& one : answers) names.push_back(one.output);
  EXPECT_EQ(names, (std::vector<std::string>{"kind", "marks", "amount", "places"}));
  EXPECT_EQ(answers[0].scores.size(), 3u);
  EXPECT_TRUE(std::set<std::string>({"cat", "dog", "fox"}).contains(answers[0].scores[0].label));
  EXPECT_EQ(answers[1].scores.size(), 2u);
  EXPECT_EQ(answers[1].scores[0].label, "0");  // the labels are those of the other output
  EXPECT_TRUE(answers[1].are_shares);
  EXPECT_FALSE(answers[2].are_shares);
  EXPECT_EQ(answers[3].mask, folder.path("masks/a-places.png"));
  EXPECT_TRUE(std::filesystem::exists(answers[3].mask));
}

}  // namespace
}  // namespace pando::app
