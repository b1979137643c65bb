#include "pando/train/load_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "pando/nn/layers.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::error_of;

Model small_model() {
  return Model(Sequential({6, 6, 3}, {Conv2D({.filters = 16, .kernel = {3, 3}, .name = "first"}),
                                      BatchNormalization({.name = "norm"}), Flatten(),
                                      Dense({.units = 50, .name = "last"})}),
               {.name = "small", .seed = 4});
}

Tensor some_pictures() {
  Tensor x(DType::f32, {2, 6, 6, 3});
  for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i % 11) / 7;
  return x;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(LoadModel, ContentTellsTheKindAndFactsTravel) {
  const testing_support::TempFolder folder;
  Model model = small_model();
  const ModelFacts facts = {
      .labels = {"a", "b"},
      .pictures = PicturePreparation{.height = 6, .width = 6, .short_side = 7},
      .origin = {.producer = "pando", .task = "classification"}};
  model.set_facts(facts);
  model.save(folder.path("a.onnx"));
  std::filesystem::copy(folder.path("a.onnx"), folder.path("no-suffix"));
  EXPECT_TRUE(is_model_file(folder.path("no-suffix")));
  Model loaded = load_model(folder.path("no-suffix"));
  EXPECT_EQ(loaded.facts(), facts);
  EXPECT_TRUE(std::ranges::equal(loaded.predict(some_pictures()).f32(),
                                 model.predict(some_pictures()).f32()));
  const Model cut = loaded.until("norm");
  EXPECT_TRUE(cut.facts().labels.empty());
  EXPECT_EQ(cut.facts().pictures, facts.pictures);
}

TEST(LoadModel, WeightsAreTakenFromModelFilesToo) {
  const testing_support::TempFolder folder;
  Model model = small_model();
  const Network other =
      Sequential({6, 6, 3}, {Conv2D({.filters = 16, .kernel = {3, 3}, .name = "first"}),
                             GlobalAveragePooling2D(), Dense({.units = 2, .name = "last"})});
  for (const char* name : {"m.onnx", "m.keras", "m.h5", "m.json"}) {
    SCOPED_TRACE(name);
    model.save(folder.path(name));
    Model same(model.network(), {.seed = 5});
    same.load_weights(folder.path(name));
    EXPECT_TRUE(std::ranges::equal(same.predict(some_pictures()).f32(),
                                   model.predict(some_pictures()).f32()));
    Model tuned(other, {.seed = 5});
    EXPECT_SAYS(error_of([&] { tuned.load_weights(folder.path(name)); }), "2 layers", "got 3");
    const LoadReport report =
        tuned.load_weights(folder.path(name), {.by_name = true, .skip_mismatch = true});
    EXPECT_TRUE(std::ranges::equal(tuned.get_weight("first/kernel").f32(),
                                   model.get_weight("first/kernel").f32()));
    ASSERT_EQ(report.skipped.size(), 1u);
    EXPECT_SAYS(report.skipped[0], "'last'");
    EXPECT_EQ(report.unused, (std::vector<std::string>{"norm", "last"}));
  }
}

TEST(LoadModel, SavesWeightsInHalfTheSize) {
  const testing_support::TempFolder folder;
  Model model = small_model();
  save_model(model, folder.path("whole.onnx"));
  save_model(model, folder.path("half.onnx"), {.half = true});
  EXPECT_LT(std::filesystem::file_size(folder.path("half.onnx")),
            std::filesystem::file_size(folder.path("whole.onnx")) * 6 / 10);
  Model loaded = load_model(folder.path("half.onnx"));
  EXPECT_EQ(loaded.weight_names(), model.weight_names());
  const Tensor expected = model.predict(some_pictures());
  const Tensor result = loaded.predict(some_pictures());
  for (size_t i = 0; i < expected.f32().size(); ++i) {
    EXPECT_NEAR(result.f32()[i], expected.f32()[i], 1e-2);
  }
}

TEST(LoadModel, KeepsWeightsBeyondTheRangeOf16Bits) {
  const testing_support::TempFolder folder;
  Model model(Sequential({2}, {Dense({.units = 2, .use_bias = false})}));
  Tensor large(DType::f32, {2, 2});
  large.f32()[0] = 1e6f;
  model.set_weights({large});
  save_model(model, folder.path("large.onnx"), {.half = true});
  EXPECT_EQ(load_model(folder.path("large.onnx")).get_weights()[0].f32()[0], 1e6f);
}

TEST(LoadModel, RefusesWhatIsNoModelAndSaysWhatToDo) {
  const testing_support::TempFolder folder;
  EXPECT_SAYS(error_of<IoError>([&] { load_model(folder.path("none.onnx")); }), "none.onnx",
              "does not exist");
  EXPECT_SAYS(error_of([&] { load_model(folder.path("")); }), "is a folder", "pando export");
  write_text(folder.path("text"), "hello");
  EXPECT_SAYS(error_of<IoError>([&] { load_model(folder.path("text")); }), "text", "ONNX (.onnx)");
  EXPECT_FALSE(is_model_file(folder.path("text")));
  small_model().save_weights(folder.path("weights.h5"));
  EXPECT_SAYS(error_of([&] { load_model(folder.path("weights.h5")); }), "has weights",
              "pando export", "--model NAME --weights");
  EXPECT_FALSE(is_model_file(folder.path("weights.h5")));
  EXPECT_SAYS(error_of([&] { save_model(small_model(), folder.path("x.tflite")); }), "x.tflite",
              "suffix", "ONNX (.onnx)");
  EXPECT_SAYS(error_of<IoError>([&] { load_model(folder.path("text")); }), "Keras archive (.keras)",
              "Keras whole-model HDF5 (.h5, .hdf5)", "tfjs layers model (.json)");
  write_text(folder.path("bad.keras"), "PK\x03\x04");
  EXPECT_SAYS(error_of<IoError>([&] { load_model(folder.path("bad.keras")); }), "bad.keras");
  write_text(folder.path("model.json"), " {}");
  EXPECT_SAYS(error_of<Unsupported>([&] { load_model(folder.path("model.json")); }), "model.json");
  write_text(folder.path("bad.h5"), "\x89HDF\r\n\x1a\n");
  EXPECT_SAYS(error_of<IoError>([&] { load_model(folder.path("bad.h5")); }), "bad.h5");
  write_text(folder.path("bad.onnx"), "hello");
  EXPECT_SAYS(error_of<IoError>([&] { load_model(folder.path("bad.onnx")); }), "bad.onnx");
}

}  // namespace
}  // namespace pando
