#include "pando/train/keras_model.h"

#include <algorithm>
#include <cstring>

#include "pando/nn/layers.h"
#include "pando/train/load_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

using testing_support::error_of;

// A layers model of tfjs with two dense layers, of which the first is not trainable.
std::string write_tfjs_model(const testing_support::TempFolder& folder) {
  std::vector<uint8_t> bytes((6 + 2 + 4) * sizeof(float));
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const float value = static_cast<float>(i) / 8;
    std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
  }
  folder.write("shard.bin", bytes);
  return folder.write_text("model.json", R"({"format": "layers-model", "modelTopology": {
      "keras_version": "2.10.0", "model_config": {"class_name": "Sequential", "config": {
      "name": "two", "layers": [
        {"class_name": "Dense", "config": {"name": "first", "units": 2, "trainable": false,
         "batch_input_shape": [null, 3]}},
        {"class_name": "Dense", "config": {"name": "last", "units": 2, "use_bias": false,
         "activation": "softmax"}}]}}},
    "weightsManifest": [{"paths": ["shard.bin"], "weights": [
      {"name": "first/kernel", "shape": [3, 2], "dtype": "float32"},
      {"name": "first/bias", "shape": [2], "dtype": "float32"},
      {"name": "last/kernel", "shape": [2, 2], "dtype": "float32"}]}]})");
}

TEST(KerasModel, IsLoadedFrozenAsInTheFileAndTrained) {
  const testing_support::TempFolder folder;
  const std::string path = write_tfjs_model(folder);
  Model model = load_keras(path);
  EXPECT_FALSE(model.trainable("first"));
  EXPECT_TRUE(model.trainable("last"));
  EXPECT_TRUE(load_keras(path, {.freeze = false}).trainable("first"));
  EXPECT_EQ(model.get_weight("last/kernel").f32()[0], 1);
  Tensor x(DType::f32, {4, 3});
  for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i % 5);
  Tensor y(DType::i32, {4});
  model.compile({.loss = "sparse_categorical_crossentropy"});
  const Logs before = model.evaluate(x, y);
  model.fit(x, y, {.epochs = 20, .verbose = 0});
  EXPECT_LT(model.evaluate(x, y)[0].second, before[0].second);
  EXPECT_EQ(model.get_weight("first/kernel").f32()[1], 0.125f);
}

Network small_network() {
  return Sequential({6, 5, 2}, {Conv2D({.filters = 3, .kernel = {3, 3}, .name = "first"}),
                                BatchNormalization({.name = "norm"}), Flatten(),
                                Dense({.units = 4, .activation = "softmax", .name = "last"})});
}

TEST(KerasModel, IsTheSameAfterwardsWithFactsAndFrozenLayers) {
  const testing_support::TempFolder folder;
  Model model(small_network(), {.name = "small", .seed = 5});
  model.set_trainable("first", false);
  const ModelFacts facts = {.labels = {"a", "b", "c", "d"}, .origin = {.producer = "pando"}};
  model.set_facts(facts);
  Tensor x(DType::f32, {3, 6, 5, 2});
  for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i % 7) / 7;
  for (const char* name : {"model.h5", "model.hdf5", "model.keras", "model.json"}) {
    SCOPED_TRACE(name);
    save_model(model, folder.path(name));
    EXPECT_TRUE(is_model_file(folder.path(name)));
    Model loaded = load_model(folder.path(name));
    EXPECT_EQ(loaded.weight_names(), model.weight_names());
    EXPECT_EQ(loaded.facts(), facts);
    EXPECT_FALSE(loaded.trainable("first"));
    EXPECT_TRUE(loaded.trainable("last"));
    EXPECT_TRUE(std::ranges::equal(loaded.predict(x).f32(), model.predict(x).f32()));
  }
}

TEST(KerasModel, SaysWhatCannotBeSaved) {
  const testing_support::TempFolder folder;
  const Model model(small_network());
  EXPECT_SAYS(error_of([&] { save_keras(model, folder.path("m.txt")); }), "m.txt", ".keras");
  EXPECT_SAYS(error_of([&] { save_keras(model, folder.path("m.h5"), {.format = "x"}); }), "'x'");
  EXPECT_SAYS(error_of([&] { save_model(model, folder.path("m.h5"), {.opset = 13}); }), "opset");
  EXPECT_THROW(save_keras(model, folder.path("no/m.h5")), IoError);
  const Model boxes(Sequential({4, 4, 4}, {DepthToSpace({.name = "boxes"})}));
  EXPECT_SAYS(error_of<Unsupported>([&] { save_keras(boxes, folder.path("m.keras")); }), "'boxes'");
  EXPECT_EQ(folder.entries(), 0);
}

TEST(KerasModel, RefusesWhatIsNoModel) {
  const testing_support::TempFolder folder;
  EXPECT_SAYS(error_of<IoError>([&] { load_keras(folder.path("none.h5")); }), "none.h5");
}

// A model with a depthwise kernel, whose shape is another in files.
Model depthwise_network() {
  return Model(Sequential({4, 4, 2}, {DepthwiseConv2D({.kernel = {3, 3}, .name = "depth"}),
                                      Flatten(), Dense({.units = 2, .name = "last"})}));
}

TEST(KerasModel, TrainingGoesOnWithTheOptimizerOfAFile) {
  const testing_support::TempFolder folder;
  const std::string path = folder.path("m.h5");
  Tensor x(DType::f32, {6, 4, 4, 2}), y(DType::f32, {6, 2});
  for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i % 7) / 7;
  const CompileOptions adam{.optimizer = Adam(), .loss = "mean_squared_error"};
  const FitOptions once{.epochs = 1, .batch_size = 3, .shuffle = false, .verbose = 0};
  Model model = depthwise_network();
  model.compile(adam);
  model.fit(x, y, once);
  const TrainingState state = model.training_state();
  save_keras(model, path, {.training = &state});
  EXPECT_TRUE(has_keras_optimizer(path));
  model.fit(x, y, once);

  Model again = load_keras(path);
  EXPECT_SAYS(restore_keras_optimizer(again, path), "compile");
  again.compile(adam);
  EXPECT_EQ(restore_keras_optimizer(again, path), "");
  again.fit(x, y, once);
  for (const std::string& name : model.weight_names()) {
    EXPECT_TRUE(std::ranges::equal(again.get_weight(name).f32(), model.get_weight(name).f32()))
        << name;
  }

  Model other = load_keras(path);
  other.compile({.optimizer = SGD({.momentum = 0.9}), .loss = "mean_squared_error"});
  EXPECT_SAYS(restore_keras_optimizer(other, path), "adam", "sgd");
  Model stranger(Sequential({4}, {Dense({.units = 2, .name = "other"})}));
  stranger.compile(adam);
  EXPECT_SAYS(restore_keras_optimizer(stranger, path), "8 of 8 slots");
  save_keras(model, path);
  EXPECT_FALSE(has_keras_optimizer(path));
  EXPECT_SAYS(restore_keras_optimizer(again, path), "no optimizer_weights");
}

}  // namespace
}  // namespace pando
