// Each class of layers becomes the layer of ours that computes the same.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers.h"
#include "tests/keras/keras_support.h"
#include "tests/support/expect_error.h"

namespace pando::keras {
namespace {

using testing_support::error_of;

struct LayerCase {
  std::string class_name;
  std::string options;  // of Keras
  Shape input;
  std::vector<Layer> expected;  // a chain
  int major = 2;
};

void PrintTo(const LayerCase& one, std::ostream* out) { *out << one.class_name << one.options; }

std::string batch_shape(const Shape& input) {
  std::string text = "[null";
  for (const int64_t extent : input) text += concat(", ", extent);
  return text + "]";
}

std::vector<LayerCase> layer_cases() {
  const Shape picture = {6, 5, 4}, box = {4, 5, 6, 2}, row = {7};
  return {
      {"Conv2D",
       R"("filters": 3, "kernel_size": [3, 2], "strides": [2, 1], "padding": "same",
         "activation": "relu")",
       picture,
       {Conv2D({.filters = 3,
                .kernel = {3, 2},
                .strides = {2, 1},
                .padding = "same",
                .activation = "relu"})}},
      {"Conv2D",
       R"("filters": 4, "kernel_size": 3, "groups": 2, "dilation_rate": 2,
         "use_bias": false, "activation": null)",
       picture,
       {Conv2D(
           {.filters = 4, .kernel = {3, 3}, .dilation = {2, 2}, .groups = 2, .use_bias = false})}},
      {"Conv3D",
       R"("filters": 3, "kernel_size": [2, 2, 2], "padding": "same")",
       box,
       {Conv3D({.filters = 3, .kernel = {2, 2, 2}, .padding = "same"})}},
      {"DepthwiseConv2D",
       R"("kernel_size": [3, 3], "depth_multiplier": 2)",
       picture,
       {DepthwiseConv2D({.kernel = {3, 3}, .depth_multiplier = 2})}},
      {"SeparableConv2D",
       R"("filters": 3, "kernel_size": [3, 3], "padding": "same")",
       picture,
       {SeparableConv2D({.filters = 3, .kernel = {3, 3}, .padding = "same"})}},
      {"Conv2DTranspose",
       R"("filters": 3, "kernel_size": [3, 3], "strides": 2,
         "padding": "same", "output_padding": null)",
       picture,
       {Conv2DTranspose({.filters = 3, .kernel = {3, 3}, .strides = {2, 2}, .padding = "same"})}},
      {"Conv2DTranspose",
       R"("filters": 3, "kernel_size": 3, "strides": 2, "output_padding": 1)",
       picture,
       {Conv2DTranspose(
           {.filters = 3, .kernel = {3, 3}, .strides = {2, 2}, .output_padding = {1, 1}})}},
      {"Conv3DTranspose",
       R"("filters": 3, "kernel_size": 2, "strides": 2)",
       box,
       {Conv3DTranspose({.filters = 3, .kernel = {2, 2, 2}, .strides = {2, 2, 2}})}},
      {"Dense",
       R"("units": 3, "activation": "softmax")",
       row,
       {Dense({.units = 3, .activation = "softmax"})}},
      {"Dense", R"("units": 3)", picture, {Conv2D({.filters = 3})}},
      {"Activation", R"("activation": "swish")", picture, {Activation("swish")}},
      {"Activation",
       R"("activation": {"module": "builtins", "class_name": "function",
         "config": "silu", "registered_name": "function"})",
       picture,
       {Activation("swish")},
       3},
      {"Activation", R"("activation": "linear")", picture, {Activation("linear")}},
      {"Activation", R"("activation": "hard_sigmoid")", picture, {Activation("hard_sigmoid")}},
      {"Dense",
       R"("units": 3, "activation": {"class_name": "LeakyReLU",
         "config": {"name": "b", "negative_slope": 0.5}})",
       row,
       {Dense({.units = 3}), LeakyReLU({.alpha = 0.5})}},
      {"ReLU",
       R"("max_value": 6.0, "negative_slope": 0, "threshold": 0)",
       picture,
       {ReLU({.max_value = 6})}},
      {"ReLU",
       R"("max_value": null, "negative_slope": 0.1)",
       picture,
       {ReLU({.negative_slope = 0.1})}},
      {"LeakyReLU", R"("alpha": 0.2)", picture, {LeakyReLU({.alpha = 0.2})}},
      {"LeakyReLU", R"("negative_slope": 0.1)", picture, {LeakyReLU({.alpha = 0.1})}, 3},
      {"PReLU", R"("shared_axes": [1, 2])", picture, {PReLU({.shared_axes = {1, 2}})}},
      {"ELU", R"("alpha": 0.7)", picture, {ELU({.alpha = 0.7})}},
      {"Softmax", R"("axis": -1)", picture, {Softmax()}},
      {"Softmax", R"("axis": [1])", picture, {Softmax({.axis = 1})}},
      {"BatchNormalization",
       R"("axis": [3], "epsilon": 0.01, "momentum": 0.9)",
       picture,
       {BatchNormalization({.momentum = 0.9, .epsilon = 0.01})}},
      {"LayerNormalization",
       R"("axis": [3], "epsilon": 1e-6)",
       picture,
       {LayerNormalization({.epsilon = 1e-6})}},
      {"LayerNormalization",
       R"("axis": -1, "scale": false)",
       picture,
       {LayerNormalization({.scale = false})}},
      {"GroupNormalization",
       R"("groups": 2, "axis": -1)",
       picture,
       {GroupNormalization({.groups = 2})}},
      {"GroupNormalization", R"("groups": -1)", picture, {GroupNormalization({.groups = 4})}},
      {"MaxPooling2D",
       R"("pool_size": [3, 3], "strides": [2, 2], "padding": "same")",
       picture,
       {MaxPooling2D({.pool = {3, 3}, .strides = {2, 2}, .padding = "same"})}},
      {"AveragePooling2D", R"("pool_size": 2, "strides": null)", picture, {AveragePooling2D()}},
      {"MaxPooling3D", R"("pool_size": 2)", box, {MaxPooling3D()}},
      {"AveragePooling3D", R"("pool_size": [2, 2, 2])", box, {AveragePooling3D()}},
      {"GlobalAveragePooling2D", "", picture, {GlobalAveragePooling2D()}},
      {"GlobalAveragePooling2D",
       R"("keepdims": true)",
       picture,
       {GlobalAveragePooling2D(), Reshape({.shape = {1, 1, 4}})}},
      {"GlobalMaxPooling2D", "", picture, {GlobalMaxPooling2D()}},
      {"GlobalMaxPooling3D", "", box, {GlobalMaxPooling3D()}},
      {"GlobalAveragePooling3D", "", box, {GlobalAveragePooling3D()}},
      {"GlobalAveragePooling1D",
       "",
       {7, 4},
       {Reshape({.shape = {1, 7, 4}}), GlobalAveragePooling2D()}},
      {"GlobalMaxPooling1D",
       R"("keepdims": true)",
       {7, 4},
       {Reshape({.shape = {1, 7, 4}}), GlobalMaxPooling2D(), Reshape({.shape = {1, 4}})}},
      {"ZeroPadding2D",
       R"("padding": [[0, 1], [2, 3]])",
       picture,
       {ZeroPadding2D({.top_bottom = {0, 1}, .left_right = {2, 3}})}},
      {"ZeroPadding2D",
       R"("padding": [1, 2])",
       picture,
       {ZeroPadding2D({.top_bottom = {1, 1}, .left_right = {2, 2}})}},
      {"ZeroPadding2D", R"("padding": 1)", picture, {ZeroPadding2D()}},
      {"ZeroPadding3D",
       R"("padding": [[1, 1], [1, 1], [0, 1]])",
       box,
       {ZeroPadding3D({.width = {0, 1}})}},
      {"Cropping2D",
       R"("cropping": [[1, 0], [0, 2]])",
       picture,
       {Cropping2D({.top_bottom = {1, 0}, .left_right = {0, 2}})}},
      {"Cropping3D", R"("cropping": 1)", box, {Cropping3D()}},
      {"UpSampling2D",
       R"("size": [2, 3], "interpolation": "bilinear")",
       picture,
       {UpSampling2D({.size = {2, 3}, .interpolation = "bilinear"})}},
      {"UpSampling3D", R"("size": 2)", box, {UpSampling3D()}},
      {"Resizing",
       R"("height": 9, "width": 4, "interpolation": "nearest")",
       picture,
       {Resizing({.height = 9, .width = 4, .interpolation = "nearest"})}},
      {"Rescaling",
       R"("scale": 0.5, "offset": -1)",
       picture,
       {Rescaling({.factor = 0.5, .offset = -1})}},
      {"Rescaling",
       R"("scale": [0.5, 0.25, 1, 2], "offset": -1)",
       picture,
       {NormalisePixels({.scale = {0.5, 0.25, 1, 2}, .shift = {-1}})}},
      {"Flatten", "", picture, {Flatten()}},
      {"Reshape", R"("target_shape": [-1, 10])", picture, {Reshape({.shape = {12, 10}})}},
      {"Permute", R"("dims": [2, 3, 1])", picture, {Permute({.dims = {2, 3, 1}})}},
      {"Dropout", R"("rate": 0.5)", picture, {Dropout({.rate = 0.5})}},
      {"Dropout",
       R"("rate": 0.5, "noise_shape": [null, 1, 1, 1])",
       picture,
       {StochasticDepth({.rate = 0.5})}},
      {"Dropout",
       R"("rate": 0.5, "noise_shape": [null, 1, 1, null])",
       picture,
       {SpatialDropout2D({.rate = 0.5})}},
      {"SpatialDropout2D", R"("rate": 0.5)", picture, {SpatialDropout2D({.rate = 0.5})}},
      {"SpatialDropout3D", R"("rate": 0.5)", box, {SpatialDropout3D({.rate = 0.5})}},
      {"GaussianNoise", R"("stddev": 0.5)", picture, {GaussianNoise({.stddev = 0.5})}},
      {"ActivityRegularization", R"("l1": 0.1)", picture, {Activation("linear")}},
  };
}

