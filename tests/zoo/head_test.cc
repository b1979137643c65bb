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

}  // namespace
}  // namespace pando
