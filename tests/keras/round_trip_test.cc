// Networks that go out as Keras models and come back are the same: same weights, same bits.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "pando/keras/export.h"
#include "pando/keras/files.h"
#include "pando/keras/optimizer_slots.h"
#include "pando/keras/write_files.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"
#include "tests/data/foreign_software.h"
#include "tests/keras/keras_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::keras {
namespace {

using testing_support::error_of;

std::map<std::string, Tensor> weights_of(const Model& model) {
  std::map<std::string, Tensor> weights;
  for (const std::string& name : model.weight_names()) {
    weights.emplace(name, model.get_weight(name));
  }
  return weights;
}

Tensor filled(const Shape& shape, float value) {
  Tensor tensor(DType::f32, shape);
  std::ranges::fill(tensor.f32(), value);
  return tensor;
}

// Weights and statistics that hide nothing.
void randomise(Model& model) {
  std::mt19937 random(7);
  std::vector<Tensor> weights = model.get_weights();
  const std::vector<std::string> names = model.weight_names();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (names[i].ends_with("kernel")) continue;
    for (float& value : weights[i].f32()) {
      value = 0.5f + static_cast<float>(random() % 1000) / 1000;
    }
  }
  model.set_weights(weights);
}

enum class Form { hdf5, archive, tfjs };

ImportedNetwork written_and_read(const Network& network, const Model& model, Form form,
                                 const WriteOptions& options = {}) {
  const testing_support::TempFolder folder;
  const ExportedModel exported = export_network(
      network, weights_of(model), {.name = "net", .major = form == Form::archive ? 3 : 2});
  const std::string path = folder.path("model.json");
  if (form == Form::hdf5) write_hdf5_model(path, exported, options);
  if (form == Form::archive) write_keras_archive(path, exported, options);
  if (form == Form::tfjs) write_tfjs_model(path, exported, options);
  const ModelFile file = read_model_file(path);
  return import_network(file.config, file.major, *file.weights);
}

void expect_same_after_round_trip(const Network& network, Form form) {
  Model model(network);
  randomise(model);
  const ImportedNetwork imported = written_and_read(network, model, form);
  EXPECT_EQ(imported.network.parameters(), network.parameters());
  const std::map<std::string, Tensor> before = weights_of(model);
  ASSERT_EQ(imported.weights.size(), before.size());
  for (const auto& [name, tensor] : imported.weights) {
    if (form == Form::archive && !before.contains(name)) continue;  // slashes of names are gone
    ASSERT_TRUE(before.contains(name)) << name;
    expect_same_bits(tensor, before.at(name).reshaped(tensor.shape()));
  }
  Model back = model_of(imported);
  const Tensor x = random_samples(network.inputs()[0].shape, 2);
  expect_same_bits(back.predict(x, 2), model.predict(x, 2));
}

// A small input that the network takes.
Shape small_input(const ZooEntry& entry) {
  if (entry.name == "cosmoflow_v1") return {64, 64, 64, 4};
  if (entry.dataset == "cosmoflow") return {32, 32, 32, 4};
  if (entry.input_shape.rank() == 4) return {16, 16, 16, entry.input_shape.back()};
  if (entry.input_shape[0] != 224) return entry.input_shape;
  return {32, 32, 3};
}

class KerasRoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(KerasRoundTrip, GivesTheSameBits) {
  const ZooEntry& entry = zoo_entry(GetParam());
  const Network network = entry.build(small_input(entry), 5);
  for (const Form form : {Form::hdf5, Form::archive, Form::tfjs}) {
    SCOPED_TRACE(static_cast<int>(form));
    expect_same_after_round_trip(network, form);
  }
}

