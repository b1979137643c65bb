#include "pando/store/weights_file.h"

#include <ctime>

#include "pando/store/hdf5_reader.h"
#include "tests/store/store_support.h"

namespace pando::store {
namespace {

TEST(WeightsFile, ReadsWhatItWrote) {
  const TempFolder dir;
  const WeightsFile file = small_example();
  write_weights_file(dir.path("a.h5"), file);
  const WeightsFile again = read_weights_file(dir.path("a.h5"));
  expect_same_layers(again, file);
  expect_same_weights(again.state, file.state);
  EXPECT_EQ(again.path, dir.path("a.h5"));
  EXPECT_EQ(again.attributes,
            (std::map<std::string, std::string>{
                {"backend", "pando"}, {"keras_version", "2.0.0"}, {"pando_version", "0.1.0"}}));
}

TEST(WeightsFile, MayBeEmpty) {
  const TempFolder dir;
  write_weights_file(dir.path("a.h5"), {});
  EXPECT_TRUE(read_weights_file(dir.path("a.h5")).layers.empty());
}

TEST(WeightsFile, KeepsGivenAttributes) {
  const TempFolder dir;
  WeightsFile file;
  file.attributes = {{"backend", "tensorflow"}, {"model_config", std::string(100000, '{')}};
  write_weights_file(dir.path("a.h5"), file);
  const WeightsFile again = read_weights_file(dir.path("a.h5"));
  EXPECT_EQ(again.attributes.at("backend"), "tensorflow");
  EXPECT_EQ(again.attributes.at("model_config").size(), 100000u);
}

TEST(WeightsFile, EqualContentGivesEqualBytesAtAnotherTime) {
  const TempFolder dir;
  const std::time_t start = std::time(nullptr);
  write_weights_file(dir.path("a.h5"), small_example());
  const std::string bytes = read_bytes(dir.path("a.h5"));
  // Writes until the next second has begun, because HDF5 stores times in seconds.
  do {
    write_weights_file(dir.path("b.h5"), small_example());
    ASSERT_EQ(read_bytes(dir.path("b.h5")), bytes);
  } while (std::time(nullptr) <= start + 1);
  write_weights_file(dir.path("b.h5"), small_example());
  EXPECT_EQ(read_bytes(dir.path("b.h5")), bytes);
}

TEST(WeightsFile, SplitsLongListsOfNames) {
  const TempFolder dir;
  WeightsFile file;
  for (int i = 0; i < 1500; ++i) {
    file.layers.push_back({concat("layer_", i, std::string(90, 'x')), {}});
  }
  LayerWeights& large = file.layers[3];
  for (int i = 0; i < 700; ++i) {
    large.weights.push_back({concat("weight_", i), Tensor::of_f32({}, {static_cast<float>(i)})});
  }
  write_weights_file(dir.path("a.h5"), file);
  {
    Hdf5Reader hdf5(dir.path("a.h5"));
    EXPECT_FALSE(hdf5.has_attribute("/", "layer_names"));
    EXPECT_TRUE(hdf5.has_attribute("/", "layer_names2"));
    EXPECT_FALSE(hdf5.has_attribute("/", "layer_names3"));
    EXPECT_EQ(hdf5.read_strings("/", "layer_names0").size(), 500u);
    EXPECT_TRUE(hdf5.has_attribute("/" + large.layer, "weight_names1"));
  }
  const WeightsFile again = read_weights_file(dir.path("a.h5"));
  expect_same_layers(again, file);
  EXPECT_FALSE(again.attributes.contains("layer_names0"));
}

TEST(WeightsFile, TellsLayersWithNestedNamesApart) {
  const TempFolder dir;
  WeightsFile file;
  file.layers = {{"a/b", {{"kernel", Tensor::of_f32({1}, {1})}}},
                 {"a", {{"kernel", Tensor::of_f32({1}, {2})}}},
                 {"\xC3\xA4", {{"b/kernel", Tensor::of_f32({1}, {3})}}}};
  write_weights_file(dir.path("a.h5"), file);
  expect_same_layers(read_weights_file(dir.path("a.h5")), file);
}

TEST(WeightsFile, RefusesNamesAndTypesBeforeWriting) {
  const TempFolder dir;
  const auto expect_refused = [&](const std::string& cause, const auto& change) {
    WeightsFile file = small_example();
    change(file);
    const std::string message =
        message_of<InvalidArgument>([&] { write_weights_file(dir.path("a.h5"), file); });
    expect_contains(message, cause);
    EXPECT_EQ(dir.entries(), 0);
  };
  expect_refused("empty part", [](auto& f) { f.layers[0].layer = ""; });
  expect_refused("empty part", [](auto& f) { f.layers[0].layer = "/a"; });
  expect_refused("'.'", [](auto& f) { f.layers[0].layer = "a/./b"; });
  expect_refused("zero byte", [](auto& f) { f.layers[0].layer = std::string("a\0b", 3); });
  expect_refused("too long", [](auto& f) { f.layers[0].layer = std::string(40000, 'a'); });
  expect_refused("rename the layer", [](auto& f) { f.layers[0].layer = "pando_state/x"; });
  expect_refused("rename the layer",
                 [](auto& f) { f.layers[0].layer = "top_level_model_weights"; });
  expect_refused("two layers", [](auto& f) { f.layers[0].layer = "conv2d"; });
  expect_refused("two weights 'kernel'", [](auto& f) { f.layers[1].weights[1].name = "kernel"; });
  expect_refused("weight name ''", [](auto& f) { f.layers[1].weights[1].name = ""; });
  expect_refused("expected f32, f16 or bf16, got i32",
                 [](auto& f) { f.layers[1].weights[1].value = Tensor::of_i32({1}, {1}); });
  expect_refused("two states", [](auto& f) { f.state[1].name = "rng"; });
  expect_refused("state name", [](auto& f) { f.state[1].name = "a//b"; });
  expect_refused("'layer_names1'", [](auto& f) { f.attributes["layer_names1"] = "x"; });
  expect_refused("zero byte", [](auto& f) { f.attributes["x"] = std::string(1, '\0'); });
}

TEST(WeightsFile, HalfPrecisionStaysHalf) {
  const TempFolder dir;
  WeightsFile file = small_example();
  for (NamedWeight& weight : file.layers[1].weights) weight.value = cast(weight.value, DType::f16);
  file.state[1].value = cast(file.state[1].value, DType::f16);
  write_weights_file(dir.path("a.h5"), file);
  const WeightsFile again = read_weights_file(dir.path("a.h5"));
  expect_same_layers(again, file);
  expect_same_weights(again.state, file.state);
}

TEST(WeightsFile, RefusesStateUnderState) {
  const TempFolder dir;
  WeightsFile file = small_example();
  file.state.push_back({"rng/more", Tensor::of_f32({1}, {1})});
  const std::string message =
      message_of<IoError>([&] { write_weights_file(dir.path("a.h5"), file); });
  expect_contains(message, "/pando_state/rng");
  EXPECT_EQ(dir.entries(), 0);
}

TEST(WeightsFile, FailedWriteNamesThePath) {
  const TempFolder dir;
  const std::string path = dir.path("none/a.h5");
  expect_contains(message_of<IoError>([&] { write_weights_file(path, small_example()); }), path);
}

}  // namespace
}  // namespace pando::store
