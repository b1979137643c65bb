#include "pando/runtime/program/frozen_weights.h"

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/runtime/program/bound_inference.h"

namespace pando::runtime {
namespace {

std::unique_ptr<const compiler::Program> folding_program(int64_t batch, int parts = 1) {
  const std::string n = std::to_string(batch);
  return compiler::compile(
      ir::parse_graph("graph(x: f32[" + n + R"(,8] feed, w: f32[8,16] variable,
            b: f32[16] variable) {
        y = dense(x, w, b)
        return result y=y })"),
      {.slices = parts,
       .division = parts == 1 ? compiler::Division::batch : compiler::Division::parts});
}

VariableStore dense_weights(float first = 1) {
  VariableStore variables;
  Tensor w(DType::f32, {8, 16});
  for (size_t i = 0; i < w.f32().size(); ++i) w.f32()[i] = first + static_cast<float>(i % 7);
  Tensor b(DType::f32, {16});
  for (size_t i = 0; i < b.f32().size(); ++i) b.f32()[i] = static_cast<float>(i);
  variables.add("w", std::move(w));
  variables.add("b", std::move(b));
  return variables;
}

TEST(FrozenWeights, ProgramsOfAllSizesShareThem) {
  FrozenWeights weights;
  const VariableStore variables = dense_weights();
  const auto one = folding_program(1);
  const WeightAddresses first = weights.add(*one, variables);
  const size_t bytes = weights.bytes();
  EXPECT_GE(bytes, (8 * 16 + 16) * sizeof(float));
  for (const int64_t batch : {2, 8}) {
    const auto larger = folding_program(batch);
    const WeightAddresses again = weights.add(*larger, variables);
    EXPECT_EQ(again.size(), first.size());
  }
  EXPECT_EQ(weights.bytes(), bytes);
}

TEST(FrozenWeights, OtherValuesAreKeptBesideThem) {
  FrozenWeights weights;
  const auto program = folding_program(1);
  weights.add(*program, dense_weights());
  const size_t bytes = weights.bytes();
  weights.add(*program, dense_weights(2));
  EXPECT_GT(weights.bytes(), bytes);
}

TEST(FrozenWeights, NeitherVariablesNorPrologueAreNeededAfterwards) {
  FrozenWeights weights;
  std::vector<InferenceProgram> programs;
  {
    const VariableStore variables = dense_weights();
    auto program = folding_program(2);
    WeightAddresses addresses = weights.add(*program, variables);
    programs.push_back({std::move(program), std::move(addresses)});
  }
  BoundInference bound(programs, 0);
  auto* x = reinterpret_cast<float*>(bound.feed(0, 0));
  std::fill_n(x, 16, 0.0f);
  x[0] = 1;
  x[8] = 2;
  bound.run(0, 0);
  const auto* y = reinterpret_cast<const float*>(bound.result(0, 0));
  for (int i = 0; i < 16; ++i) {
    const float w = 1 + static_cast<float>(i % 7);
    EXPECT_EQ(y[i], w + static_cast<float>(i));
    EXPECT_EQ(y[16 + i], 2 * w + static_cast<float>(i));
  }
}

}  // namespace
}  // namespace pando::runtime
