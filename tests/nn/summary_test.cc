#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "pando/nn/network.h"
#include "pando/zoo/zoo.h"

namespace pando {
namespace {

TEST(Summary, MnistCnn) {
  EXPECT_EQ(mnist_cnn({28, 28, 1}, 10).summary("mnist_cnn"), R"(Model: "mnist_cnn"
____________________________________________________________________
 Layer (type)                   Output Shape             Param #
====================================================================
 input_1 (InputLayer)           (None, 28, 28, 1)        0
 conv2d (Conv2D)                (None, 26, 26, 32)       320
 max_pooling2d (MaxPooling2D)   (None, 13, 13, 32)       0
 conv2d_1 (Conv2D)              (None, 11, 11, 64)       18496
 max_pooling2d_1 (MaxPooling2D) (None, 5, 5, 64)         0
 flatten (Flatten)              (None, 1600)             0
 dropout (Dropout)              (None, 1600)             0
 dense (Dense)                  (None, 10)               16010
====================================================================
Total params: 34,826
Trainable params: 34,826
Non-trainable params: 0
Stored params: 34,826 as f32: 136.0 KiB
____________________________________________________________________
)");
}

TEST(Summary, ResidualNetworkWithAFrozenLayer) {
  const SymbolicTensor input = Input({8, 8, 3});
  const SymbolicTensor x =
      Conv2D({.filters = 4, .kernel = {3, 3}, .padding = "same", .name = "stem"})(input);
  SymbolicTensor y =
      Conv2D({.filters = 4, .kernel = {3, 3}, .padding = "same", .use_bias = false})(x);
  y = BatchNormalization({.name = "bn"})(y);
  y = ReLU()(Add()({y, x}));
  const Network network(input, Dense({.units = 2})(GlobalAveragePooling2D({.name = "pool"})(y)));
  EXPECT_EQ(network.summary("residual", {"stem"}), R"(Model: "residual"
_________________________________________________________________________________________________
 Layer (type)                  Output Shape             Param #    Connected to
=================================================================================================
 input_1 (InputLayer)          (None, 8, 8, 3)          0
 stem (Conv2D)                 (None, 8, 8, 4)          112
 conv2d (Conv2D)               (None, 8, 8, 4)          144
 bn (BatchNormalization)       (None, 8, 8, 4)          16
 add (Add)                     (None, 8, 8, 4)          0          bn, stem
 re_lu (ReLU)                  (None, 8, 8, 4)          0
 pool (GlobalAveragePooling2D) (None, 4)                0
 dense (Dense)                 (None, 2)                10
=================================================================================================
Total params: 282
Trainable params: 162
Non-trainable params: 120
Stored params: 282 as f32: 1.1 KiB
_________________________________________________________________________________________________
)");
}

TEST(Summary, BytesFollowTheStoredType) {
  const SymbolicTensor input = Input({4});
  const Network dense(input, Dense({.units = 1024})(input));
  EXPECT_NE(dense.summary("m", {}, DType::bf16).find("Stored params: 5,120 as bf16: 10.0 KiB\n"),
            std::string::npos);
  const Network normalised(input, BatchNormalization()(Dense({.units = 1024})(input)));
  EXPECT_NE(normalised.summary("m", {}, DType::f16)
                .find("Stored params: 7,168 as f16: 14.0 KiB, 2,048 as f32: 8.0 KiB\n"),
            std::string::npos);
}

TEST(Summary, WideNamesWidenTheTable) {
  const std::string name(40, 'n');
  const std::string text = Sequential({4}, {Dense({.units = 2, .name = name})}).summary();
  EXPECT_NE(text.find(" " + name + " (Dense) (None, 2)"), std::string::npos) << text;
}

// A block whose shortcut is added in the next stage.
Network two_stages() {
  const SymbolicTensor input = Input({8});
  const SymbolicTensor x = Dense({.units = 4, .name = "stem"})(input);
  const SymbolicTensor y = Dense({.units = 4, .name = "body"})(x);
  return Network(input, ReLU()(Add()({y, x}))).with_splits({"add"});
}

TEST(StageSummary, ListsCallsInExecutionOrder) {
  EXPECT_EQ(two_stages().stage_summary(60),
            R"(____________________________________________________________
 Layer (type) (node index)  Input layers     Pipeline stage
============================================================
 stem (Dense) (0)           input_1          0
 body (Dense) (0)           stem             0
 add (Add) (0)              body             1
                            stem
 re_lu (ReLU) (0)           add              1
____________________________________________________________
)");
}

TEST(StageSummary, SaysWhereNoStageIsAssigned) {
  const std::string text = two_stages().without_stages().stage_summary();
  EXPECT_EQ(text.find('\n'), 98u);
  EXPECT_NE(text.find(" None\n"), std::string::npos) << text;
}

TEST(StageSummary, WideNamesWidenTheTable) {
  const std::string name(40, 'n');
  const Network network =
      Sequential({4}, {Dense({.units = 2, .name = name}), Dense({.units = 2, .name = "b"})});
  const std::string text = network.stage_summary(10);
  EXPECT_NE(text.find(" " + name + " (Dense) (0) input_1"), std::string::npos) << text;
  EXPECT_NE(text.find(name + " None\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace pando
