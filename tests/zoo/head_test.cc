// SPDX-License-Identifier: MIT
#include "pando/zoo/head.h"

#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "pando/zoo/task.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// The op that makes the output.
std::string last_op(const Network& network) {
  const NetworkGraph built = network.build({.batch = 1});
  return built.outputs[0]->producer()->op();
}

TEST(Head, EveryClassifierTakesOtherTasks) {
  for (const ZooEntry& entry : model_zoo()) {
    if (entry.task != "classification") continue;
    SCOPED_TRACE(entry.name);
    const Network own = entry.build(entry.input_shape, entry.outputs);
    const ZooEntry several = zoo::for_task(entry, "multilabel");
    EXPECT_EQ(several.task, "multilabel");
    EXPECT_EQ(several.loss, "binary_crossentropy");
    const Network network = several.build(entry.input_shape, entry.outputs);
    EXPECT_EQ(last_op(network), "sigmoid");
    EXPECT_EQ(last_op(own), "softmax");
    EXPECT_EQ(network.parameters(), own.parameters());
    EXPECT_EQ(network.outputs()[0].name, own.outputs()[0].name);
    ASSERT_EQ(network.layers().size(), own.layers().size());
    for (size_t i = 0; i < own.layers().size(); ++i) {
      EXPECT_EQ(network.layers()[i].name, own.layers()[i].name);
    }
  }
}

TEST(Head, NumbersHaveNoActivation) {
  const ZooEntry entry = zoo::for_task(zoo_entry("mnist_cnn"), "regression");
  EXPECT_EQ(entry.loss, "mean_squared_error");
  const Network network = entry.build({28, 28, 1}, 3);
  EXPECT_EQ(network.outputs()[0].shape, Shape({3}));
  EXPECT_NE(last_op(network), "softmax");
  EXPECT_NE(last_op(network), "sigmoid");
}

TEST(Head, TheOwnTaskStays) {
  EXPECT_EQ(zoo::for_task(zoo_entry("resnet18"), "classification").loss,
            zoo_entry("resnet18").loss);
  EXPECT_EQ(zoo::for_task(zoo_entry("unet"), "segmentation").task, "segmentation");
}

TEST(Head, OtherModelsAreRefused) {
  EXPECT_SAYS(error_of([] { zoo::for_task(zoo_entry("unet"), "classification"); }), "unet",
              "segmentation", "classification", "resnet18");
  const std::string masks = error_of([] { zoo::for_task(zoo_entry("resnet18"), "segmentation"); });
  EXPECT_SAYS(masks, "resnet18", "classification", "segmentation", "expected one of ", "unet");
  EXPECT_EQ(masks.find("resnet34"), std::string::npos);
  EXPECT_SAYS(error_of([] { zoo::for_task(zoo_entry("cosmoflow"), "classification"); }),
              "cosmoflow", "regression");
  EXPECT_SAYS(error_of([] { zoo::for_task(zoo_entry("resnet18"), "counting"); }), "counting");
}

TEST(Head, NeedsADenseLayer) {
  const SymbolicTensor input = Input({4, 4, 1});
  const Network network(input, Flatten()(input));
  EXPECT_SAYS(error_of([&] { zoo::with_activation(network, "sigmoid"); }), "dense layer",
              "Flatten");
}

TEST(Head, IsFoundBehindDropoutAndBeforeSoftmax) {
  const Network network = Sequential(
      {8, 8, 3}, {Conv2D({.filters = 4, .name = "conv"}), GlobalAveragePooling2D({.name = "pool"}),
                  Dropout({.rate = 0.5, .name = "drop"}), Dense({.units = 6, .name = "fc"}),
                  Activation("softmax", {.name = "soft"})});
  const zoo::Head head = zoo::find_head(network);
  EXPECT_EQ(head.classifier, "fc");
  EXPECT_EQ(head.features, "pool");
  EXPECT_EQ(head.layers, (std::vector<std::string>{"drop", "fc", "soft"}));
  EXPECT_EQ(head.units, 6);
}

