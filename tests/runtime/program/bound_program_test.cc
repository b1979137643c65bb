#include "pando/runtime/program/bound_program.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ir/text.h"
#include "tests/support/expect_error.h"

namespace pando::runtime {
namespace {

using testing_support::error_of;

// A program of two feeds on slices of three samples, bound to as many workers as asked for.
struct TwoFeeds {
  std::unique_ptr<const compiler::Program> program;
  VariableStore variables;
  WorkerTeam team;
  BoundProgram bound;

  TwoFeeds(int slices, compiler::Division division, int workers = 1)
      : program(compiler::compile(ir::parse_graph(R"(graph(a: f32[3,2] feed, b: i32[3] feed) {
            y = relu(a)
            return result y=y, result b=b })"),
                                  {.slices = slices, .division = division})),
        team({.device_workers = {workers}}),
        bound(*program, variables, team) {}

  template <typename T>
  std::vector<T> read(std::string_view name, int slice, size_t count) const {
    const auto* at = reinterpret_cast<const T*>(bound.address(operand(name), slice));
    return {at, at + count};
  }
  compiler::Operand operand(std::string_view name) const {
    return program->operand(program->graph().find_value(name));
  }
};

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

Tensor of_i32(const Ints& values) {
  Tensor tensor(DType::i32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.i32().begin());
  return tensor;
}

TEST(BoundProgram, RealSamplesFillTheSlicesInOrder) {
  const TwoFeeds two(3, compiler::Division::batch);
  EXPECT_EQ(two.bound.slice_batch(), 3);
  EXPECT_EQ(two.bound.slice_first(2), 6);
  const auto valid = [&](int64_t real) {
    std::vector<int64_t> counts;
    for (int slice = 0; slice < 3; ++slice) counts.push_back(two.bound.slice_valid(slice, real));
    return counts;
  };
  EXPECT_EQ(valid(9), (std::vector<int64_t>{3, 3, 3}));
  EXPECT_EQ(valid(5), (std::vector<int64_t>{3, 2, 0}));
  EXPECT_EQ(valid(0), (std::vector<int64_t>{0, 0, 0}));
}

TEST(BoundProgram, WithPartsSliceZeroHasAllSamples) {
  const TwoFeeds two(2, compiler::Division::parts);
  EXPECT_EQ(two.bound.slice_first(1), 0);
  EXPECT_EQ(two.bound.slice_valid(0, 2), 2);
  EXPECT_EQ(two.bound.slice_valid(1, 2), 0);
  const compiler::Operand y = two.operand("y");
  EXPECT_EQ(two.bound.address(y, 0), two.bound.address(y, 1));
}

TEST(BoundProgram, FeedsItsRowsAndRepeatsOneAsPadding) {
  const TwoFeeds two(2, compiler::Division::batch, 2);
  const Batch batch{{Tensor::of_f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), of_i32({1, 2, 3, 4})}};
  for (const int slice : {0, 1}) two.bound.feed(slice, 0, &batch, 4);
  EXPECT_EQ(two.read<float>("a", 0, 6), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(two.read<float>("a", 1, 6), (Floats{7, 8, 1, 2, 1, 2}));
  EXPECT_EQ(two.read<int32_t>("b", 1, 3), (Ints{4, 1, 1}));
  // What an earlier step left behind is overwritten.
  two.bound.feed(1, 0, &batch, 2);
  EXPECT_EQ(two.read<float>("a", 1, 6), (Floats{1, 2, 1, 2, 1, 2}));
  // A micro-batch of padding has no sample that could be repeated.
  two.bound.feed(0, 0, nullptr, 0);
  EXPECT_EQ(two.read<float>("a", 0, 6), Floats(6, 0));
  EXPECT_EQ(two.read<int32_t>("b", 0, 3), Ints(3, 0));
}

// Bytes take a byte each; a feed that the data do not have is zero.
TEST(BoundProgram, FeedsTakeTheFieldsTheyAreToldOf) {
  const auto program = compiler::compile(
      ir::parse_graph(R"(graph(a: u8[3,2] feed, none: u8[3] feed, b: i32[3] feed) {
            y = cast(a)
            return result y=y, result b=b, result none=none })"),
      {.slices = 2});
  VariableStore variables;
  WorkerTeam team({.device_workers = {2}});
  const BoundProgram bound(*program, variables, team, {.feed_fields = {2, -1, 0}});
  Tensor bytes(DType::u8, {4, 2});
  for (size_t i = 0; i < 8; ++i) bytes.u8()[i] = static_cast<uint8_t>(200 + i);
  const Batch batch{{of_i32({1, 2, 3, 4}), Tensor(DType::f32, {4}), bytes}};
  const auto at = [&](const char* name) {
    return bound.address(program->operand(program->graph().find_value(name)), 1);
  };
  std::fill_n(at("none"), 3, std::byte{7});
  bound.feed(1, 0, &batch, 4);
  const auto* a = reinterpret_cast<const uint8_t*>(at("a"));
  EXPECT_EQ(std::vector<int>(a, a + 6), (std::vector<int>{206, 207, 200, 201, 200, 201}));
  EXPECT_EQ(std::count(at("none"), at("none") + 3, std::byte{0}), 3);
  const auto* b = reinterpret_cast<const int32_t*>(at("b"));
  EXPECT_EQ(Ints(b, b + 3), (Ints{4, 1, 1}));
  EXPECT_THROW(BoundProgram(*program, variables, team, {.feed_fields = {0, 1}}), InternalError);
}

