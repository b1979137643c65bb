#include "pando/train/onnx_model.h"

#include <algorithm>

#include "pando/zoo/zoo.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

using testing_support::error_of;

Network two_layers() {
  return Sequential(
      {6, 5, 2}, {Conv2D({.filters = 3, .kernel = {3, 3}, .activation = "relu", .name = "first"}),
                  BatchNormalization({.name = "norm"}), Flatten(),
                  Dense({.units = 4, .activation = "softmax", .name = "last"})});
}

Tensor some_samples() {
  Tensor x(DType::f32, {3, 6, 5, 2});
  for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i % 7) / 7;
  return x;
}

TEST(OnnxModel, IsTheSameAfterwardsAndCanBeTrained) {
  const testing_support::TempFolder folder;
  Model model(two_layers(), {.seed = 5});
  const std::string path = folder.path("model.onnx");
  save_onnx(model, path, {.metadata = {{"labels", "a,b,c,d"}}});
  Model loaded = load_onnx(path);
  EXPECT_EQ(loaded.weight_names(), model.weight_names());
  Model pooled(mobilenet_v2({32, 32, 3}, 5));
  save_onnx(pooled, path);
  EXPECT_EQ(load_onnx(path).until("avg_pool").network().outputs()[0].shape, (Shape{1280}));
  save_onnx(model, path);
  EXPECT_TRUE(std::ranges::equal(loaded.predict(some_samples()).f32(),
                                 model.predict(some_samples()).f32()));
  loaded.compile({.loss = "sparse_categorical_crossentropy"});
  Tensor y(DType::i32, {3});
  const Logs before = loaded.evaluate(some_samples(), y);
  loaded.fit(some_samples(), y, {.epochs = 20, .verbose = 0});
  EXPECT_LT(loaded.evaluate(some_samples(), y)[0].second, before[0].second);
}

TEST(OnnxModel, TakesTheOpsetThatTheLayersNeed) {
  const testing_support::TempFolder folder;
  const Model model(Sequential({4, 4, 3}, {LayerNormalization(), Flatten(), Dense({.units = 2})}));
  save_onnx(model, folder.path("late.onnx"));
  EXPECT_EQ(load_onnx(folder.path("late.onnx")).network().parameters(),
            model.network().parameters());
  EXPECT_SAYS(
      error_of<Unsupported>([&] { save_onnx(model, folder.path("x.onnx"), {.opset = 13}); }),
      "layer_norm");
}

TEST(OnnxModel, RefusesWhatIsNoModel) {
  const testing_support::TempFolder folder;
  EXPECT_SAYS(error_of<IoError>([&] { load_onnx(folder.path("none.onnx")); }), "none.onnx");
  const std::string text = folder.write_text("text.onnx", "this is no model");
  EXPECT_SAYS(error_of<IoError>([&] { load_onnx(text); }), "text.onnx");
  const Model model(two_layers());
  EXPECT_THROW(save_onnx(model, folder.path("no/folder.onnx")), IoError);
}

}  // namespace
}  // namespace pando
