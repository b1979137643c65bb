#include "pando/nn/network.h"

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/nn/layers.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

std::vector<std::string> names(const Network& network) {
  std::vector<std::string> all;
  for (const LayerInfo& layer : network.layers()) all.push_back(layer.name);
  return all;
}

TEST(Network, NamesLayersAsKerasDoes) {
  const Network network = Sequential(
      {16, 16, 3}, {Conv2D({.filters = 2}), BatchNormalization(), ReLU(), MaxPooling2D(),
                    Conv2D({.filters = 2}), LeakyReLU(), MaxPooling2D(), Conv2D({.filters = 2}),
                    AveragePooling2D(), GlobalAveragePooling2D(), Dense({.units = 3}),
                    Activation("tanh"), Dropout({}), Dense({.units = 2}), Softmax()});
  const std::vector<std::string> wanted = {"input_1",
                                           "conv2d",
                                           "batch_normalization",
                                           "re_lu",
                                           "max_pooling2d",
                                           "conv2d_1",
                                           "leaky_re_lu",
                                           "max_pooling2d_1",
                                           "conv2d_2",
                                           "average_pooling2d",
                                           "global_average_pooling2d",
                                           "dense",
                                           "activation",
                                           "dropout",
                                           "dense_1",
                                           "softmax"};
  EXPECT_EQ(names(network), wanted);
}

TEST(Network, InputsCountFromOne) {
  const SymbolicTensor a = Input({4}), b = Input({4}), c = Input({4}, {.name = "mask"});
  const Network network({a, b, c}, Multiply()({Add()({a, b}), c}));
  EXPECT_EQ(names(network),
            (std::vector<std::string>{"input_1", "input_2", "mask", "add", "multiply"}));
  ASSERT_EQ(network.inputs().size(), 3u);
  for (const NetworkInput& input : network.inputs()) EXPECT_EQ(input.shape, Shape({4}));
}

TEST(Network, AutomaticNamesKeepAwayFromGivenOnes) {
  const Network network =
      Sequential({8}, {Dense({.units = 4, .name = "dense"}), Dense({.units = 4, .name = "dense_2"}),
                       Dense({.units = 4}), Dense({.units = 4})});
  EXPECT_EQ(names(network),
            (std::vector<std::string>{"input_1", "dense", "dense_2", "dense_1", "dense_3"}));
}

TEST(Network, SameLayersGetTheSameNamesInEveryNetwork) {
  const auto build = [] { return Sequential({8}, {Dense({.units = 4}), Dense({.units = 2})}); };
  build();
  EXPECT_EQ(names(build()), (std::vector<std::string>{"input_1", "dense", "dense_1"}));
}

TEST(Network, RefusesTwoLayersOfOneName) {
  const std::string message = error_of([] {
    Sequential({8}, {Dense({.units = 4, .name = "a"}), Dense({.units = 4, .name = "a"})});
  });
  EXPECT_SAYS(message, "'a'");
  EXPECT_SAYS(message, "unique");
}

TEST(Network, SharedLayerOwnsItsWeightsOnce) {
  const SymbolicTensor a = Input({4}), b = Input({4});
  const Layer dense = Dense({.units = 3, .name = "shared"});
  const Network network({a, b}, Add()({dense(a), dense(b)}));
  EXPECT_EQ(network.parameters(), 15);
  EXPECT_EQ(names(network), (std::vector<std::string>{"input_1", "input_2", "shared", "add"}));
  int variables = 0;
  const NetworkGraph built = network.build({.batch = 2, .training = true});
  for (const ir::Value* value : built.graph.inputs()) {
    variables += value->role() == ir::InputRole::variable ? 1 : 0;
  }
  EXPECT_EQ(variables, 2);
  EXPECT_EQ(built.outputs[0]->shape(), (Shape{2, 3}));
}

TEST(Network, SharedLayerOnAnotherShapeNamesTheLayer) {
  const SymbolicTensor a = Input({4}), b = Input({5});
  const Layer dense = Dense({.units = 3, .name = "shared"});
  const std::string message = error_of([&] { Network({a, b}, Add()({dense(a), dense(b)})); });
  EXPECT_SAYS(message, "'shared'");
  EXPECT_SAYS(message, "5");
}

