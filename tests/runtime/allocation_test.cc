// A program of its own, because it replaces malloc: shows that the steps of a warm executor
// allocate nothing.
#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/runtime/trainee.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;

void count_one() {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
}

}  // namespace

// All ways to memory end here: operator new calls malloc or aligned_alloc.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  count_one();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  count_one();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  count_one();
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  count_one();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

namespace pando::runtime {
namespace {

constexpr int64_t kSteps = 20;

bool uses_onednn(const compiler::Program& program) {
  for (const compiler::Call& call : program.calls()) {
    if (program.choice(call.node).candidate == "onednn") return true;
  }
  return false;
}

// Allocations of an execution of many steps, beyond those of an execution of one step: what
// starts and ends an execution may allocate, steps may not.
int64_t allocations_of_steps(Trainee& trainee, Samples& samples) {
  const auto count = [&](int64_t steps) {
    const Infeed infeed = samples.infeed(trainee.batch, 0, steps * trainee.batch);
    allocations = 0;
    counting = true;
    const ExecutionTotals totals = trainee.run(infeed);
    counting = false;
    EXPECT_EQ(totals.steps, steps);
    return allocations.load();
  };
  count(2);  // warm
  const int64_t few = count(1);
  return count(kSteps) - few;
}

void check(const std::string& name, const Shape& input_shape, TraineeOptions options) {
  const TestNetwork network = test_network(name, input_shape);
  Samples samples(training_fields(network), kSteps * options.batch, 10);
  Trainee by_default(network, options);
  const int64_t of_default = allocations_of_steps(by_default, samples);
  if (uses_onednn(by_default.program())) {
    // What oneDNN does inside execute() is its own affair: reported, not judged.
    testing::Test::RecordProperty(name + "_with_onednn", std::to_string(of_default));
    options.compiling.accept = [](const ir::Node&, const kernels::Candidate& candidate) {
      return candidate.name != "onednn";
    };
    Trainee without(network, options);
    ASSERT_FALSE(uses_onednn(without.program()));
    EXPECT_EQ(allocations_of_steps(without, samples), 0) << name;
  } else {
    EXPECT_EQ(of_default, 0) << name;
  }
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

}  // namespace
}  // namespace pando::runtime
