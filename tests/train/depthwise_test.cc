// Trains depthwise and separable convolutions with the activations of today's networks.
// SPDX-License-Identifier: MIT
#include "pando/store/weights_file.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

Network mobile_cnn() {
  return Sequential(
      {6, 6, 1},
      {Conv2D({.filters = 20, .kernel = {3, 3}, .padding = "same", .activation = "relu6"}),
       DepthwiseConv2D({.kernel = {3, 3}, .strides = {2, 2}, .padding = "same"}),
       BatchNormalization(), Activation("swish"),
       DepthwiseConv2D({.kernel = {2, 2}, .depth_multiplier = 2, .use_bias = false, .name = "two"}),
       Activation("hard_swish"),
       SeparableConv2D({.filters = 6, .kernel = {2, 2}, .activation = "gelu"}), Flatten(),
       Dense({.units = 3, .activation = "softmax"})});
}

TEST(Depthwise, AllWaysToCompileAgree) {
  Model model = compiled(mobile_cnn(), classifier(SGD(), {.slices = 2}));
  const Verification found = model.verify(6, image_data(4).fields());
  EXPECT_TRUE(found.ok) << found.table;
  EXPECT_SAYS(model.compile_report(4, image_data(4).fields()), "depthwise");
}

TEST(Depthwise, LearnsTheSameBitsOnAnyNumberOfWorkers) {
  const auto train = [](int threads) {
    Model model = compiled(
        mobile_cnn(), classifier(Adam({.learning_rate = 0.01}), {.threads = threads, .slices = 2}));
    model.fit(image_data(60), {.epochs = 6, .batch_size = 10, .verbose = 0});
    return model;
  };
  Model one = train(1);
  EXPECT_TRUE(same_weights(one, train(2)));
  EXPECT_GT(one.evaluate(image_data(60)).at(1).second, 0.9);
}

TEST(Depthwise, FilesHaveTheShapesOfKeras) {
  const TempFolder folder;
  const Model model(mobile_cnn(), {.seed = 3});
  model.save_weights(folder.path("a.h5"));
  const store::WeightsFile file = store::read_weights_file(folder.path("a.h5"));
  const auto shape = [&](const std::string& layer, size_t weight) {
    for (const store::LayerWeights& one : file.layers) {
      if (one.layer == layer) return one.weights.at(weight).value.shape();
    }
    return Shape{};
  };
  EXPECT_EQ(shape("depthwise_conv2d", 0), (Shape{3, 3, 20, 1}));
  EXPECT_EQ(shape("two", 0), (Shape{2, 2, 20, 2}));
  EXPECT_EQ(shape("separable_conv2d", 0), (Shape{2, 2, 40, 1}));
  EXPECT_EQ(shape("separable_conv2d", 1), (Shape{1, 1, 40, 6}));
  EXPECT_EQ(model.get_weight("two/depthwise_kernel").shape(), (Shape{2, 2, 20, 2}));

  Model loaded(mobile_cnn(), {.seed = 4});
  loaded.load_weights(folder.path("a.h5"));
  EXPECT_TRUE(same_weights(model, loaded));
  Model set(mobile_cnn(), {.seed = 5});
  set.set_weights(model.get_weights());
  EXPECT_TRUE(same_bits(set.predict(images(3).x), loaded.predict(images(3).x)));
}

}  // namespace
}  // namespace pando
