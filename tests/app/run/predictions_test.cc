#include "pando/app/run/predictions.h"

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

}  // namespace
}  // namespace pando::app
