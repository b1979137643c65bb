#include "pando/runtime/instance.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ir/text.h"

namespace pando::runtime {
namespace {

// A program of two feeds on slices of three samples, bound to as many workers as asked for.
struct Bound {
  std::unique_ptr<const compiler::Program> program;
  VariableStore variables;
  WorkerTeam team;
  Instance instance;

  Bound(int slices, compiler::Division division, int workers = 1)
      : program(compiler::compile(ir::parse_graph(R"(graph(a: f32[3,2] feed, b: i32[3] feed) {
            y = relu(a)
            return result y=y, result b=b })"),
                                  {.slices = slices, .division = division})),
        team({.workers = workers}),
        instance(*program, variables, team) {}

  template <typename T>
  std::vector<T> read(std::string_view name, int slice, size_t count) const {
    const auto* at =
        reinterpret_cast<const T*>(instance.address(program->graph().find_value(name), slice));
    return {at, at + count};
  }
};

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

TEST(Instance, RealSamplesFillTheSlicesInOrder) {
  const Bound bound(3, compiler::Division::batch);
  EXPECT_EQ(bound.instance.slice_batch(), 3);
  EXPECT_EQ(bound.instance.slice_first(2), 6);
  const auto valid = [&](int64_t real) {
    std::vector<int64_t> counts;
    for (int slice = 0; slice < 3; ++slice)
      counts.push_back(bound.instance.slice_valid(slice, real));
    return counts;
  };
  EXPECT_EQ(valid(9), (std::vector<int64_t>{3, 3, 3}));
  EXPECT_EQ(valid(5), (std::vector<int64_t>{3, 2, 0}));
  EXPECT_EQ(valid(0), (std::vector<int64_t>{0, 0, 0}));
}

TEST(Instance, WithPartsSliceZeroHasAllSamples) {
  const Bound bound(2, compiler::Division::parts);
  EXPECT_EQ(bound.instance.slice_first(1), 0);
  EXPECT_EQ(bound.instance.slice_valid(0, 2), 2);
  EXPECT_EQ(bound.instance.slice_valid(1, 2), 0);
  const ir::Value* y = bound.program->graph().find_value("y");
  EXPECT_EQ(bound.instance.address(y, 0), bound.instance.address(y, 1));
}

TEST(Instance, FeedsItsRowsAndPadsWithZeros) {
  const Bound bound(2, compiler::Division::batch, 2);
  const Floats a = {1, 2, 3, 4, 5, 6, 7, 8};
  const Ints b = {1, 2, 3, 4};
  const std::byte* fields[] = {reinterpret_cast<const std::byte*>(a.data()),
                               reinterpret_cast<const std::byte*>(b.data())};
  for (const int slice : {0, 1}) bound.instance.feed(slice, fields, 4);
  EXPECT_EQ(bound.read<float>("a", 0, 6), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(bound.read<float>("a", 1, 6), (Floats{7, 8, 0, 0, 0, 0}));
  EXPECT_EQ(bound.read<int32_t>("b", 1, 3), (Ints{4, 0, 0}));
  // What an earlier step left behind is overwritten.
  bound.instance.feed(1, fields, 2);
  EXPECT_EQ(bound.read<float>("a", 1, 6), Floats(6, 0));
}

TEST(Instance, RunsOneSlice) {
  Bound bound(2, compiler::Division::batch, 2);
  const Floats a = {-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12};
  const Ints b(6, 0);
  const std::byte* fields[] = {reinterpret_cast<const std::byte*>(a.data()),
                               reinterpret_cast<const std::byte*>(b.data())};
  bound.instance.begin_step(1, 6, {});
  bound.instance.feed(1, fields, 6);
  bound.instance.run_segment(bound.program->segments()[0], 1);
  EXPECT_EQ(bound.read<float>("y", 1, 6), (Floats{0, 8, 0, 10, 0, 12}));
}

TEST(Instance, AProgramWithoutFeedsIsAnError) {
  const auto program = compiler::compile(
      ir::parse_graph("graph(k: f32[2] variable) { y = relu(k) return result y=y }"));
  VariableStore variables;
  WorkerTeam team({.workers = 1});
  EXPECT_THROW(Instance(*program, variables, team), InternalError);
}

}  // namespace
}  // namespace pando::runtime
