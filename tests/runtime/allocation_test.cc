// A separate program, because it replaces malloc: shows that the steps of a warm executor allocate
// nothing. It also intercepts the calls to oneDNN, whose own allocations are counted separately and
// whose calls can be made to fail.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <dlfcn.h>
#include <dnnl.h>
#include <gtest/gtest.h>

#include "tests/runtime/trainee.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;         // by Pando itself
std::atomic<int64_t> onednn_allocations = 0;  // inside calls of oneDNN
std::atomic<int64_t> onednn_calls = 0;
std::atomic<bool> onednn_fails = false;
thread_local bool inside_onednn = false;

bool count_one() {
  if (!counting.load(std::memory_order_relaxed)) return true;
  ++(inside_onednn ? onednn_allocations : allocations);
  return true;
}

// Calls oneDNN's own function of that name and type.
template <typename Function, typename... Args>
dnnl_status_t call_onednn(Function function, Args... args) {
  if (onednn_fails) return dnnl_runtime_error;
  if (counting.load(std::memory_order_relaxed)) ++onednn_calls;
  const bool before = std::exchange(inside_onednn, true);
  const dnnl_status_t status = function(args...);
  inside_onednn = before;
  return status;
}

}  // namespace

#include "tests/support/replaced_malloc.h"

extern "C" {
dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                     int count, const dnnl_exec_arg_t* arguments) {
  static const auto next = reinterpret_cast<decltype(&dnnl_primitive_execute)>(
      dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  return call_onednn(next, primitive, stream, count, arguments);
}
dnnl_status_t dnnl_memory_set_data_handle(dnnl_memory_t memory, void* handle) {
  static const auto next = reinterpret_cast<decltype(&dnnl_memory_set_data_handle)>(
      dlsym(RTLD_NEXT, "dnnl_memory_set_data_handle"));
  return call_onednn(next, memory, handle);
}
}

namespace pando::runtime {
namespace {

constexpr int64_t kSteps = 20;

struct Counts {
  int64_t own = 0;
  int64_t onednn = 0;
  int64_t onednn_calls = 0;
};

// Allocations of an execution of many steps, beyond those of an execution of one step: the start
// and end of an execution may allocate, steps may not.
Counts counts_of_steps(Trainee& trainee, Samples& samples) {
  const auto count = [&](int64_t steps) {
    const Feed feed = samples.feed(trainee.batch, 0, steps * trainee.batch);
    allocations = onednn_allocations = onednn_calls = 0;
    counting = true;
    const ExecutionTotals totals = trainee.run(feed);
    counting = false;
    EXPECT_EQ(totals.updates, steps);
    return Counts{allocations, onednn_allocations, onednn_calls};
  };
  count(2);  // warm
  const Counts few = count(1);
  const Counts many = count(kSteps);
  return {many.own - few.own, many.onednn - few.onednn, many.onednn_calls - few.onednn_calls};
}

Counts check(const std::string& name, const Shape& input_shape, TraineeOptions options) {
  const TestNetwork network = test_network(name, input_shape);
  Samples samples(training_fields(network), kSteps * options.batch, 10);
  const LearningRate rate = with_warmup(CosineDecay({.decay_updates = kSteps}), {.updates = 5});
  Trainee trainee(network, std::move(options),
                  regularized(Adam({.learning_rate = rate}), {.weight_decay = 0.1, .l2 = 0.1}));
  const Counts counts = counts_of_steps(trainee, samples);
  EXPECT_EQ(counts.own, 0) << name;
  return counts;
}

// Uses oneDNN wherever it has a kernel; the pooling is not fused, because oneDNN has no kernel for
// the fused op.
compiler::ProgramOptions with_onednn() {
  compiler::ProgramOptions options;
  options.disabled_passes = {"fuse-conv-pool"};
  options.accept = [](const ir::Node&, const kernels::Candidate& candidate) {
    return !candidate.name.starts_with("winograd") && candidate.name != "direct";
  };
  return options;
}

TEST(Allocation, TheCounterCounts) {
  allocations = 0;
  counting = true;
  auto tensor = std::make_unique<Tensor>(DType::f32, Shape{16});
  counting = false;
  EXPECT_GE(allocations, 2);  // the object and its elements
}

TEST(Allocation, StepsOfMnistCnnAllocateNothing) {
  check("mnist_cnn", {28, 28, 1}, {.workers = 2, .slices = 2, .batch = 4});
  check("mnist_cnn", {28, 28, 1}, {.workers = 2, .slices = 2, .batch = 1});
}

TEST(Allocation, StepsOfCifarResnetAllocateNothing) {
  check("cifar_resnet8", {16, 16, 3}, {.workers = 2, .slices = 2, .batch = 4});
  check("cifar_resnet8", {16, 16, 3}, {.workers = 2, .slices = 2, .batch = 1});
}

TEST(Allocation, StepsInHalfPrecisionAllocateNothing) {
  for (const char* precision : {"16.16", "bf16.32"}) {
    for (const int64_t batch : {4, 1}) {
      TraineeOptions options{
          .workers = 2, .slices = 2, .batch = batch, .placement = {.stop_at_fp_exceptions = true}};
      options.compiling.precision = parse_precision(precision);
      options.compiling.half.stochastic_rounding = StochasticRounding::on;
      check("cifar_resnet8", {16, 16, 3}, options);
    }
  }
}

// Allocations inside calls of oneDNN are reported, not checked.
TEST(Allocation, StepsWithOneDnnAllocateNothingOfTheirOwn) {
  const Counts counts = check("mnist_cnn", {28, 28, 1},
                              {.workers = 2, .slices = 2, .batch = 4, .compiling = with_onednn()});
  EXPECT_GT(counts.onednn_calls, 0);
  RecordProperty("onednn_allocations", std::to_string(counts.onednn));
  std::printf("oneDNN: %lld allocations in %lld calls\n", static_cast<long long>(counts.onednn),
              static_cast<long long>(counts.onednn_calls));
}

// Otherwise training would use what an earlier step left in the output.
TEST(AllocationDeathTest, AFailureOfOneDnnEndsTheProcess) {
  const auto run = [] {
    const TestNetwork network = test_network("mnist_cnn", {28, 28, 1});
    Samples samples(training_fields(network), 4, 10);
    Trainee trainee(network, {.compiling = with_onednn()});
    onednn_fails = true;
    trainee.run(samples.feed(4));
  };
  EXPECT_DEATH(run(), "oneDNN's primitive .* failed with status");
}

}  // namespace
}  // namespace pando::runtime