// Dropout and noise, which show in training only, with their strength and mask.
std::vector<std::string> noise_of(const Network& network) {
  std::vector<std::string> found;
  const NetworkGraph built = network.build({.batch = 1, .training = true});
  for (const auto& node : built.graph.nodes()) {
    if (node->op() != "dropout" && node->op() != "gaussian_noise") continue;
    ir::Attributes attributes = node->attributes();
    attributes.erase("key");  // of the name
    found.push_back(node->op());
    for (const auto& [name, value] : attributes.values()) {
      found.push_back(concat(name, " ", ir::to_text(value)));
    }
  }
  return found;
}

class KerasLayers : public testing::TestWithParam<LayerCase> {};

TEST_P(KerasLayers, ComputeTheSame) {
  const LayerCase& one = GetParam();
  const Json config = sequential(batch_shape(one.input), layer(one.class_name, one.options).dump());
  const ImportedNetwork imported = import_with_any(config, one.major);
  Model model = model_of(imported);
  Model expected(Sequential(one.input, one.expected));
  std::vector<Tensor> weights;  // shapes may differ by axes of one element
  const std::vector<Tensor> given = model.get_weights(), wanted = expected.get_weights();
  ASSERT_EQ(given.size(), wanted.size());
  for (size_t i = 0; i < given.size(); ++i) {
    weights.push_back(given[i].reshaped(wanted[i].shape()));
  }
  expected.set_weights(weights);
  const Tensor x = random_samples(one.input);
  expect_same_bits(model.predict(x), expected.predict(x).reshaped(model.predict(x).shape()));
  EXPECT_EQ(noise_of(imported.network), noise_of(expected.network()));
}

