#include "pando/runtime/program/bound_inference.h"

#include <cstring>

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/runtime/machine/helper_team.h"
#include "tests/support/expect_error.h"

namespace pando::runtime {
namespace {

using testing_support::error_of;

InferenceProgram soft_program(int64_t batch, int parts) {
  const std::string n = std::to_string(batch);
  auto program = compiler::compile(
      ir::parse_graph("graph(x: f32[" + n + R"(,5] feed) {
        a = relu(x)
        y = softmax(a)
        return result y=y, result a=a })"),
      {.slices = parts,
       .division = parts == 1 ? compiler::Division::batch : compiler::Division::parts});
  FrozenWeights none;
  WeightAddresses addresses = none.add(*program, {});
  return {std::move(program), std::move(addresses)};
}

std::vector<InferenceProgram> soft_programs(std::vector<int64_t> sizes, int parts) {
  std::vector<InferenceProgram> programs;
  for (const int64_t size : sizes) programs.push_back(soft_program(size, parts));
  return programs;
}

void fill(BoundInference& bound, size_t program) {
  auto* x = reinterpret_cast<float*>(bound.feed(program, 0));
  for (int64_t i = 0; i < bound.samples(program) * 5; ++i) {
    x[i] = static_cast<float>(i % 11) * 0.3f - 1;
  }
}

std::vector<float> result_of(const BoundInference& bound, size_t program, size_t index) {
  const auto* y = reinterpret_cast<const float*>(bound.result(program, index));
  return {y, y + bound.samples(program) * 5};
}

TEST(BoundInference, ProgramsOfSeveralSizesShareItsMemory) {
  const auto programs = soft_programs({1, 4}, 1);
  EXPECT_EQ(programs[1].samples(), 4);
  BoundInference bound(programs, 0);
  EXPECT_EQ(bound.parts(), 1);
  fill(bound, 1);
  bound.run(1, 0);
  const std::vector<float> four = result_of(bound, 1, 0);
  fill(bound, 0);
  bound.run(0, 0);
  const std::vector<float> one = result_of(bound, 0, 0);
  EXPECT_EQ(one, std::vector<float>(four.begin(), four.begin() + 5));
  EXPECT_EQ(result_of(bound, 0, 1)[4], std::max(0.0f, 4 * 0.3f - 1));
}

TEST(BoundInference, PartsComputeTheSameBits) {
  const auto whole = soft_programs({3}, 1);
  BoundInference alone(whole, 0);
  fill(alone, 0);
  alone.run(0, 0);
  for (const int parts : {2, 3}) {
    const auto programs = soft_programs({3}, parts);
    BoundInference bound(programs, 10);
    HelperTeam team(parts, 10);
    fill(bound, 0);
    team.run([&](int part) { bound.run(0, part); });
    EXPECT_EQ(result_of(bound, 0, 0), result_of(alone, 0, 0));
  }
}

TEST(BoundInference, RefusesProgramsThatDoNotFitTogether) {
  std::vector<InferenceProgram> mixed;
  mixed.push_back(soft_program(1, 1));
  mixed.push_back(soft_program(1, 2));
  EXPECT_SAYS(error_of<InternalError>([&] { BoundInference bound(mixed, 0); }), "as many parts");
}

}  // namespace
}  // namespace pando::runtime
