// Files without a batch, constants among computed values, and choices of elements.
// SPDX-License-Identifier: MIT
#include <limits>
#include <numeric>

#include "pando/base/error.h"
#include "pando/onnx/export.h"
#include "tests/onnx/made_models.h"
#include "tests/support/expect_error.h"

namespace pando::onnx {
namespace {

using testing_support::error_of;
using Floats = std::vector<float>;

// The same with a first axis that is not a batch.
ModelProto without_batch(ModelProto model) {
  auto& shape = model.graph.inputs[0].shape;
  shape.erase(shape.begin());
  return model;
}

Floats whole_results(const ModelProto& model, const Shape& shape, const Floats& values) {
  const ImportedNetwork imported =
      import_network(without_batch(model), {.extents = {}, .batch = Batch::none});
  std::vector<int64_t> dims = {1};
  dims.insert(dims.end(), shape.begin(), shape.end());
  Tensor x(DType::f32, Shape(dims));
  std::ranges::copy(values, x.f32().begin());
  const Tensor y = predict_in_file_order(imported, x);
  return {y.f32().begin(), y.f32().end()};
}

TEST(OnnxForms, AFileWithoutABatchMayMixItsFirstAxis) {
  const ModelProto turned = model_with({2, 3}, {node_of("Transpose", {"x"}, "y")});
  EXPECT_EQ(whole_results(turned, {2, 3}, {1, 2, 3, 4, 5, 6}), (Floats{1, 4, 2, 5, 3, 6}));
  const ModelProto sum =
      model_with({2, 3}, {node_of("ReduceSum", {"x"}, "y", {whole_attribute("keepdims", 0)})});
  EXPECT_EQ(whole_results(sum, {2, 3}, {1, 2, 3, 4, 5, 6}), (Floats{21}));
  const ModelProto same = model_with({3}, {node_of("Identity", {"x"}, "y")});
  EXPECT_EQ(whole_results(same, {3}, {1, 2, 3}), (Floats{1, 2, 3}));
  EXPECT_SAYS(error_of<Error>([&] { import_network(turned); }), "'y'", "axis 2 has the samples");
  EXPECT_SAYS(error_of<Error>([&] {
                whole_results(model_with({2, 1, 3, 3}, {node_of("GlobalAveragePool", {"x"}, "y")}),
                              {2, 1, 3, 3}, {});
              }),
              "GlobalAveragePool", "first axis of the file is that of samples");
}

TEST(OnnxForms, ConstantsOfSeveralAxesAreWeights) {
  const ModelProto encoded = model_with({2, 2}, {node_of("Add", {"x", "table"}, "y")},
                                        {reals("table", {1, 2, 2}, {10, 20, 30, 40})});
  EXPECT_EQ(results(encoded, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
            (Floats{11, 22, 33, 44, 15, 26, 37, 48}));
  EXPECT_EQ(import_network(encoded).weights.at(0).second.shape(), (Shape{2, 2}));
  const ModelProto joined =
      model_with({1, 2}, {node_of("Concat", {"first", "x"}, "y", {whole_attribute("axis", 1)})},
                 {reals("first", {1, 1, 2}, {7, 8})});
  EXPECT_EQ(results(joined, {2, 1, 2}, {1, 2, 3, 4}), (Floats{7, 8, 1, 2, 7, 8, 3, 4}));
  const ModelProto product =
      model_with({2, 2}, {node_of("MatMul", {"m", "x"}, "y")}, {reals("m", {2, 2}, {0, 1, 1, 0})});
  EXPECT_EQ(results(product, {1, 2, 2}, {1, 2, 3, 4}), (Floats{3, 4, 1, 2}));
  const ModelProto of_samples = model_with({2}, {node_of("Add", {"x", "table"}, "y")},
                                           {reals("table", {3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_SAYS(error_of<Error>([&] { import_network(of_samples); }), "Add", "each sample");
}

TEST(OnnxForms, ChoicesByKnownNumbers) {
  const ModelProto picked =
      model_with({3}, {node_of("Gather", {"x", "i"}, "y", {whole_attribute("axis", 1)})},
                 {wholes("i", {2, -3, 2})});
  EXPECT_EQ(results(picked, {1, 3}, {5, 6, 7}), (Floats{7, 5, 7}));
  const ModelProto tiled =
      model_with({2}, {node_of("Tile", {"x", "n"}, "y")}, {wholes("n", {1, 2})});
  EXPECT_EQ(results(tiled, {1, 2}, {5, 6}), (Floats{5, 6, 5, 6}));
  const ModelProto wide =
      model_with({1, 2}, {node_of("Expand", {"x", "n"}, "y")}, {wholes("n", {1, 2, 2})});
  EXPECT_EQ(results(wide, {1, 1, 2}, {5, 6}), (Floats{5, 6, 5, 6}));
  const ModelProto back = model_with(
      {3}, {node_of("Slice", {"x", "from", "to", "axes", "steps"}, "y")},
      {wholes("from", {-1}), wholes("to", {-9}), wholes("axes", {1}), wholes("steps", {-1})});
  EXPECT_EQ(results(back, {1, 3}, {5, 6, 7}), (Floats{7, 6, 5}));
  const ModelProto masked =
      model_with({3}, {node_of("Where", {"holds", "x", "other"}, "y")},
                 {tensor_with<uint8_t>("holds", ElementType::boolean, {3}, {1, 0, 1}),
                  reals("other", {}, {-9})});
  EXPECT_EQ(results(masked, {1, 3}, {5, 6, 7}), (Floats{5, -9, 7}));
  for (const auto& [model, words] : std::vector<std::pair<ModelProto, std::string>>{
           {model_with({3}, {node_of("Gather", {"x", "i"}, "y", {whole_attribute("axis", 1)})},
                       {wholes("i", {3})}),
            "index 3 of an axis of 3"},
           {model_with({3}, {node_of("Gather", {"x", "i"}, "y")}, {wholes("i", {0})}),
            "a choice of samples"},
           {model_with({3}, {node_of("Tile", {"x", "n"}, "y")}, {wholes("n", {2, 1})}),
            "2 repeats of axis 0"},
           {model_with({3}, {node_of("Tile", {"x", "n"}, "y")}, {wholes("n", {2})}),
            "expected 2 repeats"},
           {model_with({3}, {node_of("Expand", {"x", "n"}, "y")}, {wholes("n", {4, 3})}),
            "samples are repeated"},
           {model_with({3}, {node_of("GatherElements", {"x", "i"}, "y")}, {wholes("i", {0})}),
            "differ by sample"},
           {model_with({3}, {node_of("NegativeLogLikelihoodLoss", {"x", "i"}, "y")},
                       {wholes("i", {0})}),
            "a loss inside of a network"}}) {
    EXPECT_SAYS(error_of<Error>([&, &one = model] { import_network(one); }), words);
  }
}

TEST(OnnxForms, Borders) {
  const auto padded = [](const std::string& mode, std::vector<int64_t> pads) {
    return model_with({3},
                      {node_of("Pad", {"x", "pads", "number"}, "y",
                               {{.name = "mode", .kind = AttributeKind::text, .s = mode}})},
                      {wholes("pads", std::move(pads)), reals("number", {}, {9})});
  };
  const auto of = [&](const std::string& mode, std::vector<int64_t> pads) {
    return results(padded(mode, std::move(pads)), {1, 3}, {5, 6, 7});
  };
  EXPECT_EQ(of("constant", {0, 1, 0, 2}), (Floats{9, 5, 6, 7, 9, 9}));
  EXPECT_EQ(of("constant", {0, -1, 0, 1}), (Floats{6, 7, 9}));
  EXPECT_EQ(of("edge", {0, 2, 0, 1}), (Floats{5, 5, 5, 6, 7, 7}));
  EXPECT_EQ(of("reflect", {0, 2, 0, 1}), (Floats{7, 6, 5, 6, 7, 6}));
  EXPECT_EQ(of("wrap", {0, 1, 0, 1}), (Floats{7, 5, 6, 7, 5}));
  EXPECT_SAYS(error_of<Error>([&] { of("mirror", {0, 1, 0, 1}); }), "mode mirror");
  EXPECT_SAYS(error_of<Error>([&] { of("edge", {1, 0, 0, 0}); }), "pads of samples");
  EXPECT_SAYS(error_of<Error>([&] { of("edge", {0, 1}); }), "expected 4 pads, got 2");
  EXPECT_SAYS(error_of<Error>([&] { of("constant", {0, -2, 0, -1}); }), "leave nothing");
  EXPECT_SAYS(error_of<Error>([&] { of("edge", {0, 1 << 21, 0, 0}); }), "expected at most");
}

// No number of 32 bits is exactly a third, but the scale means a third: position 1 * 3 is pixel 3,
// not 2.
TEST(OnnxForms, ScalesThatMeanARatioOfExtents) {
  const auto resized = [](float scale, int64_t pixels) {
    Floats x(static_cast<size_t>(pixels));
    std::iota(x.begin(), x.end(), 0.0f);
    const auto text = [](const std::string& name, const std::string& value) {
      return AttributeProto{.name = name, .kind = AttributeKind::text, .s = value};
    };
    const ModelProto model =
        model_with({1, 1, pixels},
                   {node_of("Resize", {"x", "", "scales"}, "y",
                            {text("mode", "nearest"), text("nearest_mode", "floor"),
                             text("coordinate_transformation_mode", "asymmetric")})},
                   {reals("scales", {4}, {1, 1, 1, scale})});
    return results(model, {1, 1, 1, pixels}, x);
  };
  EXPECT_EQ(resized(1.0f / 3, 6), (Floats{0, 3}));
  EXPECT_EQ(resized(5.0f / 3, 6), (Floats{0, 0, 1, 1, 2, 3, 3, 4, 4, 5}));
  EXPECT_EQ(resized(1.5f, 3), (Floats{0, 0, 1, 2}));  // no ratio of 4 and 3
}

// Four pixels in a row, resized.
Floats resized_row(const std::string& coordinates, const std::string& mode,
                   const std::string& nearest, float scale) {
  const auto text = [](const std::string& name, const std::string& value) {
    return AttributeProto{.name = name, .kind = AttributeKind::text, .s = value};
  };
  const ModelProto model =
      model_with({1, 1, 4},
                 {node_of("Resize", {"x", "", "scales"}, "y",
                          {text("mode", mode), text("nearest_mode", nearest),
                           text("coordinate_transformation_mode", coordinates)})},
                 {reals("scales", {4}, {1, 1, 1, scale})});
  return results(model, {1, 1, 1, 4}, {1, 2, 3, 4});
}

TEST(OnnxForms, ResizesWithTheMiddlesTogether) {
  const Floats y = resized_row("half_pixel_symmetric", "linear", "round_prefer_floor", 0.6f);
  ASSERT_EQ(y.size(), 2u);
  EXPECT_NEAR(y[0], 1.6666667, 1e-6);
  EXPECT_NEAR(y[1], 3.3333333, 1e-6);
}

// Pixel o is the one at floor or round of (o + 0.5) / scale.
TEST(OnnxForms, ResizesToTheNearestAsTensorFlowDid) {
  EXPECT_EQ(resized_row("tf_half_pixel_for_nn", "nearest", "floor", 2),
            (Floats{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(resized_row("tf_half_pixel_for_nn", "nearest", "floor", 0.75f), (Floats{1, 3, 4}));
  EXPECT_EQ(resized_row("tf_half_pixel_for_nn", "nearest", "round_prefer_floor", 2),
            (Floats{1, 2, 2, 3, 3, 4, 4, 4}));
  for (const auto& way : {std::pair("linear", "floor"), std::pair("nearest", "ceil")}) {
    const auto resize = [&] { resized_row("tf_half_pixel_for_nn", way.first, way.second, 2); };
    EXPECT_SAYS(error_of<Unsupported>(resize), "tf_half_pixel_for_nn");
  }
}

// Pads of 64 bits whose magnitude has no 64 bits.
TEST(OnnxForms, RefusesPadsBeyondAnyTensor) {
  for (const int64_t pad : {std::numeric_limits<int64_t>::min(), int64_t{-1} << 21}) {
    const ModelProto model =
        model_with({3}, {node_of("Pad", {"x", "pads"}, "y")}, {wholes("pads", {0, pad, 0, 0})});
    EXPECT_SAYS(error_of<Unsupported>([&] { import_network(model); }), "Pad", "expected at most");
  }
}

// The operand after those of the op is computed, so that the node is not folded.
TEST(OnnxForms, RefusesConstantsWhereValuesAreComputed) {
  const TensorProto known = reals("known", {}, {1});
  for (const ModelProto& model :
       {model_with({3}, {node_of("Pad", {"known", "pads", "", "", "x"}, "y")},
                   {known, wholes("pads", {})}),
        model_with({3}, {node_of("ReduceMean", {"known", "", "x"}, "y")}, {known}),
        model_with({3}, {node_of("Softmax", {"known", "x"}, "y")}, {known}),
        model_with({3}, {node_of("Dropout", {"known", "", "", "x"}, "y")}, {known})}) {
    EXPECT_SAYS(error_of<Unsupported>([&] { import_network(model); }), "a constant operand");
  }
}

TEST(OnnxForms, ConstantsBesideSamplesAtTheSecondAxis) {
  const auto turned = [](std::vector<int64_t> dims) {
    const AttributeProto perm{.name = "perm", .kind = AttributeKind::integers, .ints = {1, 0, 2}};
    return model_with(
        {2, 2},
        {node_of("Transpose", {"x"}, "t", {perm}), node_of("Add", {"t", "table"}, "s"),
         node_of("Transpose", {"s"}, "y", {perm})},
        {reals("table", std::move(dims), {10, 20, 30, 40})});
  };
  EXPECT_EQ(results(turned({2, 1, 2}), {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
            (Floats{11, 22, 33, 44, 15, 26, 37, 48}));
  EXPECT_SAYS(error_of<Unsupported>([&] {
                import_network(turned({1, 2, 2}));
              }),
              "Add", "each sample");
}

TEST(OnnxForms, ChoicesOfElementsAreBounded) {
  const auto picked = [](const std::string& op, int64_t extent, const TensorProto& indices) {
    return import_network(
        without_batch(model_with({2, extent}, {node_of(op, {"x", "i"}, "y")}, {indices})),
        {.extents = {}, .batch = Batch::none});
  };
  // Each of 2,000 indices asks for a row of 16 million elements.
  const TensorProto rows =
      tensor_with("i", ElementType::i64, {2000, 1}, std::vector<int64_t>(2000, 1));
  EXPECT_SAYS(error_of<Unsupported>([&] { picked("GatherND", 1 << 24, rows); }), "GatherND",
              "expected at most");
  EXPECT_NO_THROW(picked("GatherND", 4, rows));
  EXPECT_SAYS(error_of<Error>([&] {
                picked("GatherElements", 2, reals("i", {1, 1}, {0}));
              }),
              "GatherElements", "whole numbers");
}

// What is not chosen may be infinite or no number.
TEST(OnnxForms, AChoiceLetsNothingElseThrough) {
  const TensorProto holds = tensor_with<uint8_t>("holds", ElementType::boolean, {3}, {1, 0, 1});
  const TensorProto zero = reals("zero", {}, {0});
  const NodeProto inverse = node_of("Reciprocal", {"x"}, "r");
  const ModelProto either =
      model_with({3}, {inverse, node_of("Where", {"holds", "r", "x"}, "y")}, {holds});
  EXPECT_EQ(results(either, {1, 3}, {4, 0, 8}), (Floats{0.25f, 0, 0.125f}));
  const ModelProto other =
      model_with({3}, {inverse, node_of("Where", {"holds", "zero", "r"}, "y")}, {holds, zero});
  EXPECT_EQ(results(other, {1, 3}, {0, 4, 0}), (Floats{0, 0.25f, 0}));
  const ModelProto one =
      model_with({3}, {inverse, node_of("Where", {"holds", "r", "zero"}, "y")}, {holds, zero});
  EXPECT_EQ(results(one, {1, 3}, {4, 0, 8}), (Floats{0.25f, 0, 0.125f}));
  EXPECT_EQ(ops_in(import_network(one)), (std::vector<std::string>{"spread", "math", "select"}));
  for (const ModelProto& model : {either, other, one}) {
    const ImportedNetwork imported = import_network(model);
    const ModelProto again = export_network(
        imported.network, {imported.weights.begin(), imported.weights.end()}, {.opset = 9});
    EXPECT_EQ(results(again, {1, 3}, {2, 4, 8}), results(model, {1, 3}, {2, 4, 8}));
  }
  const float infinite = std::numeric_limits<float>::infinity();
  const ModelProto wide = model_with({2, 3}, {node_of("Where", {"holds", "x", "low"}, "y")},
                                     {holds, reals("low", {2, 1}, {-infinite, -1})});
  EXPECT_EQ(results(wide, {1, 2, 3}, {1, 2, 3, 4, 5, 6}), (Floats{1, -infinite, 3, 4, -1, 6}));
}

// The cases that ONNX publishes look like this.
TEST(OnnxForms, BatchNormalisationInTrainingMode) {
  NodeProto node = node_of("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, "y",
                           {whole_attribute("training_mode", 1)});
  node.outputs = {"y", "moved_mean", "moved_variance"};
  node.attributes.push_back({.name = "epsilon", .kind = AttributeKind::real, .f = 1e-12f});
  node.attributes.push_back({.name = "momentum", .kind = AttributeKind::real, .f = 0.5f});
  ModelProto model = model_with({2, 2}, {node},
                                {reals("scale", {2}, {2, 1}), reals("bias", {2}, {0, 10}),
                                 reals("mean", {2}, {1, 2}), reals("variance", {2}, {3, 4})});
  model.graph.outputs.clear();
  for (const std::string& name : node.outputs) {
    model.graph.outputs.push_back({.name = name, .is_tensor = true});
  }
  // Two samples of two channels: 1 and 3, 5 and 9.
  Model network =
      model_of(import_network(without_batch(model), {.extents = {}, .batch = Batch::none}));
  const std::vector<Tensor> found = network.predict_all(
      Dataset::from_fields({{"x", Tensor::of_f32({1, 2, 2}, {1, 5, 3, 9})}}), {.batch_size = 1});
  const std::vector<Floats> expected = {{-2, 9, 2, 11}, {1.5f, 4.5f}, {2, 4}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(Floats(found.at(i).f32().begin(), found[i].f32().end()), expected[i]);
  }
  // With a batch it is a layer like any other, whose moving statistics are not results.
  model.graph.outputs.resize(1);
  const std::vector<std::string> ops = ops_in(import_network(model));
  EXPECT_EQ(std::ranges::count(ops, "reduce_mean"), 0);
}

TEST(OnnxForms, RefusesSlicesThatLackBounds) {
  const ModelProto model = model_with({3}, {node_of("Slice", {"x", "from", "to"}, "y")},
                                      {wholes("from", {0, 1}), wholes("to", {1})});
  EXPECT_SAYS(error_of<IoError>([&] { import_network(model); }), "Slice", "as many ends");
}

TEST(OnnxForms, NamesOfOtherSoftware) {
  NodeProto node = node_of("Relu", {"x"}, "y:0");
  node.name = "tower/relu:0 (copy)";
  ModelProto model = model_with({3}, {node});
  EXPECT_EQ(import_network(model).network.layers().back().name, "tower/relu_0__copy_");
  model.graph.nodes[0].name = std::string(1 << 20, 'n');
  EXPECT_LE(import_network(model).network.layers().back().name.size(), 200U);
}

TEST(OnnxForms, SaysWhatIsNeverImported) {
  for (const auto& [op, words] :
       std::vector<std::pair<std::string, std::string>>{{"QLinearConv", "8-bit"},
                                                        {"ConvInteger", "8-bit"},
                                                        {"DynamicQuantizeLinear", "8-bit"},
                                                        {"LSTM", "recurrent"},
                                                        {"GRU", "recurrent"},
                                                        {"RNN", "recurrent"},
                                                        {"If", "control flow"},
                                                        {"Loop", "control flow"},
                                                        {"Scan", "control flow"}}) {
    const ModelProto model = model_with({3}, {node_of(op, {"x"}, "y")});
    EXPECT_SAYS(error_of<Error>([&, &one = model] { import_network(one); }), op, words);
  }
}

}  // namespace
}  // namespace pando::onnx