INSTANTIATE_TEST_SUITE_P(All, KerasLayers, testing::ValuesIn(layer_cases()));

// Formulas, for layers that ours do not have as one.
Tensor predict_one(const std::string& class_name, const std::string& options, const Shape& input,
                   const Tensor& x, int major = 2) {
  const Json config = sequential(batch_shape(input), layer(class_name, options).dump());
  return model_of(import_with_any(config, major)).predict(x);
}

TEST(KerasFormulas, ReluWithSlopeAndMaximum) {
  const Tensor x = Tensor::of_f32({1, 4}, {-2, -1, 1, 9});
  const Tensor y = predict_one("ReLU", R"("max_value": 3, "negative_slope": 0.5)", {4}, x);
  expect_same_bits(y, Tensor::of_f32({1, 4}, {-1, -0.5f, 1, 3}));
}

TEST(KerasFormulas, HardSigmoidOfKeras3) {
  const Tensor x = Tensor::of_f32({1, 3}, {-4, 0.6f, 4});
  const Tensor y = predict_one("Activation", R"("activation": "hard_sigmoid")", {3}, x, 3);
  EXPECT_LT(difference(y, Tensor::of_f32({1, 3}, {0, 0.6f, 1})).absolute, 1e-6);
}

TEST(KerasFormulas, LeakyReluByName) {
  const Tensor x = Tensor::of_f32({1, 2}, {-1, 1});
  const Tensor y = predict_one("Activation", R"("activation": "leaky_relu")", {2}, x, 3);
  expect_same_bits(y, Tensor::of_f32({1, 2}, {-0.2f, 1}));
}

