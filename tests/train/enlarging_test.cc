// Trains a small network of the layers that shrink and enlarge pictures.
// SPDX-License-Identifier: MIT
#include "pando/store/weights_file.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

Network small_unet() {
  const SymbolicTensor x = Input({6, 6, 1});
  const SymbolicTensor down =
      Conv2D({.filters = 8, .kernel = {3, 3}, .padding = "same", .activation = "relu"})(x);
  const SymbolicTensor pooled = MaxPooling2D({.pool = {4, 4}, .ceil_mode = true})(down);
  const SymbolicTensor deep = Conv2D({.filters = 8,
                                      .kernel = {3, 3},
                                      .padding = "same",
                                      .groups = 4,
                                      .activation = "relu",
                                      .name = "deep"})(pooled);
  const SymbolicTensor up = Conv2DTranspose(
      {.filters = 6, .kernel = {3, 3}, .strides = {3, 3}, .activation = "relu", .name = "up"})(
      deep);
  const SymbolicTensor smooth = UpSampling2D({.size = {3, 3}, .interpolation = "bilinear"})(pooled);
  const SymbolicTensor joined = Concatenate()({down, up, smooth});
  const SymbolicTensor boxes = SpaceToDepth()(Resize({.size = {8, 8}})(joined));
  const SymbolicTensor middle = Cropping2D({.top_bottom = {1, 0}})(ZeroPadding2D()(boxes));
  const SymbolicTensor most = GlobalMaxPooling2D()(middle);
  return Network(x, Dense({.units = 3, .activation = "softmax"})(most));
}

TEST(Enlarging, AllWaysToCompileAgree) {
  Model model = compiled(small_unet(), classifier(SGD(), {.slices = 2}));
  const Verification found = model.verify(6, image_data(4).fields());
  EXPECT_TRUE(found.ok) << found.table;
  const std::string report = model.compile_report(4, image_data(4).fields());
  for (const char* op : {"conv_transpose", "resize_grad", "global_max_pool_grad", "grouped:2"}) {
    EXPECT_SAYS(report, op);
  }
}

TEST(Enlarging, LearnsTheSameBitsOnAnyNumberOfWorkers) {
  const auto train = [](int threads) {
    Model model = compiled(
        small_unet(), classifier(Adam({.learning_rate = 0.01}), {.threads = threads, .slices = 2}));
    model.fit(image_data(60), {.epochs = 6, .batch_size = 10, .verbose = 0});
    return model;
  };
  Model one = train(1);
  EXPECT_TRUE(same_weights(one, train(2)));
  EXPECT_GT(one.evaluate(image_data(60)).at(1).second, 0.9);
}

TEST(Enlarging, LearnsInHalfPrecision) {
  for (const Precision& precision :
       {Precision{DType::f16, DType::f32}, Precision{DType::bf16, DType::f32}}) {
    CompileOptions options = classifier(Adam({.learning_rate = 0.01}));
    options.precision = precision;
    Model model = compiled(small_unet(), options);
    model.fit(image_data(60), {.epochs = 6, .batch_size = 10, .verbose = 0});
    EXPECT_GT(model.evaluate(image_data(60)).at(1).second, 0.9);
  }
}

TEST(Enlarging, FilesHaveTheShapesOfKeras) {
  const TempFolder folder;
  const Model model(small_unet(), {.seed = 3});
  model.save_weights(folder.path("a.h5"));
  for (const store::LayerWeights& one : store::read_weights_file(folder.path("a.h5")).layers) {
    if (one.layer != "up") continue;
    EXPECT_EQ(one.weights.at(0).value.shape(), (Shape{3, 3, 6, 8}));
    EXPECT_EQ(one.weights.at(1).value.shape(), Shape{6});
  }
  Model loaded(small_unet(), {.seed = 4});
  loaded.load_weights(folder.path("a.h5"));
  EXPECT_TRUE(same_weights(model, loaded));
}

}  // namespace
}  // namespace pando
