// What the import of ONNX files makes of single nodes, and what it refuses.
// SPDX-License-Identifier: MIT
#include "pando/onnx/import.h"

#include <cmath>

#include "pando/base/error.h"
#include "pando/onnx/constant.h"
#include "tests/onnx/made_models.h"
#include "tests/support/expect_error.h"

namespace pando::onnx {
namespace {

using testing_support::error_of;
TEST(OnnxImport, PicturesNeedNoTransposition) {
  const ModelProto model =
      model_with({2, 3, 3},
                 {node_of("Conv", {"x", "conv1.weight"}, "a"), node_of("Relu", {"a"}, "b"),
                  node_of("GlobalAveragePool", {"b"}, "c"), node_of("Flatten", {"c"}, "d"),
                  node_of("Gemm", {"d", "fc.weight"}, "y",
                          {{.name = "transB", .kind = AttributeKind::integer, .i = 1}})},
                 {reals("conv1.weight", {4, 2, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8}),
                  reals("fc.weight", {1, 4}, {1, 1, 1, 1})});
  const ImportedNetwork imported = import_network(model);
  const std::vector<std::string> ops = ops_in(imported);
  EXPECT_EQ(std::ranges::count(ops, "transpose"), 0);
  EXPECT_EQ(imported.network.layer("conv1").class_name, "Conv2D");
  EXPECT_EQ(imported.network.layer("fc").class_name, "Dense");
  EXPECT_EQ(imported.network.inputs()[0].shape, (Shape{3, 3, 2}));
}

TEST(OnnxImport, AFlatteningChangesTheOrderOfTheWeights) {
  // Two channels of two pixels: the file counts channels first.
  const ModelProto model = model_with(
      {2, 1, 2},
      {node_of("Relu", {"x"}, "a"),
       node_of("MaxPool", {"a"}, "b",
               {{.name = "kernel_shape", .kind = AttributeKind::integers, .ints = {1, 1}}}),
       node_of("Flatten", {"b"}, "c"), node_of("MatMul", {"c", "w"}, "y")},
      {reals("w", {4, 1}, {1, 10, 100, 1000})});
  EXPECT_EQ(results(model, {1, 2, 1, 2}, {1, 2, 3, 4}), (std::vector<float>{4321}));
  const std::vector<std::string> ops = ops_in(import_network(model));
  EXPECT_EQ(std::ranges::count(ops, "transpose"), 0);
}

// Pictures are channels last from the first layer on, as `pando predict` gives them.
TEST(OnnxImport, ANetworkThatFlattensItsPicturesTakesThemChannelsLast) {
  const auto flat = [](std::vector<int64_t> sample, NodeProto flattening) {
    return model_with(
        std::move(sample), {std::move(flattening), node_of("MatMul", {"c", "w"}, "y")},
        {reals("w", {6, 1}, {1, 10, 100, 1000, 10000, 100000}), wholes("s", {-1, 6})});
  };
  for (const NodeProto& node :
       {node_of("Flatten", {"x"}, "c"), node_of("Reshape", {"x", "s"}, "c")}) {
    const ModelProto model = flat({3, 1, 2}, node);
    EXPECT_EQ(results(model, {1, 3, 1, 2}, {1, 2, 3, 4, 5, 6}), (std::vector<float>{654321}));
    const ImportedNetwork imported = import_network(model);
    EXPECT_EQ(imported.network.inputs()[0].shape, (Shape{1, 2, 3}));
    EXPECT_EQ(std::ranges::count(ops_in(imported), "transpose"), 0);
    // A file that has them last already.
    const ModelProto last = flat({2, 1, 3}, node);
    EXPECT_EQ(import_network(last).network.inputs()[0].shape, (Shape{2, 1, 3}));
    EXPECT_EQ(results(last, {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}), (std::vector<float>{654321}));
  }
}

TEST(OnnxImport, RefusesWordsThatOnnxDoesNotHave) {
  const auto refused = [](const NodeProto& node) {
    return error_of<IoError>([&] {
      import_network(model_with({4, 8, 8}, {node}, {reals("w", {1, 4, 1, 1}, {1, 2, 3, 4})}));
    });
  };
  const auto word = [](const std::string& name) {
    return AttributeProto{.name = name, .kind = AttributeKind::text, .s = "FOO"};
  };
  const AttributeProto window{
      .name = "kernel_shape", .kind = AttributeKind::integers, .ints = {1, 1}};
  EXPECT_SAYS(refused(node_of("Conv", {"x", "w"}, "y", {word("auto_pad")})), "Conv", "auto_pad",
              "SAME_UPPER", "'FOO'");
  EXPECT_SAYS(refused(node_of("MaxPool", {"x"}, "y", {window, word("auto_pad")})), "auto_pad");
  EXPECT_SAYS(
      refused(node_of("DepthToSpace", {"x"}, "y", {whole_attribute("blocksize", 2), word("mode")})),
      "mode", "DCR");
}

TEST(OnnxImport, WindowsThatAreNotThoseOfTheFilterAreRefused) {
  const auto with = [](const std::string& op, const std::string& attribute,
                       const std::vector<int64_t>& values) {
    return model_with(
        {1, 3, 3},
        {node_of(op, {"x", "w"}, "y",
                 {{.name = attribute, .kind = AttributeKind::integers, .ints = values}})},
        {reals("w", {1, 1, 2, 2}, {1, 2, 3, 4})});
  };
  EXPECT_NO_THROW(import_network(with("ConvTranspose", "kernel_shape", {2, 2})));
  for (const char* op : {"Conv", "ConvTranspose"}) {
    EXPECT_SAYS(error_of<IoError>([&] {
                  import_network(with(op, "kernel_shape", {3, 2}));
                }),
                op, "kernel_shape");
  }
  EXPECT_SAYS(
      error_of<IoError>([&] { import_network(with("ConvTranspose", "output_padding", {1})); }),
      "output_padding", "2", "1");
}

TEST(OnnxImport, ShapesAreComputedWhenTheFileIsRead) {
  const ModelProto model =
      model_with({2, 2, 3},
                 {node_of("Shape", {"x"}, "s"), node_of("Gather", {"s", "zero"}, "n"),
                  node_of("Unsqueeze", {"n", "zeros"}, "n1"),
                  node_of("Concat", {"n1", "rest"}, "shape",
                          {{.name = "axis", .kind = AttributeKind::integer, .i = 0}}),
                  node_of("Reshape", {"x", "shape"}, "y")},
                 {tensor_with<int64_t>("zero", ElementType::i64, {}, {0}), wholes("zeros", {0}),
                  wholes("rest", {-1})});
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(results(model, {1, 2, 2, 3}, x), x);
}

TEST(OnnxImport, SpelledOutFunctionsBecomeOneOp) {
  const auto scalar = [](const std::string& name, float value) { return reals(name, {}, {value}); };
  const ModelProto swish =
      model_with({4}, {node_of("Sigmoid", {"x"}, "a"), node_of("Mul", {"a", "x"}, "y")});
  EXPECT_EQ(ops_in(import_network(swish)), (std::vector<std::string>{"swish"}));
  const auto factored = [&](float factor) {
    return model_with({4},
                      {node_of("Mul", {"x", "factor"}, "a"), node_of("Sigmoid", {"a"}, "b"),
                       node_of("Mul", {"x", "b"}, "y")},
                      {scalar("factor", factor)});
  };
  EXPECT_EQ(ops_in(import_network(factored(1))), (std::vector<std::string>{"swish"}));
  EXPECT_EQ(ops_in(import_network(factored(2))),
            (std::vector<std::string>{"scale", "sigmoid", "multiply"}));
  const ModelProto hard =
      model_with({4},
                 {node_of("Add", {"x", "three"}, "a"), node_of("Clip", {"a", "low", "six"}, "b"),
                  node_of("Mul", {"x", "b"}, "c"), node_of("Div", {"c", "six"}, "y")},
                 {scalar("three", 3), scalar("low", 0), scalar("six", 6)});
  EXPECT_EQ(ops_in(import_network(hard)), (std::vector<std::string>{"hard_swish"}));
  const ModelProto gelu =
      model_with({4},
                 {node_of("Div", {"x", "root"}, "a"), node_of("Erf", {"a"}, "b"),
                  node_of("Add", {"b", "one"}, "c"), node_of("Mul", {"x", "c"}, "d"),
                  node_of("Mul", {"d", "half"}, "y")},
                 {scalar("root", std::sqrt(2.0f)), scalar("one", 1), scalar("half", 0.5f)});
  EXPECT_EQ(ops_in(import_network(gelu)), (std::vector<std::string>{"gelu"}));
  // Another number is another function.
  const ModelProto other = model_with(
      {4}, {node_of("Sigmoid", {"x"}, "a"), node_of("Mul", {"a", "two"}, "y")}, {scalar("two", 2)});
  EXPECT_EQ(ops_in(import_network(other)), (std::vector<std::string>{"sigmoid", "scale"}));
}

TEST(OnnxImport, ListsAllUnknownNodesAtOnce) {
  NodeProto foreign = node_of("Attention", {"b"}, "c");
  foreign.domain = "com.microsoft";
  const ModelProto model =
      model_with({4}, {node_of("LSTM", {"x"}, "a"), node_of("LSTM", {"a"}, "b"), foreign,
                       node_of("Relu", {"c"}, "y")});
  EXPECT_EQ(unknown_ops(model),
            (std::vector<std::string>{
                "LSTM (2): LSTM_of_a, LSTM_of_b [recurrent layers are not supported]",
                "com.microsoft.Attention (1): Attention_of_c"}));
  EXPECT_SAYS(error_of<Unsupported>([&] { import_network(model); }), "LSTM", "Attention");
}

TEST(OnnxImport, FreeExtentsAreAskedFor) {
  const ModelProto model = model_with({3, -1, 4}, {node_of("Relu", {"x"}, "y")});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { import_network(model); }), "'x'", "axis 2", "free");
  EXPECT_EQ(import_network(model, {.extents = {{"free", 6}}}).network.inputs()[0].shape,
            (Shape{6, 4, 3}));
  EXPECT_EQ(import_network(model, {.extents = {{"x:2", 7}}}).network.inputs()[0].shape,
            (Shape{7, 4, 3}));
}