// The small ones, or all of the zoo for the slow test.
std::vector<std::string> zoo_names() {
  if (std::getenv("PANDO_WHOLE_ZOO") == nullptr) {
    return {"mnist_cnn", "cifar_resnet8", "toy_model_bn", "unet_small", "cosmoflow"};
  }
  std::vector<std::string> names;
  for (const ZooEntry& entry : model_zoo()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, KerasRoundTrip, testing::ValuesIn(zoo_names()),
                         [](const auto& one) { return one.param; });

struct ChainCase {
  Shape input;
  std::vector<Layer> layers;
};

// Layers that each form of file can express, in all their forms.
std::vector<ChainCase> chain_cases() {
  const Shape picture = {6, 5, 4}, box = {4, 6, 5, 2}, row = {7};
  return {
      {picture, {Conv2D({.filters = 3, .kernel = {3, 3}, .padding = "symmetric"})}},
      {picture,
       {Conv2D({.filters = 4,
                .kernel = {3, 3},
                .strides = {2, 2},
                .padding = "symmetric",
                .groups = 2,
                .activation = "sigmoid"})}},
      {picture,
       {Conv2D({.filters = 3,
                .kernel = {2, 3},
                .dilation = {2, 1},
                .activation = "leaky_relu",
                .use_bias = false})}},
      {picture,
       {DepthwiseConv2D({.kernel = {3, 3},
                         .strides = {2, 2},
                         .padding = "same",
                         .depth_multiplier = 2,
                         .activation = "relu6"})}},
      {picture,
       {SeparableConv2D(
           {.filters = 3, .kernel = {3, 3}, .padding = "same", .activation = "relu"})}},
      {picture,
       {SeparableConv2D(
           {.filters = 3, .kernel = {3, 3}, .padding = "symmetric", .use_bias = false})}},
      {picture,
       {Conv2DTranspose({.filters = 3,
                         .kernel = {3, 3},
                         .strides = {2, 2},
                         .padding = "same",
                         .activation = "tanh"})}},
      {picture,
       {Conv2DTranspose(
           {.filters = 3, .kernel = {3, 2}, .strides = {2, 3}, .output_padding = {1, 0}})}},
      {box, {Conv3D({.filters = 3, .kernel = {3, 2, 1}, .padding = "symmetric"})}},
      {box, {Conv3DTranspose({.filters = 3, .kernel = {2, 2, 2}, .strides = {2, 2, 2}})}},
      {row, {Dense({.units = 3, .activation = "softmax"})}},
      {row, {Dense({.units = 3, .use_bias = false}), Activation("selu")}},
      {picture, {BatchNormalization({.momentum = 0.9, .epsilon = 0.01}), Activation("swish")}},
      {picture, {LayerNormalization({.epsilon = 1e-6})}},
      {picture, {LayerNormalization({.axis = {2, 3}, .scale = false})}},
      {picture, {GroupNormalization({.groups = 2})}},
      {picture, {InstanceNormalization()}},
      {picture,
       {ReLU(),
        MaxPooling2D(
            {.pool = {3, 3}, .strides = {2, 2}, .padding = "explicit", .pads = {1, 1, 1, 1}})}},
      {picture, {ReLU(), MaxPooling2D({.pool = {2, 2}, .ceil_mode = true})}},
      {picture,
       {MaxPooling2D(
           {.pool = {3, 3}, .strides = {1, 1}, .padding = "explicit", .pads = {1, 1, 1, 1}})}},
      {picture, {AveragePooling2D({.pool = {3, 3}, .strides = {2, 2}, .padding = "same"})}},
      {box, {MaxPooling3D(), GlobalAveragePooling3D()}},
      {box, {AveragePooling3D(), GlobalMaxPooling3D()}},
      {picture, {GlobalMaxPooling2D()}},
      {picture, {GlobalAveragePooling2D(), Activation("linear")}},
      {picture, {ELU({.alpha = 0.5}), LeakyReLU({.alpha = 0.1}), ReLU({.max_value = 3})}},
      {picture, {PReLU({.shared_axes = {1, 2}}), Activation("gelu"), Activation("mish")}},
      {picture, {Softmax({.axis = 1}), Activation("softplus")}},
      {picture,
       {Rescaling({.factor = 0.5, .offset = -1}),
        NormalisePixels({.scale = {1, 2, 3, 4}, .shift = {0.5}})}},
      {picture,
       {Dropout({.rate = 0.25}), SpatialDropout2D({.rate = 0.5}), StochasticDepth({.rate = 0.5}),
        GaussianNoise({.stddev = 0.5})}},
      {box, {SpatialDropout3D({.rate = 0.5})}},
      {picture, {Reshape({.shape = {10, 12}}), Permute({.dims = {2, 1}}), Flatten()}},
      {picture, {ZeroPadding2D({.top_bottom = {0, 1}}), Cropping2D({.top_bottom = {1, 2}})}},
      {box, {ZeroPadding3D(), Cropping3D({.depth = {0, 1}})}},
      {picture, {Slice({.starts = {1}, .ends = {3}, .axes = {3}})}},
      {picture, {Subsample({.stride = 2, .channels = 6})}},
      {picture, {Slice({.starts = {1, 0}, .ends = {6, 4}, .axes = {1, 2}, .steps = {2, 3}})}},
      {picture,
       {UpSampling2D({.size = {2, 3}, .interpolation = "bilinear"}),
        UpSampling2D({.interpolation = "nearest"})}},
      {picture, {Resize({.scales = {2, 2}, .coordinates = "asymmetric", .nearest_mode = "floor"})}},
      {box, {UpSampling3D()}},
      {picture, {Resizing({.height = 9, .width = 4})}},
      {picture, {Resizing({.height = 9, .width = 4, .interpolation = "nearest"})}},
      {picture, {RecomputationCheckpoint(), Flatten()}},
  };
}

TEST(KerasExport, LayersComeBack) {
  for (const ChainCase& one : chain_cases()) {
    for (const Form form : {Form::hdf5, Form::archive}) {
      const Network network = Sequential(one.input, one.layers);
      SCOPED_TRACE(concat(network.summary(), static_cast<int>(form)));
      Model model(network);
      randomise(model);
      const ImportedNetwork imported = written_and_read(network, model, form);
      EXPECT_EQ(imported.weights.size(), model.weight_names().size());
      Model back = model_of(imported);
      const Tensor x = random_samples(one.input, 2);
      expect_same_bits(back.predict(x, 2), model.predict(x, 2));
    }
  }
}

// Formulas of several layers are the same up to rounding.
TEST(KerasExport, HardFunctionsOfOtherVersions) {
  for (const Form form : {Form::hdf5, Form::archive}) {
    const Network network =
        Sequential({6, 5, 4}, {Activation("hard_swish"), Activation("hard_sigmoid")});
    Model model(network);
    Model back = model_of(written_and_read(network, model, form));
    const Tensor x = random_samples({6, 5, 4});
    EXPECT_LT(difference(back.predict(x), model.predict(x)).absolute, 1e-6);
  }
}

TEST(KerasExport, GraphsOfLayers) {
  const SymbolicTensor x = Input({4, 4, 3}, {.name = "left"}),
                       y = Input({4, 4, 3}, {.name = "right"});
  const Layer shared = Conv2D({.filters = 3, .activation = "relu", .name = "shared"});
  const SymbolicTensor a = shared(x), b = shared(y);
  const SymbolicTensor weight = GlobalAveragePooling2D()(a);
  SymbolicTensor sum = Add()({a, b, Multiply()({b, weight})});
  sum = Concatenate()({sum, Subtract()({a, b}), Maximum()({a, b}), Minimum()({a, b})});
  sum = Average()({sum, Concatenate()({a, a, b, b})});
  const SymbolicTensor matrix = Reshape({.shape = {4, 4 * 12}})(sum);
  const SymbolicTensor product = MatMul({.transpose_b = true})({matrix, matrix});
  const Network network({x, y}, std::vector<SymbolicTensor>{sum, product, weight});
  for (const Form form : {Form::hdf5, Form::archive, Form::tfjs}) {
    Model model(network);
    const ImportedNetwork imported = written_and_read(network, model, form);
    EXPECT_EQ(imported.weights.size(), 2);
    EXPECT_EQ(imported.network.inputs()[1].name, "right");
    Model back = model_of(imported);
    const Dataset data = Dataset::from_fields(
        {{"left", random_samples({4, 4, 3}, 3)}, {"right", random_samples({4, 4, 3}, 3)}});
    const std::vector<Tensor> before = model.predict_all(data), after = back.predict_all(data);
    ASSERT_EQ(after.size(), 3);
    for (size_t i = 0; i < 3; ++i) expect_same_bits(after[i], before[i]);
  }
}

TEST(KerasExport, HalfWeightsAndMetadata) {
  const Network network = Sequential({7}, {Dense({.units = 3, .name = "d"})});
  Model model(network);
  model.set_weights({model.get_weight("d/kernel"), filled({3}, 1e-9f)});  // 0 in 16 bits
  for (const Form form : {Form::hdf5, Form::archive, Form::tfjs}) {
    const ImportedNetwork imported =
        written_and_read(network, model, form, {.metadata = {{"key", "value"}}, .half = true});
    const Tensor expected = cast(cast(model.get_weight("d/kernel"), DType::f16), DType::f32);
    expect_same_bits(imported.weights[0].second, expected);
    expect_same_bits(imported.weights[1].second, model.get_weight("d/bias"));
  }
}

TEST(KerasExport, ShardsOfOtherContentStay) {
  const testing_support::TempFolder folder;
  const Network network = Sequential({7}, {Dense({.units = 3, .name = "refused"})});
  const std::string path = folder.path("net.json");
  folder.write_text("net.bin", "somebody's");
  for (const float value : {1.0f, 2.0f}) {
    Model model(network);
    model.set_weights({model.get_weight("refused/kernel"), filled({3}, value)});
    write_tfjs_model(path, export_network(network, weights_of(model)), {});
    const ModelFile file = read_model_file(path);
    EXPECT_EQ(import_network(file.config, file.major, *file.weights).weights[1].second.f32()[0],
              value);
  }
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 4);
}