TEST(Head, IsReplacedInEveryClassifierOfTheZoo) {
  for (const ZooEntry& entry : model_zoo()) {
    if (entry.task != "classification") continue;
    SCOPED_TRACE(entry.name);
    const Network own = entry.build(entry.input_shape, entry.outputs);
    const Network other = zoo::with_head(own, {.units = 3});
    EXPECT_EQ(other.outputs()[0].shape, Shape({3}));
    EXPECT_EQ(zoo::last_op(other), "softmax");
    const std::string classifier = zoo::find_head(own).classifier;
    EXPECT_EQ(other.parameters() - other.layer(classifier).parameters(),
              own.parameters() - own.layer(classifier).parameters());
  }
}

TEST(Head, OfAConvolutionBecomesPoolingAndADenseLayer) {
  const Network network =
      Sequential({8, 8, 3}, {Conv2D({.filters = 4, .kernel = {3, 3}, .name = "body"}),
                             Conv2D({.filters = 6, .activation = "relu", .name = "classes"}),
                             GlobalAveragePooling2D(), Activation("softmax")});
  EXPECT_EQ(zoo::find_head(network).features, "body");
  const Network other = zoo::with_head(network, {.units = 2, .activation = "sigmoid"});
  EXPECT_EQ(other.layer("classes").class_name, "Dense");
  EXPECT_EQ(other.layer("classes").weights[0].shape, (Shape{4, 2}));
  EXPECT_EQ(zoo::last_op(other), "sigmoid");
}

TEST(Head, OfPixelsStaysAConvolution) {
  const auto network = [](const Layer& last) {
    return Sequential({8, 8, 3}, {Conv2D({.filters = 4, .kernel = {3, 3}, .name = "body"}),
                                  Conv2D({.filters = 6, .name = "classes"}), last});
  };
  const Network other = zoo::with_head(network(Activation("softmax")), {.units = 2});
  EXPECT_EQ(other.outputs()[0].shape, (Shape{6, 6, 2}));
  EXPECT_EQ(other.layer("classes").class_name, "Conv2D");
  EXPECT_EQ(other.layer("classes").weights[0].shape, (Shape{1, 1, 4, 2}));
  EXPECT_EQ(zoo::last_op(other), "softmax");
  EXPECT_SAYS(
      error_of([&] { zoo::with_head(network(UpSampling2D({.name = "large"})), {.units = 2}); }),
      "'classes'", "[6,6,4]", "[12,12,6]", "'large'");
}

TEST(Head, LastOpIsTheOneBeforeChangesOfTheShape) {
  const Network network =
      Sequential({8, 8, 3}, {Conv2D({.filters = 6}), GlobalAveragePooling2D(),
                             Activation("softmax"), Reshape({.shape = {6, 1}}), Flatten()});
  EXPECT_EQ(zoo::last_op(network), "softmax");
  const SymbolicTensor input = Input({4, 4, 1});
  EXPECT_EQ(zoo::last_op(Network(input, Flatten()(input))), "");
}

TEST(Head, OfANetworkOfOneLayerTakesTheInput) {
  const Network network = Sequential({5}, {Dense({.units = 4, .name = "only"})});
  EXPECT_EQ(zoo::with_head(network, {.units = 2}).layer("only").weights[0].shape, (Shape{5, 2}));
}

TEST(Head, IsMissingInOtherNetworks) {
  const SymbolicTensor input = Input({4, 4, 1});
  const SymbolicTensor wide = Conv2D({.filters = 2, .kernel = {3, 3}, .name = "wide"})(input);
  EXPECT_SAYS(error_of([&] { zoo::find_head(Network(input, wide)); }), "Conv2D 'wide'");
  EXPECT_SAYS(error_of([&] {
                zoo::find_head(Network({input}, {wide, Flatten()(wide)}));
              }),
              "2 outputs");
  EXPECT_SAYS(error_of([&] { zoo::find_head(Network(input, Add()({wide, wide}))); }), "Add");
}

}  // namespace
}  // namespace pando