TEST(Network, CopiesOfALayerAreTheSameLayer) {
  const SymbolicTensor x = Input({4});
  const Layer dense = Dense({.units = 4});
  const Layer copy = dense;
  EXPECT_EQ(Network(x, copy(dense(x))).parameters(), 20);
  EXPECT_EQ(Network(x, Dense({.units = 4})(dense(x))).parameters(), 40);
}

TEST(Network, KnowsItsLayers) {
  const Network network = Sequential(
      {28, 28, 1}, {Conv2D({.filters = 32, .kernel = {3, 3}}), BatchNormalization(), Flatten()});
  EXPECT_EQ(network.layer("conv2d").parameters(), 320);
  EXPECT_EQ(network.layer("conv2d").output_shape, (Shape{26, 26, 32}));
  EXPECT_EQ(network.layer("flatten").inbound, std::vector<std::string>{"batch_normalization"});
  EXPECT_EQ(network.parameters(), 320 + 4 * 32);
  EXPECT_EQ(network.trainable_parameters(), 320 + 2 * 32);
  EXPECT_EQ(network.outputs()[0].shape, Shape{26 * 26 * 32});
  EXPECT_SAYS(error_of([&] { network.layer("conv2"); }), "did you mean 'conv2d'");
}

TEST(Network, OutputShapeIsThatOfTheOutput) {
  // The output is not the last layer in the list if an input is used only near the end.
  const SymbolicTensor a = Input({4}), b = Input({3});
  const Network network({b, a}, Concatenate()({Dense({.units = 2})(a), b}));
  EXPECT_EQ(network.outputs()[0].shape, Shape{5});
}

TEST(Network, OutputShapeOfASharedLayerIsThatOfTheLastCall) {
  const SymbolicTensor x = Input({8, 8, 4});
  const Layer halve = Conv2D({.filters = 4, .strides = {2, 2}});
  const Network network(x, halve(ReLU()(halve(x))));
  EXPECT_EQ(network.outputs()[0].shape, (Shape{2, 2, 4}));
  EXPECT_EQ(network.layer("conv2d").output_shape, (Shape{4, 4, 4}));
}

TEST(Network, RefusesAnInputThatIsNotGiven) {
  const SymbolicTensor a = Input({4}), b = Input({7});
  const std::string message = error_of([&] { Network(a, Concatenate()({a, b})); });
  EXPECT_SAYS(message, "[7]");
  EXPECT_SAYS(message, "inputs");
}

TEST(Network, RefusesWhatIsNoNetwork) {
  const SymbolicTensor a = Input({4}, {.name = "a"});
  const SymbolicTensor y = Dense({.units = 2})(a);
  EXPECT_SAYS(error_of([&] { Network(y, Dense({.units = 2})(y)); }), "Input()");
  EXPECT_SAYS(error_of([&] { Network({a, a}, y); }), "'a'");
  EXPECT_SAYS(error_of([&] { Network(std::vector<SymbolicTensor>{}, y); }), "at least one input");
  EXPECT_SAYS(error_of([&] { Network(a, a); }), "at least one layer");
  EXPECT_SAYS(error_of([&] { Sequential({4}, {}); }), "at least one layer");
  EXPECT_SAYS(error_of([&] { Network(a, y).build({.batch = 0}); }), "batch", "got 0");
}

TEST(Network, AnInputThatNothingUsesIsAllowed) {
  const SymbolicTensor a = Input({4}), b = Input({4});
  const NetworkGraph built = Network({a, b}, Dense({.units = 2})(a)).build({.batch = 3});
  EXPECT_EQ(built.inputs.size(), 2u);
  EXPECT_EQ(built.outputs[0]->shape(), (Shape{3, 2}));
}