TEST(KerasExport, FrozenLayersStayFrozen) {
  const Network network =
      Sequential({7}, {Dense({.units = 3, .name = "a"}), Dense({.units = 3, .name = "b"})});
  const Model model(network);
  for (const int major : {2, 3}) {
    const ExportedModel exported =
        export_network(network, weights_of(model), {.major = major, .frozen = {"a"}});
    const Json config = major == 2 ? config_of_2(exported) : config_of_3(exported);
    EXPECT_EQ(import_with_any(config, major).frozen, std::vector<std::string>{"a"});
  }
}

// Names as ONNX files have them.
TEST(KerasExport, NamesThatKerasTakes) {
  const Network network =
      Sequential({7}, {Dense({.units = 3, .name = "/block/a"}),
                       Dense({.units = 3, .name = "block/a"}), Dense({.units = 3, .name = "__"})});
  const Model model(network);
  const auto names = [&](int major) {
    std::vector<std::string> all;
    for (const ExportedLayer& layer :
         export_network(network, weights_of(model), {.major = major}).layers) {
      all.push_back(layer.name);
    }
    return all;
  };
  EXPECT_EQ(names(2), (std::vector<std::string>{"input_1", "block/a", "block/a_dense", "layer"}));
  EXPECT_EQ(names(3), (std::vector<std::string>{"input_1", "block_a", "block_a_dense", "layer"}));
}

