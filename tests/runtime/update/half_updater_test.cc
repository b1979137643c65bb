// Weight updates of variables, slots and gradients that are stored in 16 bits.
#include <cmath>
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/runtime/update/updater.h"
#include "tests/runtime/normal_floats.h"

namespace pando::runtime {
namespace {

using Floats = std::vector<float>;

Floats rounded(DType type, const Floats& values) {
  if (type == DType::f32) return values;
  std::vector<uint16_t> halves(values.size());
  Floats result(values.size());
  const auto count = static_cast<int64_t>(values.size());
  round_halves(type, values.data(), halves.data(), count, {});
  widen_halves(type, halves.data(), result.data(), count);
  return result;
}

struct KernelOptions {
  DType type = DType::f16;  // of the kernel and its gradient
  HalfOptions half = {};
  int slices = 1;
  int workers = 1;
};

// A dense kernel whose gradients the test writes itself.
class StoredKernel {
 public:
  StoredKernel(int64_t elements, const KernelOptions& options)
      : elements_(elements),
        program_(compiler::compile(ir::parse_graph(text(elements)), compiling(options))),
        team_({.device_workers = {options.workers}}),
        barrier_(options.workers) {
    variables.add("k", Tensor(DType::f32, {elements, 1}));
    variables.convert(options.type);
    bound_.emplace(*program_, variables, team_);
  }

  void set_weights(const Floats& values) { fill(of(variables.get("k").value), values); }
  Floats weights() { return values_of(of(variables.get("k").value)); }
  Floats slot(size_t index) { return values_of(of(variables.get("k").slots[index])); }
  void set_gradient(int slice, const Floats& values) {
    const ir::Value* value = program_->graph().find_output(ir::OutputRole::gradient, "k")->value;
    fill({value->type().dtype, bound_->address(program_->operand(value), slice)}, values);
  }

  void update(const Optimizer& optimizer, const UpdateStep& step, const Floats& lanes = {}) {
    Updater updater(*bound_, variables, optimizer, team_.size());
    team_.run([&](int worker) { EXPECT_TRUE(updater.update(worker, step, lanes, barrier_)); });
  }

  VariableStore variables;

 private:
  static compiler::ProgramOptions compiling(const KernelOptions& options) {
    compiler::ProgramOptions compiling{.slices = options.slices};
    compiling.precision = {options.type, options.type};
    compiling.half = options.half;
    return compiling;
  }
  static std::string text(int64_t inputs) {
    const std::string n = std::to_string(inputs);
    return "graph(x: f32[2," + n + "] feed, dy: f32[2,1] feed, k: f32[" + n +
           ",1] variable) {"
           "  g = dense_filter_grad(x, dy)"
           "  return gradient k=g }";
  }
  static Stored of(Tensor& tensor) { return {tensor.dtype(), tensor.data()}; }
  void fill(const Stored& to, const Floats& values) const {
    if (to.is_f32()) {
      std::copy(values.begin(), values.end(), to.f32());
    } else {
      to.close({0, elements_}, values.data(), {});
    }
  }
  Floats values_of(const Stored& from) const {
    Floats space(static_cast<size_t>(elements_));
    const float* opened = from.open({0, elements_}, space.data());
    return {opened, opened + elements_};
  }

  int64_t elements_;
  std::unique_ptr<const compiler::Program> program_;
  WorkerTeam team_;
  Barrier barrier_;
  std::optional<BoundProgram> bound_;
};

// Sizes of neither whole blocks nor whole cache lines.
constexpr int64_t kKernelElements = 2257;

void fill(StoredKernel& kernel, DType type, float scale = 1) {
  kernel.set_weights(rounded(type, normal_floats(kKernelElements, 1)));
  for (int slice = 0; slice < 2; ++slice) {
    Floats gradient =
        rounded(type, normal_floats(kKernelElements, 2 + static_cast<uint64_t>(slice)));
    for (float& x : gradient) x *= scale;
    kernel.set_gradient(slice, gradient);
  }
}

// Slots begin with numbers that all types hold exactly.
Optimizer exact_optimizer(const std::string& name) {
  return name == "adagrad" ? Adagrad({.initial_accumulator = 0.125}) : make_optimizer(name);
}

// The result is that of the same numbers in f32, rounded once at the end.
TEST(HalfUpdater, ComputesInF32) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const std::string& name : optimizer_names()) {
      const Optimizer rule = regularized(exact_optimizer(name), {.l2 = 0.01});
      for (const Floats& lanes : {Floats{}, Floats{0.25f, 0.75f}}) {
        StoredKernel half(kKernelElements, {.type = type, .slices = 2, .workers = 2});
        StoredKernel full(kKernelElements, {.type = DType::f32, .slices = 2});
        for (StoredKernel* kernel : {&half, &full}) {
          fill(*kernel, type);
          kernel->update(rule, {0.1, 0}, lanes);
        }
        EXPECT_EQ(half.weights(), rounded(type, full.weights())) << name << " " << to_string(type);
        for (size_t i = 0; i < rule.rule->slots().size(); ++i) {
          const DType kept = slot_type(rule.rule->slots()[i], type);
          EXPECT_EQ(half.variables.get("k").slots[i].dtype(), kept);
          EXPECT_EQ(half.slot(i), rounded(kept, full.slot(i))) << name << " " << i;
        }
      }
    }
  }
}

