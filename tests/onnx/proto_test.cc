// SPDX-License-Identifier: MIT
#include "pando/onnx/proto.h"

#include <fstream>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::onnx {
namespace {

using testing_support::error_of;

std::shared_ptr<const std::vector<uint8_t>> shared(std::vector<uint8_t> bytes) {
  return std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
}

TensorProto floats_proto(const std::string& name, std::vector<int64_t> dims,
                         const std::vector<float>& values) {
  const auto* first = reinterpret_cast<const uint8_t*>(values.data());
  TensorProto tensor{.name = name, .type = ElementType::f32, .dims = std::move(dims)};
  tensor.owner = shared({first, first + values.size() * sizeof(float)});
  tensor.bytes = *tensor.owner;
  return tensor;
}

ModelProto small_model() {
  ModelProto model;
  model.ir_version = 7;
  model.producer = "test";
  model.opsets = {{"", 13}, {"com.example", 2}};
  model.metadata = {{"labels", "cat\ndog"}};
  model.graph.name = "graph";
  model.graph.inputs = {{.name = "x",
                         .type = ElementType::f32,
                         .is_tensor = true,
                         .has_shape = true,
                         .shape = {{-1, "N"}, {3, ""}}}};
  model.graph.outputs = {{.name = "y", .type = ElementType::f32, .is_tensor = true}};
  model.graph.initializers = {floats_proto("w", {3, 2}, {1, 2, 3, 4, 5, 6})};
  NodeProto node{.op_type = "Gemm", .name = "dense"};
  node.inputs = {"x", "w", ""};
  node.outputs = {"y"};
  using Kind = AttributeProto::Kind;
  node.attributes = {{.name = "alpha", .kind = Kind::real, .f = 0.5f},
                     {.name = "transB", .kind = Kind::integer, .i = -3},
                     {.name = "mode", .kind = Kind::text, .s = "linear"},
                     {.name = "pads", .kind = Kind::integers, .ints = {0, -1, 1 << 20}},
                     {.name = "none", .kind = Kind::integers},
                     {.name = "scales", .kind = Kind::reals, .floats = {1.5f, 2}},
                     {.name = "names", .kind = Kind::texts, .strings = {"a", ""}},
                     {.name = "value", .kind = Kind::tensor, .t = floats_proto("", {2}, {7, 8})}};
  model.graph.nodes = {node};
  return model;
}

TEST(OnnxProto, ComesBackAsItWasWritten) {
  const ModelProto model = parse_model(shared(to_bytes(small_model())), "memory", "");
  EXPECT_EQ(model.ir_version, 7);
  EXPECT_EQ(model.producer, "test");
  EXPECT_EQ(model.opsets, (std::map<std::string, int64_t>{{"", 13}, {"com.example", 2}}));
  EXPECT_EQ(model.metadata.at("labels"), "cat\ndog");
  ASSERT_EQ(model.graph.inputs.size(), 1u);
  EXPECT_TRUE(model.graph.inputs[0].shape[0].is_free());
  EXPECT_EQ(model.graph.inputs[0].shape[0].name, "N");
  EXPECT_EQ(model.graph.inputs[0].shape[1].value, 3);
  EXPECT_FALSE(model.graph.outputs[0].has_shape);
  EXPECT_EQ(model.graph.initializers[0].floats(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const NodeProto& node = model.graph.nodes[0];
  EXPECT_EQ(node.inputs, (std::vector<std::string>{"x", "w", ""}));
  EXPECT_EQ(node.find("alpha")->f, 0.5f);
  EXPECT_EQ(node.find("transB")->i, -3);
  EXPECT_EQ(node.find("mode")->s, "linear");
  EXPECT_EQ(node.find("pads")->ints, (std::vector<int64_t>{0, -1, 1 << 20}));
  EXPECT_EQ(node.find("none")->kind, AttributeProto::Kind::integers);
  EXPECT_EQ(node.find("scales")->floats, (std::vector<float>{1.5f, 2}));
  EXPECT_EQ(node.find("names")->strings, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(node.find("value")->t.floats(), (std::vector<float>{7, 8}));
  EXPECT_EQ(node.find("other"), nullptr);
}

TEST(OnnxProto, ConvertsElements) {
  TensorProto halves{.name = "h", .type = ElementType::f16, .dims = {2}};
  halves.owner = shared({0x00, 0x3c, 0x00, 0xc0});
  halves.bytes = *halves.owner;
  EXPECT_EQ(halves.floats(), (std::vector<float>{1, -2}));
  EXPECT_SAYS(error_of<InvalidArgument>([&] { halves.ints(); }), "whole numbers", "float16");
  TensorProto bytes{.name = "b", .type = ElementType::i8, .dims = {2}};
  bytes.owner = shared({0xff, 0x05});
  bytes.bytes = *bytes.owner;
  EXPECT_EQ(bytes.ints(), (std::vector<int64_t>{-1, 5}));
  EXPECT_EQ(bytes.floats(), (std::vector<float>{-1, 5}));
  EXPECT_EQ(to_string(static_cast<ElementType>(23)), "type 23");
}

TEST(OnnxProto, RefusesDamage) {
  const std::vector<uint8_t> whole = to_bytes(small_model());
  EXPECT_SAYS(error_of<IoError>([&] { parse_model(shared({}), "empty.onnx", ""); }), "empty.onnx",
              "graph");
  for (size_t size = 0; size < whole.size(); ++size) {
    try {
      parse_model(shared({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), "cut",
                  "");
    } catch (const IoError&) {  // or a shorter file that is whole
    }
  }
  ModelProto wrong = small_model();
  wrong.graph.initializers[0].dims = {3, 3};
  EXPECT_SAYS(error_of<IoError>([&] { parse_model(shared(to_bytes(wrong)), "m.onnx", ""); }),
              "m.onnx", "'w'", "24 bytes");
  wrong.graph.initializers[0].dims = {int64_t{1} << 62, int64_t{1} << 62};
  EXPECT_THROW(parse_model(shared(to_bytes(wrong)), "m.onnx", ""), IoError);
  wrong.graph.initializers[0].dims = {-6};
  EXPECT_THROW(parse_model(shared(to_bytes(wrong)), "m.onnx", ""), IoError);
}

}  // namespace
}  // namespace pando::onnx