TEST(KerasFormulas, NormalizationByGivenStatistics) {
  const Tensor x = Tensor::of_f32({1, 2, 1, 2}, {1, 2, 3, 4});
  const Tensor y = predict_one("Normalization", R"("axis": [-1], "mean": [[[1, 2]]],
                               "variance": [[[4, 16]]])",
                               {2, 1, 2}, x);
  EXPECT_LT(difference(y, Tensor::of_f32({1, 2, 1, 2}, {0, 0, 1, 0.5f})).absolute, 1e-6);
  EXPECT_SAYS(error_of<IoError>([&] {
                predict_one("Normalization", R"("mean": [1, 2, 3], "variance": 1)", {2, 1, 2}, x);
              }),
              "Normalization 'a'", "mean", "1 or 2 numbers", "3");
}

TEST(KerasFormulas, NormalizationByWeights) {
  const ImportedNetwork imported =
      import_with_any(sequential("[null, 3]", layer("Normalization", R"("axis": -1)").dump()));
  EXPECT_EQ(imported.weights.size(), 4);
  Model model = model_of(imported);
  const float mean = model.get_weight("a/mean").f32()[1];
  const float variance = model.get_weight("a/variance").f32()[1];
  const Tensor y = model.predict(Tensor::of_f32({1, 3}, {0, 2, 0}));
  EXPECT_NEAR(y.f32()[1], (2 - mean) / std::sqrt(variance), 1e-5);
}

TEST(KerasFormulas, BatchNormalizationWithoutScale) {
  const Json config = sequential(
      "[null, 3]",
      layer("BatchNormalization", R"("axis": -1, "scale": false, "center": false)").dump());
  const ImportedNetwork imported = import_with_any(config);
  const Model model = model_of(imported);
  expect_same_bits(model.get_weight("a/gamma"), Tensor::of_f32({3}, {1, 1, 1}));
  expect_same_bits(model.get_weight("a/beta"), Tensor::of_f32({3}, {0, 0, 0}));
}

TEST(KerasFormulas, Conv1DIsAConvolutionOfARow) {
  const Json config = sequential("[null, 8, 2]", layer("Conv1D", R"("filters": 3,
      "kernel_size": [3], "strides": [2], "padding": "same", "activation": "relu")")
                                                     .dump());
  Model model = model_of(import_with_any(config));
  EXPECT_EQ(model.get_weight("a/kernel").shape(), (Shape{3, 2, 3}));
  Model expected(Sequential({1, 8, 2}, {Conv2D({.filters = 3,
                                                .kernel = {1, 3},
                                                .strides = {1, 2},
                                                .padding = "same",
                                                .activation = "relu",
                                                .name = "a"})}));
  expected.set_weights(
      {model.get_weight("a/kernel").reshaped({1, 3, 2, 3}), model.get_weight("a/bias")});
  const Tensor x = random_samples({8, 2});
  const Tensor y = model.predict(x);
  expect_same_bits(y, expected.predict(x.reshaped({2, 1, 8, 2})).reshaped(y.shape()));
}