// Each slot counts updates, from its own start.
class ThreeCounters : public UpdateRule {
 public:
  std::string name() const override { return "three_counters"; }
  std::vector<SlotSpec> slots() const override {
    return {{"first"}, {.name = "second", .squares = true, .initial = 2}, {"third", false, -1}};
  }
  void apply(const UpdateSpan& span, const UpdateStep&) const override {
    for (float* slot : span.slots) {
      for (size_t i = 0; i < span.count; ++i) slot[i] += 1;
    }
  }
};

TEST(HalfUpdater, ARuleHasAnyNumberOfSlots) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    StoredKernel kernel(kKernelElements, {.type = type, .workers = 2});
    for (int64_t i = 0; i < 2; ++i) {
      kernel.update(Optimizer(std::make_shared<ThreeCounters>()), {0.1, i});
    }
    EXPECT_EQ(kernel.slot(0), Floats(kKernelElements, 2));
    EXPECT_EQ(kernel.slot(1), Floats(kKernelElements, 4));
    EXPECT_EQ(kernel.slot(2), Floats(kKernelElements, 1));
    EXPECT_EQ(kernel.variables.get("k").slots[1].dtype(), type == DType::f16 ? DType::f32 : type);
  }
}

// The error of the weights after a few updates in 16 bits, as a share of how far they moved.
double relative_error(DType type, const Optimizer& optimizer, double learning_rate) {
  Floats small = normal_floats(kKernelElements, 1);
  Floats gradient = normal_floats(kKernelElements, 2);
  for (float& x : small) x *= 0x1p-7f;
  for (float& x : gradient) x = std::copysign(1e-4f + 1e-5f * std::abs(x), x);
  const Floats start = rounded(type, small);
  StoredKernel half(kKernelElements, {.type = type});
  StoredKernel full(kKernelElements, {.type = DType::f32});
  for (StoredKernel* kernel : {&half, &full}) {
    kernel->set_weights(start);
    kernel->set_gradient(0, rounded(type, gradient));
    for (int64_t i = 0; i < 5; ++i) kernel->update(optimizer, {learning_rate, i});
  }
  double moved = 0;
  double off = 0;
  const Floats weights = half.weights();
  const Floats expected = full.weights();
  for (size_t i = 0; i < start.size(); ++i) {
    moved = std::max(moved, std::abs(static_cast<double>(expected[i] - start[i])));
    off = std::max(off, std::abs(static_cast<double>(expected[i] - weights[i])));
  }
  return off / moved;
}

// The squares of such gradients are below the smallest number of f16, and all these rules divide
// by a root of them.
TEST(HalfUpdater, SmallGradientsMoveWeightsAsInF32) {
  const std::vector<Optimizer> optimizers = {Adam(), AdamW(), RMSprop(),
                                             RMSprop({.momentum = 0.9, .epsilon = 1e-12}),
                                             Adadelta({.epsilon = 1e-12})};
  for (const Optimizer& optimizer : optimizers) {
    const double rate = optimizer.rule->name() == "adadelta" ? 1000 : 0.001;
    EXPECT_LT(relative_error(DType::f16, optimizer, rate), 0.01) << optimizer.rule->name();
    EXPECT_LT(relative_error(DType::bf16, optimizer, rate), 0.1) << optimizer.rule->name();
  }
}

// Gradients are unscaled before the L2 term is added and norms are computed.
TEST(HalfUpdater, DividesScaledGradientsByTheScale) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const char* name : {"sgd", "lars", "adam"}) {
      const Optimizer rule = regularized(make_optimizer(name), {.weight_decay = 0.1, .l2 = 0.01});
      for (const Floats& lanes : {Floats{}, Floats{0.25f, 0.75f}}) {
        StoredKernel plain(kKernelElements, {.type = type, .slices = 2});
        StoredKernel scaled(kKernelElements, {.type = type, .slices = 2});
        fill(plain, type);
        fill(scaled, type, 64);
        plain.update(rule, {0.1, 0}, lanes);
        scaled.update(rule, {.learning_rate = 0.1, .unscale = 1.0f / 64}, lanes);
        EXPECT_EQ(scaled.weights(), plain.weights()) << name << " " << to_string(type);
      }
    }
  }
}

