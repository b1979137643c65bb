#include "pando/runtime/program/gradient_counter.h"

#include <cfenv>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/tensor/half.h"
#include "tests/runtime/small_networks.h"
#include "tests/runtime/trainee.h"

namespace pando::runtime {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float value_at(DType type, const std::byte* values, int64_t index) {
  if (type == DType::f32) return reinterpret_cast<const float*>(values)[index];
  const uint16_t bits = reinterpret_cast<const uint16_t*>(values)[index];
  return type == DType::f16 ? from_f16(bits) : from_bf16(bits);
}

int64_t slow_beyond(DType type, const std::byte* values, int64_t count, float edge) {
  int64_t beyond = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float magnitude = std::fabs(value_at(type, values, i));
    if (std::isnan(magnitude) || magnitude > edge) ++beyond;
  }
  return beyond;
}

// Every 16-bit pattern, and f32 numbers around all of them.
std::vector<uint16_t> all_halves() {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  return all;
}

TEST(CountBeyond, EveryHalf) {
  const std::vector<uint16_t> all = all_halves();
  const auto* bytes = reinterpret_cast<const std::byte*>(all.data());
  const auto count = static_cast<int64_t>(all.size());
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const float edge :
         {1e-30f, 1e-9f, 6e-8f, 1.0f, 1.0001f, 8192.0f, 8190.0f, 65504.0f, 1e30f}) {
      EXPECT_EQ(count_beyond(type, bytes, count, edge), slow_beyond(type, bytes, count, edge))
          << to_string(type) << ", edge " << edge;
    }
  }
}

TEST(CountBeyond, FloatsOfAnyNumber) {
  RandomStream random(3);
  std::vector<float> values(20000);
  for (float& value : values) value = 1000 * random.next_normal();
  values[7] = kNaN;
  values[8] = -kNaN;
  values[9] = kInfinity;
  values[10] = -kInfinity;
  values[11] = 8192;
  values[12] = std::nextafter(8192.0f, kInfinity);
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  for (const float edge : {1e-30f, 500.0f, 8192.0f}) {
    for (const int64_t count : {0, 1, 8, 13, 8191, 8193, 20000}) {
      EXPECT_EQ(count_beyond(DType::f32, bytes, count, edge),
                slow_beyond(DType::f32, bytes, count, edge))
          << count << " values, edge " << edge;
    }
  }
}

// Code that checks for floating-point exceptions must not find any that only counting raised.
TEST(CountBeyond, RaisesNoFlags) {
  const std::vector<float> values(100, kNaN);
  std::feclearexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(count_beyond(DType::f32, reinterpret_cast<const std::byte*>(values.data()), 100, 1),
            100);
  EXPECT_EQ(std::fetestexcept(FE_INVALID), 0);
}

TEST(CountBeyond, OtherTypesAreAnError) {
  EXPECT_THROW(count_beyond(DType::i32, nullptr, 0, 1), InternalError);
}

int64_t trained_elements(const Trainee& trainee) {
  int64_t elements = 0;
  for (const Variable& variable : trainee.variables.all()) elements += variable.value.elements();
  return elements;
}

TraineeOptions half(TraineeOptions options, DType update = DType::f32) {
  options.compiling.precision = {DType::f16, update};
  return options;
}

// Counts for many updates without a change of the factor.
LossScaler counting(float edge) {
  return LossScaler(
      {.automatic = true,
       .options = {.update_frequency = 1000, .histogram_bin_edge = static_cast<double>(edge)}});
}

// The gradients of the last update with one micro-batch are still there.
GradientCounts counts_in_memory(Trainee& trainee, float edge) {
  const BoundProgram& bound = trainee.executor().bound();
  GradientCounts counts = {};
  for (const ir::Output& output : trainee.program().graph().outputs()) {
    if (output.role != ir::OutputRole::gradient) continue;
    const compiler::Operand operand = trainee.program().operand(output.value);
    const int64_t elements = output.value->shape().elements();
    for (int lane = 0; lane < bound.lanes(); ++lane) {
      const int64_t beyond =
          slow_beyond(output.value->type().dtype, bound.address(operand, lane), elements, edge);
      counts[1] += static_cast<double>(beyond);
      counts[0] += static_cast<double>(elements - beyond);
    }
  }
  return counts;
}