TEST(OnnxImport, RefusesWhatItCannotDo) {
  const auto refused = [](const ModelProto& model) {
    return error_of<Unsupported>([&] { import_network(model); });
  };
  ModelProto early = model_with({4}, {node_of("Relu", {"x"}, "y")});
  early.opsets[""] = 5;
  EXPECT_SAYS(refused(early), "opset 5", "6 to 21");
  std::vector<NodeProto> chain;
  for (int i = 0; i < 100000; ++i) {
    const auto value = [](int at) {
      return at == 0 ? "x" : at == 100000 ? "y" : std::to_string(at);
    };
    chain.push_back(node_of("Relu", {value(i)}, value(i + 1)));
  }
  EXPECT_SAYS(refused(model_with({4}, chain)), "100000 nodes", "20000");
  EXPECT_SAYS(
      refused(model_with({4, 5}, {node_of("Reshape", {"x", "s"}, "y")}, {wholes("s", {4, 5})})),
      "Reshape", "samples");
  EXPECT_SAYS(refused(model_with({4, 5}, {node_of("Transpose", {"x"}, "y")})), "'y'", "samples");
  EXPECT_SAYS(refused(model_with({4, 5, 5}, {node_of("Conv", {"x", "x"}, "y")})), "filter",
              "constant");
  EXPECT_SAYS(refused(model_with({4, 5, 5}, {node_of("ReduceMean", {"x"}, "y")})), "samples");
  ModelProto integers = model_with({4}, {node_of("Relu", {"x"}, "y")});
  integers.graph.inputs[0].type = ElementType::i64;
  EXPECT_SAYS(refused(integers), "'x'", "float", "int64");
}

TEST(OnnxImport, RefusesGraphsThatAreNone) {
  const auto wrong = [](const ModelProto& model) {
    return error_of<IoError>([&] { import_network(model); });
  };
  EXPECT_SAYS(wrong(model_with({4}, {node_of("Relu", {"y"}, "y")})), "'y'", "earlier node");
  EXPECT_SAYS(wrong(model_with({4}, {node_of("Relu", {"x"}, "y"), node_of("Tanh", {"x"}, "y")})),
              "second", "'y'");
  ModelProto nothing = model_with({4}, {node_of("Relu", {"x"}, "y")});
  nothing.graph.outputs[0].name = "z";
  EXPECT_SAYS(wrong(nothing), "'z'");
  ModelProto nameless = model_with({4}, {node_of("Relu", {"x"}, "y")});
  nameless.graph.inputs.push_back(nameless.graph.inputs[0]);
  nameless.graph.inputs[1].name = "";
  EXPECT_SAYS(wrong(nameless), "input", "no name");
}

}  // namespace
}  // namespace pando::onnx