Floats after_updates(const KernelOptions& options, uint64_t seed, int64_t updates = 3) {
  const Optimizer rule = SGD({.learning_rate = 0.001, .momentum = 0.9});
  StoredKernel kernel(kKernelElements, options);
  for (int64_t iteration = 0; iteration < updates; ++iteration) {
    if (iteration == 0) fill(kernel, options.type);
    kernel.update(rule, {.learning_rate = 0.001, .iteration = iteration, .seed = seed});
  }
  return kernel.weights();
}

TEST(HalfUpdater, StochasticRoundingRepeats) {
  for (const DType type : {DType::f16, DType::bf16}) {
    const KernelOptions on{
        .type = type, .half = {.stochastic_rounding = StochasticRounding::on}, .slices = 2};
    const Floats expected = after_updates(on, 5);
    EXPECT_EQ(after_updates(on, 5), expected);
    EXPECT_NE(after_updates(on, 6), expected);
    for (const int workers : {2, 3}) {
      KernelOptions others = on;
      others.workers = workers;
      EXPECT_EQ(after_updates(others, 5), expected) << workers;
    }
    KernelOptions mode = on;
    mode.half.stochastic_rounding = StochasticRounding::replica_identical_only;
    EXPECT_EQ(after_updates(mode, 5), expected);
    mode.half.stochastic_rounding = StochasticRounding::off;
    EXPECT_NE(after_updates(mode, 5), expected);
    EXPECT_EQ(after_updates(mode, 5), after_updates(mode, 6));
  }
}

// The same numbers are rounded differently in every element, update, variable and slot.
TEST(HalfUpdater, NoiseDiffers) {
  StoredKernel kernel(kKernelElements, {.half = {.stochastic_rounding = StochasticRounding::on}});
  const auto weights_after = [&](int64_t iteration) {
    kernel.set_weights(Floats(static_cast<size_t>(kKernelElements), 1));
    kernel.set_gradient(0, Floats(static_cast<size_t>(kKernelElements), 1));
    kernel.variables.get("k").slots.clear();
    // Halfway between two numbers of f16, for the weights and for the momentum.
    const double rate = 0x1p-12;
    kernel.update(SGD({.learning_rate = rate, .momentum = 0.5}), {rate, iteration});
    return kernel.weights();
  };
  const Floats first = weights_after(0);
  const auto lower = static_cast<double>(std::count(first.begin(), first.end(), 1 - 0x1p-11f));
  const auto upper = static_cast<double>(std::count(first.begin(), first.end(), 1.0f));
  EXPECT_EQ(lower + upper, kKernelElements);
  EXPECT_NEAR(lower, 0.5 * kKernelElements, 2 * std::sqrt(static_cast<double>(kKernelElements)));
  EXPECT_NE(weights_after(1), first);
}

// The weights of 1000 after 250 updates of 1e-3.
Floats drifted(StochasticRounding mode, int64_t elements) {
  StoredKernel kernel(elements, {.half = {.stochastic_rounding = mode}});
  kernel.set_weights(Floats(static_cast<size_t>(elements), 1000));
  kernel.set_gradient(0, Floats(static_cast<size_t>(elements), -1));
  const Optimizer sgd = SGD({.learning_rate = 1e-3});
  for (int64_t i = 0; i < 250; ++i) kernel.update(sgd, {1e-3, i});
  return kernel.weights();
}

TEST(HalfUpdater, SmallUpdatesOfALargeWeightAreLostWithNearestRounding) {
  for (const float weight : drifted(StochasticRounding::off, 10)) EXPECT_EQ(weight, 1000);
}

// Each update moves a weight by the distance of 0.5 to the next one with probability 0.002.
TEST(HalfUpdater, AndAddUpWithStochasticRounding) {
  constexpr int64_t kCount = 10000;
  double mean = 0;
  for (const float weight : drifted(StochasticRounding::on, kCount)) {
    mean += static_cast<double>(weight) / kCount;
  }
  constexpr double kMove = 0.002;
  const double error = 0.5 * std::sqrt(250 * kMove * (1 - kMove) / kCount);
  EXPECT_NEAR(mean, 1000.25, 4 * error);
}

TEST(HalfUpdater, WhatIsTooLargeSaturatesOrIsNoNumber) {
  const Optimizer sgd = SGD({.learning_rate = 1});
  for (const bool nan : {false, true}) {
    StoredKernel kernel(2, {.half = {.nan_on_overflow = nan}});
    kernel.set_weights({60000, -60000});
    kernel.set_gradient(0, {-60000, 60000});
    kernel.update(sgd, {1, 0});
    const Floats weights = kernel.weights();
    if (nan) {
      EXPECT_TRUE(std::isnan(weights[0]) && std::isnan(weights[1]));
    } else {
      EXPECT_EQ(weights, (Floats{65504, -65504}));
    }
  }
}

}  // namespace
}  // namespace pando::runtime
