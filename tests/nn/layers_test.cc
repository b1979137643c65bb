// Every layer of layers.h builds, with the shapes and the numbers of parameters that Keras gives.
#include "pando/nn/layers.h"

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/ir/verifier.h"
#include "pando/nn/network.h"
#include "pando/ops/op.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

struct Case {
  std::string class_name;
  Shape sample;
  Layer layer;
  Shape output;
  int64_t parameters = 0;
  int inputs = 1;  // all of the same shape
};

class Layers : public testing::TestWithParam<Case> {};

TEST_P(Layers, BuildsForTrainingAndInference) {
  const Case& each = GetParam();
  std::vector<SymbolicTensor> inputs;
  for (int i = 0; i < each.inputs; ++i) inputs.push_back(Input(each.sample));
  const Network network(inputs, each.layer(inputs));
  const LayerInfo& info = network.layers().back();
  EXPECT_EQ(info.class_name, each.class_name);
  EXPECT_EQ(info.output_shape, each.output);
  EXPECT_EQ(info.parameters(), each.parameters);
  for (const bool training : {false, true}) {
    const NetworkGraph built = network.build({.batch = 3, .training = training});
    EXPECT_NO_THROW(ir::verify(built.graph));
    std::vector<int64_t> dims = {3};
    dims.insert(dims.end(), each.output.begin(), each.output.end());
    EXPECT_EQ(built.outputs[0]->shape(), Shape(dims));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Layers,
    testing::Values(
        Case{"Conv2D", {28, 28, 1}, Conv2D({.filters = 32, .kernel = {3, 3}}), {26, 26, 32}, 320},
        Case{"Conv2D",
             {9, 8, 3},
             Conv2D({.filters = 4, .kernel = {3, 2}, .strides = {2, 3}, .padding = "same"}),
             {5, 3, 4},
             76},
        Case{"Conv2D",
             {9, 8, 4},
             Conv2D({.filters = 6, .kernel = {3, 3}, .dilation = {2, 2}, .groups = 2}),
             {5, 4, 6},
             3 * 3 * 2 * 6 + 6},
        Case{"Conv2D",
             {5, 5, 2},
             Conv2D({.filters = 3, .activation = "leaky_relu", .use_bias = false}),
             {5, 5, 3},
             6},
        Case{"Conv3D",
             {8, 7, 6, 2},
             Conv3D({.filters = 5, .kernel = {2, 2, 2}, .padding = "same", .activation = "tanh"}),
             {8, 7, 6, 5},
             85},
        Case{"Conv3D",
             {8, 7, 6, 2},
             Conv3D({.filters = 5, .kernel = {2, 3, 4}, .strides = {2, 1, 1}}),
             {4, 5, 3, 5},
             245},
        Case{"DepthwiseConv2D",
             {9, 8, 6},
             DepthwiseConv2D({.kernel = {3, 3}, .strides = {2, 2}, .padding = "same"}),
             {5, 4, 6},
             60},
        Case{"DepthwiseConv2D",
             {9, 8, 6},
             DepthwiseConv2D({.kernel = {3, 2}, .depth_multiplier = 2, .use_bias = false}),
             {7, 7, 12},
             72},
        Case{"SeparableConv2D",
             {9, 8, 6},
             SeparableConv2D({.filters = 10, .kernel = {3, 3}, .activation = "swish"}),
             {7, 6, 10},
             124},
        Case{"Conv2DTranspose",
             {4, 5, 6},
             Conv2DTranspose({.filters = 3, .kernel = {2, 2}, .strides = {2, 2}}),
             {8, 10, 3},
             2 * 2 * 3 * 6 + 3},
        Case{"Conv2DTranspose",
             {4, 5, 6},
             Conv2DTranspose({.filters = 3,
                              .kernel = {5, 3},
                              .strides = {2, 1},
                              .padding = "same",
                              .activation = "relu",
                              .use_bias = false}),
             {8, 5, 3},
             5 * 3 * 3 * 6},
        Case{"Conv2DTranspose",  // (4 - 1) * 3 + 3 + 1 and, with a span of 5, 5 + max(5 - 1, 0)
             {4, 5, 6},
             Conv2DTranspose({.filters = 2,
                              .kernel = {3, 3},
                              .strides = {3, 1},
                              .output_padding = {1, -1},
                              .dilation = {1, 2}}),
             {13, 9, 2},
             3 * 3 * 2 * 6 + 2},
        Case{"Conv2DTranspose",  // (4 - 1) * 2 + 3 - 2 * 1 + {0, 1}
             {4, 4, 1},
             Conv2DTranspose({.filters = 1,
                              .kernel = {3, 3},
                              .strides = {2, 2},
                              .padding = "same",
                              .output_padding = {0, 1}}),
             {7, 8, 1},
             10},
        Case{"Conv3DTranspose",
             {2, 3, 4, 6},
             Conv3DTranspose({.filters = 3, .kernel = {2, 2, 2}, .strides = {2, 2, 2}}),
             {4, 6, 8, 3},
             8 * 3 * 6 + 3},
        Case{"Dense", {1600}, Dense({.units = 10, .activation = "softmax"}), {10}, 16010},
        Case{"Dense", {7}, Dense({.units = 1, .activation = "linear", .use_bias = false}), {1}, 7},
        Case{"BatchNormalization", {5, 4, 3}, BatchNormalization(), {5, 4, 3}, 12},
        Case{"BatchNormalization", {6}, BatchNormalization(), {6}, 24},
        Case{"GroupNormalization", {5, 4, 6}, GroupNormalization({.groups = 3}), {5, 4, 6}, 12},
        Case{"GroupNormalization",
             {5, 6},
             GroupNormalization({.groups = 2, .strided = true}),
             {5, 6},
             12},
        Case{"InstanceNormalization", {5, 4, 6}, InstanceNormalization(), {5, 4, 6}, 12},
        Case{"LayerNormalization", {5, 4, 6}, LayerNormalization(), {5, 4, 6}, 12},
        Case{"LayerNormalization",
             {5, 4, 6},
             LayerNormalization({.axis = {1, 2, 3}, .center = false}),
             {5, 4, 6},
             120},
        Case{"LayerNormalization",
             {5, 6},
             LayerNormalization({.axis = {-1, -2}, .center = false, .scale = false}),
             {5, 6}},
        Case{"MaxPooling2D", {13, 13, 64}, MaxPooling2D(), {6, 6, 64}},
        Case{"MaxPooling2D", {13, 13, 2}, MaxPooling2D({.padding = "same"}), {7, 7, 2}},
        Case{"MaxPooling2D",
             {13, 12, 2},
             MaxPooling2D({.pool = {3, 3}, .strides = {1, 2}}),
             {11, 5, 2}},
        Case{"AveragePooling2D", {7, 6, 2}, AveragePooling2D({.pool = {3, 2}}), {2, 3, 2}},
        Case{"MaxPooling3D", {7, 6, 5, 2}, MaxPooling3D(), {3, 3, 2, 2}},
        Case{"AveragePooling3D", {7, 6, 5, 2}, AveragePooling3D({.padding = "same"}), {4, 3, 3, 2}},
        Case{"MaxPooling2D", {13, 12, 2}, MaxPooling2D({.ceil_mode = true}), {7, 6, 2}},
        Case{"MaxPooling2D",
             {13, 12, 2},
             MaxPooling2D(
                 {.pool = {3, 3}, .strides = {2, 2}, .padding = "explicit", .pads = {1, 1, 1, 1}}),
             {7, 6, 2}},
        Case{"AveragePooling3D", {7, 6, 5, 2}, AveragePooling3D({.ceil_mode = true}), {4, 3, 3, 2}},
        Case{"GlobalMaxPooling2D", {7, 6, 5}, GlobalMaxPooling2D(), {5}},
        Case{"GlobalMaxPooling3D", {3, 7, 6, 5}, GlobalMaxPooling3D(), {5}},
        Case{"GlobalAveragePooling2D", {7, 6, 5}, GlobalAveragePooling2D(), {5}},
        Case{"GlobalAveragePooling3D", {3, 7, 6, 5}, GlobalAveragePooling3D(), {5}},
        Case{"Flatten", {5, 5, 64}, Flatten(), {1600}}, Case{"Flatten", {5}, Flatten(), {5}},
        Case{"ReLU", {5, 2}, ReLU(), {5, 2}}, Case{"ReLU", {5, 2}, ReLU({.max_value = 6}), {5, 2}},
        Case{"ReLU", {5, 2}, ReLU({.max_value = 2.5}), {5, 2}},
        Case{"ReLU", {5, 2}, ReLU({.negative_slope = 0.1}), {5, 2}},
        Case{"ELU", {5, 2}, ELU({.alpha = 0.5}), {5, 2}},
        Case{"LeakyReLU", {5, 2}, LeakyReLU({.alpha = 0.1}), {5, 2}},
        Case{"Softmax", {5}, Softmax(), {5}}, Case{"Activation", {5}, Activation("relu"), {5}},
        Case{"Activation", {5}, Activation("leaky_relu"), {5}},
        Case{"Activation", {5}, Activation("tanh"), {5}},
        Case{"Activation", {5}, Activation("sigmoid"), {5}},
        Case{"Activation", {5}, Activation("softmax"), {5}},
        Case{"Activation", {5}, Activation("linear"), {5}},
        Case{"Activation", {5}, Activation(""), {5}},
        Case{"Rescaling", {5, 5, 1}, Rescaling({.factor = 2, .offset = -1}), {5, 5, 1}},
        Case{"Dropout", {5}, Dropout({}), {5}}, Case{"Dropout", {5}, Dropout({.rate = 0}), {5}},
        Case{"SpatialDropout2D", {5, 4, 3}, SpatialDropout2D({}), {5, 4, 3}},
        Case{"SpatialDropout3D", {2, 5, 4, 3}, SpatialDropout3D({}), {2, 5, 4, 3}},
        Case{"StochasticDepth", {5}, StochasticDepth({.rate = 0.2}), {5}},
        Case{"GaussianNoise", {5, 2}, GaussianNoise({.stddev = 0.1}), {5, 2}},
        Case{"RecomputationCheckpoint", {5, 2}, RecomputationCheckpoint(), {5, 2}},
        Case{"Reshape", {4, 4, 2}, Reshape({.shape = {8, 4}}), {8, 4}},
        Case{"ZeroPadding2D", {4, 5, 2}, ZeroPadding2D(), {6, 7, 2}},
        Case{"ZeroPadding2D",
             {4, 5, 2},
             ZeroPadding2D({.top_bottom = {0, 1}, .left_right = {2, 3}}),
             {5, 10, 2}},
        Case{"ZeroPadding3D",
             {4, 5, 6, 2},
             ZeroPadding3D({.depth = {0, 1}, .height = {2, 0}}),
             {5, 7, 8, 2}},
        Case{"Cropping2D",
             {8, 9, 2},
             Cropping2D({.top_bottom = {1, 2}, .left_right = {0, 4}}),
             {5, 5, 2}},
        Case{"Cropping3D", {4, 5, 6, 2}, Cropping3D(), {2, 3, 4, 2}},
        Case{"DepthToSpace",
             {4, 5, 18},
             DepthToSpace({.block_size = 3, .mode = "CRD"}),
             {12, 15, 2}},
        Case{"SpaceToDepth", {4, 6, 3}, SpaceToDepth(), {2, 3, 12}},
        Case{"UpSampling2D", {4, 5, 3}, UpSampling2D(), {8, 10, 3}},
        Case{"UpSampling2D",
             {4, 5, 3},
             UpSampling2D({.size = {3, 1}, .interpolation = "bilinear"}),
             {12, 5, 3}},
        Case{"UpSampling3D", {4, 5, 6, 3}, UpSampling3D(), {8, 10, 12, 3}},
        Case{"Resizing", {4, 5, 3}, Resizing({.height = 7, .width = 2}), {7, 2, 3}},
        Case{"Resize",
             {4, 5, 3},
             Resize({.scales = {1.6, 0.5}, .mode = "linear", .coordinates = "align_corners"}),
             {6, 2, 3}},
        Case{"Resize", {4, 3}, Resize({.size = {9}}), {9, 3}},
        Case{"Subsample", {9, 8, 4}, Subsample({.stride = 2, .channels = 6}), {5, 4, 6}},
        Case{"Subsample", {9, 8, 4}, Subsample({.stride = 1}), {9, 8, 4}},
        Case{"Add", {4, 2}, Add(), {4, 2}, 0, 3},
        Case{"Multiply", {4, 2}, Multiply(), {4, 2}, 0, 2},
        Case{"Subtract", {4, 2}, Subtract(), {4, 2}, 0, 2},
        Case{"Divide", {4, 2}, Divide(), {4, 2}, 0, 2},
        Case{"Maximum", {4, 2}, Maximum(), {4, 2}, 0, 3},
        Case{"Minimum", {4, 2}, Minimum(), {4, 2}, 0, 3},
        Case{"Average", {4, 2}, Average(), {4, 2}, 0, 3},
        Case{"PReLU", {5, 4, 6}, PReLU(), {5, 4, 6}, 120},
        Case{"PReLU", {5, 4, 6}, PReLU({.shared_axes = {1, 2}}), {5, 4, 6}, 6},
        Case{"Softmax", {5, 4, 6}, Softmax({.axis = 1}), {5, 4, 6}},
        Case{"Permute", {5, 4, 6}, Permute({.dims = {3, 1, 2}}), {6, 5, 4}},
        Case{"Transpose", {5, 4, 6}, Transpose({.perm = {0, 2, 1, 3}}), {4, 5, 6}},
        Case{"Slice", {5, 4, 6}, Slice({.starts = {1, 0}, .ends = {-1, 9}}), {3, 4, 6}},
        Case{"Slice",
             {5, 4, 6},
             Slice({.starts = {-5}, .ends = {6}, .axes = {-1}, .steps = {2}}),
             {5, 4, 3}},
        Case{"Reduce", {5, 4, 6}, Reduce({.axes = {-1}, .keepdims = true}), {5, 4, 1}},
        Case{"Reduce", {5, 4, 6}, Reduce({.function = "max", .axes = {2, 1}}), {6}},
        Case{"Reduce", {5, 4, 6}, Reduce({.function = "sum"}), {}},
        Case{"Reduce", {5, 4, 6}, Reduce({.function = "min", .axes = {1}}), {4, 6}},
        Case{"MatMul", {4, 4}, MatMul({.transpose_b = true}), {4, 4}, 0, 2},
        Case{"Concatenate", {4, 2}, Concatenate(), {4, 6}, 0, 3},
        Case{"Concatenate", {4, 2}, Concatenate({.axis = 1}), {8, 2}, 0, 2}),
    [](const auto& each) { return each.param.class_name + "_" + std::to_string(each.index); });

TEST(LayerOptions, RefuseNumbersOutOfRange) {
  EXPECT_SAYS(error_of([] { Conv2D({.kernel = {3, 3}}); }), "Conv2D: filters", "got 0");
  EXPECT_SAYS(error_of([] { Conv2D({.filters = 1, .kernel = {0, 3}}); }), "kernel", "got 0");
  EXPECT_SAYS(error_of([] { Conv3D({.filters = 1, .groups = 0}); }), "Conv3D: groups", "got 0");
  EXPECT_SAYS(error_of([] { ReLU({.max_value = -1}); }), "ReLU: max_value", "got -1");
  EXPECT_SAYS(error_of([] { ReLU({.max_value = 6, .negative_slope = 1}); }), "negative_slope");
  EXPECT_SAYS(error_of([] { SeparableConv2D({}); }), "SeparableConv2D: filters", "got 0");
  EXPECT_SAYS(error_of([] { DepthwiseConv2D({.depth_multiplier = 0}); }), "depth_multiplier",
              "got 0");
  EXPECT_SAYS(error_of([] { Dense({}); }), "Dense: units", "got 0");
  EXPECT_SAYS(error_of([] { BatchNormalization({.momentum = 1.5}); }), "momentum", "got 1.5");
  EXPECT_SAYS(error_of([] { BatchNormalization({.epsilon = 0}); }), "epsilon", "got 0");
  EXPECT_SAYS(error_of([] { GroupNormalization({.groups = 0}); }), "groups", "got 0");
  EXPECT_SAYS(error_of([] { MaxPooling2D({.pool = {0, 2}}); }), "MaxPooling2D: pool", "got 0");
  EXPECT_SAYS(error_of([] { Dropout({.rate = 1}); }), "rate", "got 1");
  EXPECT_SAYS(error_of([] { StochasticDepth({.rate = 1}); }), "StochasticDepth: rate", "got 1");
  EXPECT_SAYS(error_of([] { SpatialDropout2D({.rate = -1}); }), "SpatialDropout2D: rate");
  EXPECT_SAYS(error_of([] { GaussianNoise({.stddev = -1}); }), "GaussianNoise: stddev", "got -1");
  EXPECT_SAYS(error_of([] { Subsample({.stride = 0}); }), "stride", "got 0");
  EXPECT_SAYS(error_of([] { Slice({.starts = {0}, .ends = {1}, .steps = {0}}); }), "Slice: steps",
              "got 0");
  EXPECT_SAYS(error_of([] { Slice({.starts = {0}, .ends = {}}); }), "equal length", "1, 0");
  EXPECT_SAYS(error_of([] { Reduce({.function = "maxx"}); }), "Reduce", "did you mean 'max'");
}

// The graph of a network of one layer, for training.
std::string training_text(const Network& network) {
  return ir::to_text(network.build({.batch = 2, .training = true}).graph, {.types = false});
}

TEST(NoiseLayers, ChangeTrainingOnly) {
  const auto text = [](const Layer& layer, bool training) {
    const Network network = Sequential({4, 4, 2}, {layer});
    return ir::to_text(network.build({.batch = 2, .training = training}).graph, {.types = false});
  };
  EXPECT_SAYS(text(SpatialDropout2D({.rate = 0.25}), true), "dropout(x)", "mask=\"channel\"",
              "rate=0.25");
  EXPECT_SAYS(text(StochasticDepth({.rate = 0.25}), true), "dropout(x)", "mask=\"sample\"");
  EXPECT_SAYS(text(GaussianNoise({.stddev = 0.5}), true), "gaussian_noise(x)", "stddev=0.5");
  for (const Layer& layer : {SpatialDropout2D({}), StochasticDepth({}), GaussianNoise({})}) {
    EXPECT_EQ(text(layer, false).find(" = "), std::string::npos);
  }
  EXPECT_EQ(text(GaussianNoise({.stddev = 0}), true).find(" = "), std::string::npos);
}

TEST(Arithmetic, RepeatsWithinASample) {
  const SymbolicTensor x = Input({5, 4, 6});
  for (const Shape& other : {Shape{1, 1, 6}, Shape{6}, Shape{5, 4, 1}, Shape{}}) {
    for (const Layer& layer :
         {Add(), Subtract(), Multiply(), Divide(), Maximum(), Minimum(), Average()}) {
      const SymbolicTensor y = Input(other);
      EXPECT_EQ(Network({x, y}, layer({x, y})).layers().back().output_shape, (Shape{5, 4, 6}));
    }
  }
  EXPECT_SAYS(error_of([&] {
                const SymbolicTensor y = Input({5, 6});
                Network({x, y}, Add({.name = "sum"})({x, y}));
              }),
              "add 'sum'", "[1,5,4,6] and [1,5,6]");
}

TEST(Preprocessing, LayersTakeBytes) {
  const auto text = [](const Layer& layer) {
    const SymbolicTensor x = Input({4, 5, 3}, {.dtype = DType::u8});
    return training_text(Network(x, layer(x)));
  };
  EXPECT_SAYS(text(EightBitDecompression()), "cast(x) {dtype=\"f32\"}");
  EXPECT_SAYS(text(StandardiseImage()), "standardise_image(x) {channels=0}");
  EXPECT_SAYS(text(StandardiseImage({.channels = 4})), "standardise_image(x) {channels=4}");
  EXPECT_SAYS(text(NormalisePixels({.scale = {0.5}})),
              "{channels=0, scale=[0.5,0.5,0.5], shift=[0.0,0.0,0.0]}");
  EXPECT_SAYS(text(NormalisePixels({.scale = {1, 2, 3}, .shift = {0, 1, 0}, .channels = 4})),
              "{channels=4, scale=[1.0,2.0,3.0], shift=[0.0,1.0,0.0]}");
  EXPECT_SAYS(error_of([&] {
                text(NormalisePixels({.scale = {1, 2}}));
              }),
              "3 items", "one per channel");
  EXPECT_SAYS(error_of([&] { text(Conv2D({.filters = 1})); }), "expected f32", "got u8[1,4,5,3]");
}

TEST(Preprocessing, LayersRefuseWhatDoesNotSuit) {
  EXPECT_SAYS(error_of([] {
                Sequential({4, 5, 3}, {EightBitDecompression({.name = "up"})});
              }),
              "EightBitDecompression 'up'", "expected u8", "got f32[1,4,5,3]");
  const auto flip = [](const SymbolicTensor& x, const SymbolicTensor& flags) {
    return error_of([&] { Network({x, flags}, FlipWhere()({x, flags})); });
  };
  const auto flags = [](Shape shape, DType dtype) {
    return Input(std::move(shape), {.dtype = dtype, .name = "flip", .auxiliary = true});
  };
  EXPECT_SAYS(flip(Input({4, 5}), flags({}, DType::u8)), "FlipWhere 'flip_where'",
              "expected images", "got f32[1,4,5] and u8[1]");
  EXPECT_SAYS(flip(Input({4, 5, 3}), flags({}, DType::f32)), "f32[1,4,5,3] and f32[1]");
  EXPECT_SAYS(flip(Input({4, 5, 3}), flags({2}, DType::u8)), "f32[1,4,5,3] and u8[1,2]");
}

TEST(LayerOptions, UnknownActivationsSuggest) {
  EXPECT_SAYS(error_of([] { Dense({.units = 1, .activation = "rellu"}); }), "did you mean 'relu'");
  EXPECT_SAYS(error_of([] { Conv2D({.filters = 1, .activation = "sofmax"}); }),
              "did you mean 'softmax'");
  EXPECT_SAYS(error_of([] { Activation("tan"); }), "did you mean 'tanh'");
}

TEST(LayerOptions, EveryOpThatIsAnActivationIsOne) {
  const auto names = ops::builtin_ops().names_with(ops::Trait::activation);
  for (const std::string& name : names) {
    for (const Layer& layer : {Dense({.units = 2, .activation = name}), Activation(name)}) {
      const NetworkGraph built = Sequential({2}, {layer}).build({.batch = 3});
      EXPECT_EQ(built.graph.nodes().back()->op(), name);
    }
  }
  const std::string error = error_of([] { Activation("add"); });
  for (const std::string& name : names) EXPECT_SAYS(error, name);
}

TEST(LayerOptions, InitializersReachTheWeights) {
  const Network network = Sequential(
      {4}, {Dense({.units = 2, .kernel_initializer = Constant(3), .bias_initializer = Ones()})});
  const std::vector<nn::WeightSpec>& weights = network.layer("dense").weights;
  EXPECT_EQ(weights[0].initializer.make(weights[0].shape, 1).f32()[0], 3.0f);
  EXPECT_EQ(weights[1].initializer.make(weights[1].shape, 1).f32()[0], 1.0f);
}

}  // namespace
}  // namespace pando