TEST(BoundProgram, RunsOneSlice) {
  TwoFeeds two(2, compiler::Division::batch, 2);
  const Batch batch{{Tensor::of_f32({6, 2}, {-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12}),
                     of_i32({0, 0, 0, 0, 0, 0})}};
  const SliceVisit visit{.lane = 1, .last = true, .step = {.valid = 3, .batch_valid = 6}};
  two.bound.prepare(visit);
  two.bound.feed(1, 0, &batch, 6);
  two.bound.run_segment(two.program->sections()[0].segments[0], visit);
  EXPECT_EQ(two.read<float>("y", 1, 6), (Floats{0, 8, 0, 10, 0, 12}));
}

TEST(BoundProgram, AProgramWithoutFeedsIsAnError) {
  const auto program = compiler::compile(
      ir::parse_graph("graph(k: f32[2] variable) { y = relu(k) return result y=y }"));
  VariableStore variables;
  WorkerTeam team({});
  EXPECT_THROW(BoundProgram(*program, variables, team), InternalError);
}

TEST(BoundProgram, EveryReplicaHasLanesAndMemoryOfItsOwn) {
  TwoFeeds two(2, compiler::Division::batch, 2);
  WorkerTeam team({.device_workers = {2, 1}});
  const BoundProgram bound(*two.program, two.variables, team, {.replicas = 2});
  EXPECT_EQ(bound.lanes(), 4);
  EXPECT_EQ(bound.replica_of(1), 0);
  EXPECT_EQ(bound.replica_of(2), 1);
  EXPECT_EQ(bound.worker_of(1, 0), 1);
  EXPECT_EQ(bound.worker_of(2, 0), 2);
  EXPECT_EQ(bound.worker_of(3, 0), 2);  // the second device has one worker
  std::set<const std::byte*> addresses;
  for (const int lane : {0, 1, 2, 3}) addresses.insert(bound.address(two.operand("a"), lane));
  EXPECT_EQ(addresses.size(), 3u);  // lanes of one worker take turns in one block
}

TEST(BoundProgram, ATeamWithTooFewDevicesIsAnError) {
  TwoFeeds two(1, compiler::Division::batch);
  EXPECT_SAYS(
      error_of([&] { BoundProgram(*two.program, two.variables, two.team, {.replicas = 2}); }),
      "at least 2 devices", "got 1", "fewer replicas");
}

}  // namespace
}  // namespace pando::runtime