TEST(GradientCounter, FindsWhatLiesInTheLanes) {
  for (const int64_t batch : {8, 2}) {  // in slices, and in parts
    Trainee trainee(mnist(), half({.workers = 2, .slices = 3, .batch = batch}));
    Samples samples(training_fields(mnist()), batch, 10);
    const float edge = 0.003f;
    LossScaler scaler = counting(edge);
    trainee.run(samples.feed(batch), {.scaling = &scaler});
    const GradientCounts wanted = counts_in_memory(trainee, edge);
    EXPECT_EQ(scaler.state().histogram, wanted);
    EXPECT_GT(wanted[0], 0);
    EXPECT_GT(wanted[1], 0);
    EXPECT_EQ(wanted[0] + wanted[1], 3.0 * static_cast<double>(trained_elements(trainee)));
  }
}

TEST(GradientCounter, CountsEveryMicroBatchOfEveryReplica) {
  Trainee trainee(mnist(), half({.workers = 1,
                                 .slices = 2,
                                 .batch = 4,
                                 .placement = {.replicas = 2, .micro_batches = 3},
                                 .shares_cores = true}));
  Samples samples(training_fields(mnist()), 48, 10);
  LossScaler scaler = counting(1e-3f);
  EXPECT_EQ(trainee.run(samples.feed(4), {.scaling = &scaler}).updates, 2);
  const GradientCounts counts = scaler.state().histogram;
  // Updates, replicas, micro-batches, slices.
  EXPECT_EQ(counts[0] + counts[1],
            2.0 * 2 * 3 * 2 * static_cast<double>(trained_elements(trainee)));
}

TEST(GradientCounter, LeavesPaddingOut) {
  Trainee trainee(mnist(), half({.slices = 2, .batch = 4}));
  Samples samples(training_fields(mnist()), 6, 10);
  LossScaler scaler = counting(1e-3f);
  EXPECT_EQ(trainee.run(samples.feed(4), {.scaling = &scaler}).updates, 2);
  const GradientCounts counts = scaler.state().histogram;
  EXPECT_EQ(counts[0] + counts[1], 3.0 * static_cast<double>(trained_elements(trainee)));
}

TEST(GradientCounter, DoesNotDependOnWorkersAndStages) {
  const auto counted = [](int workers, bool pipelined) {
    TestNetwork network = mnist();
    TraineeOptions options = half({.workers = workers,
                                   .slices = 2,
                                   .batch = 4,
                                   .placement = {.micro_batches = 4},
                                   .shares_cores = true});
    if (pipelined) {
      network.network = network.network.with_splits({"conv2d_1", "dense"});
      options.compiling.pipelined = true;
    }
    Trainee trainee(network, options);
    Samples samples(training_fields(network), 32, 10);
    LossScaler scaler = counting(1e-3f);
    trainee.run(samples.feed(4), {.scaling = &scaler});
    return scaler.state().histogram;
  };
  const GradientCounts expected = counted(1, false);
  EXPECT_GT(expected[1], 0);
  EXPECT_EQ(counted(2, false), expected);
  EXPECT_EQ(counted(1, true), expected);
  EXPECT_EQ(counted(2, true), expected);
}

TEST(GradientCounter, CountsNothingInFullPrecision) {
  Trainee trainee(mnist(), {});
  Samples samples(training_fields(mnist()), 4, 10);
  LossScaler scaler = counting(1e-3f);
  trainee.run(samples.feed(4), {.scaling = &scaler});
  EXPECT_EQ(scaler.state().histogram, (GradientCounts{0, 0}));
  EXPECT_EQ(scaler.state().updates, 1);
}

}  // namespace
}  // namespace pando::runtime
