#include "pando/nn/losses.h"

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/nn/layers.h"
#include "pando/nn/network.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// The graph of a dense layer with this activation and a loss on its result, with class numbers as
// labels.
std::string loss_text(const Loss& loss, const std::string& activation) {
  NetworkGraph built =
      Sequential({4}, {Dense({.units = 3, .activation = activation})}).build({.batch = 2});
  const ir::TensorType type = loss.labels() == LabelKind::classes
                                  ? ir::TensorType{DType::i32, {2}}
                                  : ir::TensorType{DType::f32, {2, 3}};
  ir::Value* labels = built.graph.add_input("y", ir::InputRole::feed, type);
  ir::Value* value =
      loss.build({.graph = &built.graph, .output = built.outputs[0], .labels = labels});
  EXPECT_EQ(value->shape(), Shape{2});
  built.graph.add_output(ir::OutputRole::loss, "loss", value);
  built.graph.erase_dead_nodes();
  return ir::to_text(built.graph);
}

TEST(Losses, EveryNameBuilds) {
  for (const std::string& name : loss_names()) {
    EXPECT_NE(loss_text(Loss(name), "sigmoid"), "") << name;
  }
}

TEST(Losses, ShortNamesAreTheLongOnes) {
  EXPECT_EQ(Loss("mse").name(), "mean_squared_error");
  EXPECT_EQ(Loss("mae").name(), "mean_absolute_error");
  EXPECT_EQ(Loss("sparse_categorical_crossentropy").labels(), LabelKind::classes);
  EXPECT_EQ(Loss("categorical_crossentropy").labels(), LabelKind::values);
}

TEST(Losses, UnknownNamesSuggest) {
  EXPECT_SAYS(error_of([] { Loss("categorical_crosentropy"); }),
              "did you mean 'categorical_crossentropy'");
  EXPECT_SAYS(error_of([] { Loss("hinge"); }), "unknown loss 'hinge'");
}

TEST(Losses, SoftmaxAndCrossEntropyWorkOnLogits) {
  for (const Loss& loss : {CategoricalCrossentropy(), SparseCategoricalCrossentropy()}) {
    const std::string text = loss_text(loss, "softmax");
    EXPECT_SAYS(text, "from_logits=1");
    EXPECT_EQ(text.find("softmax("), std::string::npos) << text;
  }
}

TEST(Losses, SigmoidAndBinaryCrossentropyWorkOnLogits) {
  for (const Loss& loss : {BinaryCrossentropy(), BinaryFocalCrossentropy()}) {
    const std::string text = loss_text(loss, "sigmoid");
    EXPECT_SAYS(text, "binary_cross_entropy(", "from_logits=1");
    EXPECT_EQ(text.find("sigmoid("), std::string::npos) << text;
  }
  EXPECT_SAYS(loss_text(BinaryCrossentropy({.from_logits = true}), "sigmoid"), "sigmoid(");
}

TEST(Losses, FocalOptionsReachTheOp) {
  EXPECT_SAYS(loss_text(BinaryFocalCrossentropy({.gamma = 3, .apply_class_balancing = true}), ""),
              "alpha=0.25", "gamma=3.0", "from_logits=0");
  EXPECT_EQ(loss_text(BinaryFocalCrossentropy(), "").find("alpha"), std::string::npos);
  EXPECT_SAYS(loss_text(CategoricalFocalCrossentropy({.sparse = true}), "softmax"), "alpha=0.25",
              "gamma=2.0", "from_logits=1", "i32[2]");
  EXPECT_SAYS(loss_text(Huber({.delta = 0.5}), ""), "huber(", "delta=0.5");
  EXPECT_SAYS(loss_text(Dice(), "sigmoid"), "sigmoid(", "dice(");
}

TEST(Losses, RefuseNumbersOutOfRange) {
  EXPECT_SAYS(error_of([] { BinaryCrossentropy({.label_smoothing = 2}); }), "label_smoothing");
  EXPECT_SAYS(error_of([] { BinaryFocalCrossentropy({.gamma = -1}); }), "gamma", "got -1");
  EXPECT_SAYS(error_of([] { CategoricalFocalCrossentropy({.alpha = 2}); }), "alpha", "got 2");
  EXPECT_SAYS(error_of([] { Huber({.delta = 0}); }), "delta", "got 0");
  EXPECT_SAYS(error_of([] { Dice({.smooth = -1}); }), "smooth", "got -1");
}

TEST(Losses, OtherOutputsAreProbabilities) {
  EXPECT_EQ(loss_text(CategoricalCrossentropy(), "sigmoid").find("from_logits=1"),
            std::string::npos);
}

TEST(Losses, FromLogitsKeepsASoftmax) {
  // With from_logits on top of a softmax the loss applies a second softmax, as in Keras.
  EXPECT_SAYS(loss_text(CategoricalCrossentropy({.from_logits = true}), "softmax"), "softmax(");
  EXPECT_SAYS(loss_text(CategoricalCrossentropy({.from_logits = true}), ""), "from_logits=1");
}

TEST(Losses, RefuseSmoothingOutOfRange) {
  EXPECT_SAYS(error_of([] { CategoricalCrossentropy({.label_smoothing = 1.5}); }),
              "label_smoothing", "got 1.5");
}

TEST(Metrics, EveryNameBuilds) {
  for (const std::string& name : metric_names()) {
    ir::Graph graph;
    ir::Value* y = graph.add_input("p", ir::InputRole::feed, ir::TensorType{DType::f32, {2, 9}});
    ir::Value* labels =
        graph.add_input("y", ir::InputRole::feed, ir::TensorType{DType::f32, {2, 9}});
    const Metric metric(name);
    EXPECT_EQ(metric.name(), name);
    const Shape shape = metric.build({.graph = &graph, .output = y, .labels = labels})->shape();
    EXPECT_EQ(shape[0], 2);
    EXPECT_EQ(metric.is_mean(), shape == Shape{2}) << name;
  }
}

TEST(Metrics, DoNotSeeSampleWeights) {
  ir::Graph graph;
  ir::Value* y = graph.add_input("p", ir::InputRole::feed, ir::TensorType{DType::f32, {2, 3}});
  ir::Value* labels = graph.add_input("y", ir::InputRole::feed, ir::TensorType{DType::f32, {2, 3}});
  ir::Value* weight = graph.add_input("w", ir::InputRole::feed, ir::TensorType{DType::f32, {2}});
  const LossInputs inputs{&graph, y, labels, weight};
  EXPECT_EQ(Metric("mse").build(inputs)->producer()->num_inputs(), 2);
  EXPECT_EQ(Loss("mse").build(inputs)->producer()->num_inputs(), 3);
}

TEST(Metrics, NamesAndErrors) {
  EXPECT_EQ(Metric("acc").name(), "accuracy");
  EXPECT_EQ(TopKAccuracy(3).name(), "top_3_accuracy");
  EXPECT_SAYS(error_of([] { TopKAccuracy(0); }), "k: expected", "got 0");
  EXPECT_SAYS(error_of([] { Metric("acuracy"); }), "did you mean 'accuracy'");
}

}  // namespace
}  // namespace pando