struct RefusedCase {
  std::string class_name;
  std::string options;
  std::vector<std::string> words;
};

TEST(KerasLayerErrors, NameLayerOptionAndValue) {
  const std::vector<RefusedCase> cases = {
      {"Conv2D", R"("filters": 2, "kernel_size": 1, "padding": "causal")", {"padding", "causal"}},
      {"Conv2D",
       R"("filters": 2, "kernel_size": 1, "data_format": "channels_first")",
       {"data_format", "channels_first"}},
      {"Conv2D",
       R"("filters": 2, "kernel_size": 1, "activation": "wave")",
       {"activation", "wave", "relu"}},
      {"ReLU", R"("threshold": 1.5)", {"threshold", "1.5"}},
      {"ReLU", R"("max_value": -1)", {"max_value", "-1"}},
      {"MaxPooling2D", R"("pool_size": 2, "padding": "full")", {"padding", "full"}},
      {"BatchNormalization", R"("axis": 1)", {"axis", "last"}},
      {"BatchNormalization", R"("axis": 7)", {"axis", "7"}},
      {"BatchNormalization", R"("axis": -1, "renorm": true)", {"renorm", "true"}},
      {"Dropout", R"("rate": 0.5, "noise_shape": [null, 1, null, 1])", {"noise_shape"}},
      {"UpSampling2D", R"("size": 2, "interpolation": "cubic")", {"interpolation", "cubic"}},
      {"Resizing",
       R"("height": 2, "width": 2, "crop_to_aspect_ratio": true)",
       {"crop_to_aspect_ratio"}},
      {"UpSampling2D", R"("size": 999999999)", {"size", "999999999"}},
      {"ZeroPadding2D", R"("padding": -1)", {"padding", "-1"}},
      {"ZeroPadding2D", R"("padding": [1, 2, 3])", {"padding", "2 items"}},
      {"Resizing", R"("height": 0, "width": 2)", {"height", "0"}},
      {"Reshape", R"("target_shape": [7, -1, -1])", {"[6,5,4]"}},
      {"Conv2D", R"("filters": 2)", {"kernel_size", "missing"}},
      {"Conv2D", R"("filters": 2, "kernel_size": [1, 2, 3])", {"kernel_size", "2 numbers"}},
      {"Conv2D", R"("filters": "many", "kernel_size": 1)", {"filters"}},
      {"Conv2D", R"("filters": 99999999999, "kernel_size": 1)", {"at most", "99999999999"}},
      {"Conv3D", R"("filters": 2, "kernel_size": 1)", {"4 axes", "[6,5,4]"}},
      {"Dense", R"("units": 0)", {"units", "0"}},
      {"Activation", R"("activation": 3)", {"activation", "3"}},
  };
  for (const RefusedCase& one : cases) {
    SCOPED_TRACE(one.class_name + one.options);
    const Json config = sequential("[null, 6, 5, 4]", layer(one.class_name, one.options).dump());
    const std::string message = error_of<Error>([&] { import_with_any(config); });
    EXPECT_SAYS(message, "'a'", one.class_name);
    for (const std::string& word : one.words) EXPECT_SAYS(message, word);
  }
  const Json line =
      sequential("[null, 2, 4]", layer("Conv1D", R"("filters": 2, "kernel_size": 5)").dump());
  EXPECT_SAYS(error_of<IoError>([&] { import_with_any(line); }), "5", "[2,4]");
  const Json zero =
      sequential("[null, 2, 4]", layer("Conv1D", R"("filters": 0, "kernel_size": 1)").dump());
  EXPECT_SAYS(error_of<IoError>([&] { import_with_any(zero); }), "filters");
}

}  // namespace
}  // namespace pando::keras
