#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

CompileState state_of(std::string_view text) {
  return {.graph = ir::parse_graph(text), .options = {}, .kernels = {}, .memory = {}};
}

std::string inference_error(std::string_view text) {
  CompileState state = state_of(text);
  try {
    InferShapes().run(state);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

TEST(InferShapes, TypesEveryValue) {
  CompileState state = state_of(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    c = conv(x, k)
    y, i = max_pool(c) {window=[2,2]}
    return result y=y })");
  EXPECT_TRUE(InferShapes().run(state));
  EXPECT_EQ(to_string(state.graph.find_value("c")->type()), "f32[2,6,6,4]");
  EXPECT_EQ(to_string(state.graph.find_value("y")->type()), "f32[2,3,3,4]");
  EXPECT_EQ(to_string(state.graph.find_value("i")->type()), "u8[2,3,3,4]");
}

TEST(InferShapes, TypedGraphIsUnchanged) {
  expect_unchanged<InferShapes>("graph(x: f32[2,3] feed) { y = relu(x) return result y=y }");
}

TEST(InferShapes, ErrorNamesTheNode) {
  const std::string error =
      inference_error(R"(graph(x: f32[2,3,3,1] feed, k: f32[5,5,1,4] variable) {
    c = conv(x, k) @block1/c2
    return result c=c })");
  EXPECT_NE(error.find("conv 'block1/c2'"), std::string::npos) << error;
  EXPECT_NE(error.find("5x5"), std::string::npos) << error;
}

TEST(InferShapes, DeclaredTypeMustBeRight) {
  EXPECT_EQ(inference_error(R"(graph(x: f32[2,3] feed) {
    y: f32[2,4] = relu(x) @r1
    return result y=y })"),
            "relu 'r1': 'y' is declared f32[2,4] but is f32[2,3]");
}

TEST(InferShapes, UnknownOpListsTheKnown) {
  const std::string error =
      inference_error("graph(x: f32[2] feed) { y = rleu(x) return result y=y }");
  EXPECT_NE(error.find("rleu"), std::string::npos) << error;
  EXPECT_NE(error.find("relu"), std::string::npos) << error;
}

}  // namespace
}  // namespace pando::compiler