TEST(Network, AppliesToOtherTensors) {
  const SymbolicTensor old = Input({4});
  const Layer shared = Dense({.units = 4});
  const Network body(old, Dense({.units = 2})(shared(ReLU()(shared(old)))));
  const SymbolicTensor input = Input({2, 2});
  const Network whole(input, body(Flatten({.name = "dense_2"})(input)));
  EXPECT_EQ(names(whole),
            (std::vector<std::string>{"input_1", "dense_2", "dense", "re_lu", "dense_1"}));
  EXPECT_EQ(whole.parameters(), body.parameters());
  EXPECT_EQ(whole.outputs()[0].shape, body.outputs()[0].shape);
  const Network staged = body.with_stages({0, 0, 1, 1});
  EXPECT_SAYS(error_of([&] { Network(input, staged(Flatten()(input))); }), "has no pipeline stage");
  EXPECT_EQ(Network(old, staged(old)).stages(), 2);
  EXPECT_SAYS(error_of([&] { body({old, old}); }), "expected 1 inputs", "got 2");
}

SymbolicTensor flags(std::string name = "flip") {
  return Input({}, {.dtype = DType::u8, .name = std::move(name), .auxiliary = true});
}

TEST(Network, AuxiliaryInputsAreFedWhereTheyAreUsed) {
  const SymbolicTensor x = Input({2, 3, 1}, {.dtype = DType::u8});
  const SymbolicTensor flip = flags();
  const Network network({x, flip}, EightBitDecompression()(FlipWhere()({x, flip})));
  EXPECT_TRUE(network.inputs()[1].auxiliary);
  EXPECT_EQ(network.inputs()[1].name, "flip");
  EXPECT_EQ(network.with_stages({0, 1}).stages(), 2);  // still counts as a chain
  const NetworkGraph training = network.build({.batch = 2, .training = true});
  EXPECT_EQ(training.inputs.size(), 2u);
  EXPECT_SAYS(ir::to_text(training.graph, {.types = false}),
              "graph(x: u8[2,2,3,1] feed, flip: u8[2] feed) {\n"
              "  v0 = flip_where(x, flip)\n"
              "  v1 = cast(v0) {dtype=\"f32\"} @eight_bit_decompression\n");
  const NetworkGraph inference = network.build({.batch = 2});
  EXPECT_EQ(inference.inputs.size(), 1u);
  EXPECT_EQ(inference.graph.find_value("flip"), nullptr);
  EXPECT_EQ(network.build({.training = true, .frozen = {"flip_where"}}).inputs.size(), 1u);
}

TEST(Network, MirrorsInTrainingAndInference) {
  const Network network = Sequential({2, 3, 1}, {Mirror()});
  for (const bool training : {true, false}) {
    EXPECT_SAYS(ir::to_text(network.build({.training = training}).graph, {.types = false}),
                "flip_where(x) @mirror");
  }
}

TEST(Network, ChecksAuxiliaryInputs) {
  const SymbolicTensor x = Input({2, 3, 1});
  const auto with = [&](const SymbolicTensor& aux) {
    return error_of([&] { Network({x, aux}, FlipWhere()({x, aux})); });
  };
  for (const char* name : {"", "x", "y", "sample_weight"}) {
    EXPECT_SAYS(with(flags(name)), "auxiliary input", concat("got '", name, "'"));
  }
  const SymbolicTensor flip = flags();
  EXPECT_SAYS(error_of([&] {
                Network({flip, x}, FlipWhere()({x, flip}));
              }),
              "features", "auxiliary input 'flip'");
}

TEST(Network, FrozenBatchNormalizationUsesMovingStatistics) {
  const Network network = Sequential({4, 4, 2}, {BatchNormalization({.name = "bn"}), Dropout({})});
  const auto text = [&](const NetworkBuildOptions& options) {
    return ir::to_text(network.build(options).graph);
  };
  EXPECT_SAYS(text({.training = true}), "batch_moments");
  EXPECT_SAYS(text({.training = true}), "dropout");
  const std::string frozen = text({.training = true, .frozen = {"bn"}});
  EXPECT_EQ(frozen.find("batch_moments"), std::string::npos) << frozen;
  EXPECT_SAYS(frozen, "dropout");
  const std::string inference = text({.training = false});
  EXPECT_EQ(inference.find("batch_moments"), std::string::npos);
  EXPECT_EQ(inference.find("dropout"), std::string::npos);
}

}  // namespace
}  // namespace pando