TEST(KerasExport, ListsAllLayersThatKerasDoesNotHave) {
  const auto refused = [](const Shape& input, const std::vector<Layer>& layers) {
    const Network network = Sequential(input, layers);
    const Model model(network);
    return error_of<Unsupported>([&] { export_network(network, weights_of(model)); });
  };
  EXPECT_SAYS(refused({4, 4, 4}, {DepthToSpace({.name = "d"}), StandardiseImage({.name = "s"})}),
              "depth_to_space 'd'");
  EXPECT_SAYS(refused({4, 4, 4},
                      {GroupNormalization({.groups = 2, .strided = true, .name = "g"}), Flatten()}),
              "'g'", "neighbouring");
  EXPECT_SAYS(
      refused({4, 4, 4},
              {Slice({.starts = {0}, .ends = {4}, .axes = {3}, .steps = {2}, .name = "s"})}),
      "'s'");
  EXPECT_SAYS(refused({5, 5, 4}, {MaxPooling2D({.pool = {3, 3},
                                                .strides = {2, 2},
                                                .padding = "explicit",
                                                .pads = {1, 0, 1, 0},
                                                .name = "p"})}),
              "'p'", "[1,0,1,0]");
  EXPECT_SAYS(refused({5, 5, 4}, {AveragePooling2D({.ceil_mode = true, .name = "p"})}), "'p'");
  EXPECT_SAYS(refused({5, 5, 4}, {Reduce({.axes = {1}, .name = "r"})}), "'r'", "spatial");
  EXPECT_SAYS(refused({5, 4}, {Slice({.starts = {1}, .ends = {3}, .name = "z"})}), "'z'");
  EXPECT_SAYS(
      refused({5, 5, 4}, {Resize({.size = {9, 9}, .coordinates = "align_corners", .name = "r"})}),
      "'r'", "align_corners");
  EXPECT_SAYS(refused({5, 5, 4},
                      {NormalisePixels({.scale = {1}, .shift = {0}, .channels = 8, .name = "n"})}),
              "'n'", "channels");
  // The name of a layer does not hide what follows it.
  EXPECT_SAYS(refused({4, 4, 4}, {Activation("relu", {"refused"}), DepthToSpace({.name = "d"})}),
              "depth_to_space 'd'");
  const SymbolicTensor x = Input({4});
  const Network two(x, Divide({.name = "over"})({x, Divide({.name = "under"})({x, x})}));
  EXPECT_SAYS(error_of<Unsupported>([&] { export_network(two, {}); }), "'under'");
  const SymbolicTensor bytes = Input({4, 4, 3}, {.dtype = DType::u8, .name = "bytes"});
  const Network cast_first(bytes, EightBitDecompression()(bytes));
  EXPECT_SAYS(error_of<Unsupported>([&] { export_network(cast_first, {}); }), "bytes", "u8");
  const Network dense = Sequential({7}, {Dense({.units = 3, .name = "d"})});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { export_network(dense, {}); }), "d/kernel");
  EXPECT_SAYS(error_of<InvalidArgument>([&] { export_network(dense, {}, {.major = 4}); }), "4");
}

TEST(KerasExport, RefusesAllBranchesTogether) {
  const SymbolicTensor x = Input({4});
  const SymbolicTensor a = Divide({.name = "one"})({x, x}), b = Divide({.name = "two"})({x, x});
  const Network network(x, Add()({a, b}));
  EXPECT_SAYS(error_of<Unsupported>([&] { export_network(network, {}); }), "'one'", "'two'");
}

// A description of more than 64 KiB, which HDF5 keeps in another way.
TEST(KerasExport, H5pyAndZipfileReadWhatWeWrite) {
  const testing_support::TempFolder folder;
  const SymbolicTensor x = Input({32, 32, 3});
  SymbolicTensor y = zoo_entry("mobilenet_v2").build({32, 32, 3}, 5)(x);
  for (int i = 0; i < 150; ++i) y = Dense({.units = 3})(y);
  const Network network(x, y);
  Model model(network);
  randomise(model);
  const ExportedModel two = export_network(network, weights_of(model));
  EXPECT_GT(config_of_2(two).dump().size(), 65536);
  write_hdf5_model(folder.path("m.h5"), two,
                   {.metadata = {},
                    .optimizer = optimizer_weights(
                        {.rule = "adam",
                         .iteration = 5,
                         .slots = {{"m", {{"d/bias", Tensor::of_f32({2}, {3, 4})}}}}})});
  write_keras_archive(folder.path("m.keras"),
                      export_network(network, weights_of(model), {.major = 3}));
  std::string numbers;
  for (const Tensor& tensor : model.get_weights()) {
    numbers.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  }
  folder.write_text("weights.bin", numbers);
  const auto checked = testing_support::run_command(
      PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/keras/check_files.py' '" + folder.path("m.h5") +
      "' '" + folder.path("m.keras") + "' '" + folder.path("weights.bin") + "'");
  if (checked.exit_code == testing_support::kMissingPackage) {
    GTEST_SKIP() << "python3-h5py is not installed";
  }
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
}

}  // namespace
}  // namespace pando::keras
