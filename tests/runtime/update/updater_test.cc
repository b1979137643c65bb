#include "pando/runtime/update/updater.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/ir/text.h"
#include "pando/runtime/update/moving_statistics.h"

namespace pando::runtime {
namespace {

// The weights become the gradient, so that tests see what was summed.
class KeepGradient : public UpdateRule {
 public:
  std::string name() const override { return "keep_gradient"; }
  void apply(const UpdateSpan& span, const UpdateStep&) const override {
    std::memcpy(span.weights, span.gradient, span.count * sizeof(float));
  }
};

// A kernel with its gradient and a moving mean, whose memory tests write directly.
class KernelAndMean {
 public:
  KernelAndMean(int64_t inputs, int slices, int workers)
      : program_(compiler::compile(ir::parse_graph(text(inputs)), {.slices = slices})),
        team_({.device_workers = {workers}}),
        barrier_(workers) {
    Tensor kernel(DType::f32, {inputs, 1});
    RandomStream random(3);
    for (float& x : kernel.f32()) x = random.next_normal();
    variables.add("k", std::move(kernel));
    variables.add("m", Tensor::of_f32({1}, {10}), 0.75);
    variables.add("v", Tensor::of_f32({1}, {4}), 0.5, true);
    bound_.emplace(*program_, variables, team_);
  }

  float* gradient(int slice) const { return output(ir::OutputRole::gradient, "k", slice); }
  // Mean, sum of squared deviations and count.
  void set_moments(int slice, const std::array<float, 3>& moments) const {
    std::copy(moments.begin(), moments.end(), output(ir::OutputRole::statistic, "m", slice));
  }

  void update(const UpdateRule& rule, const UpdateStep& step,
              const std::vector<float>& weights = {}, bool whole = true) {
    // Does not own the rule.
    update(Optimizer({std::shared_ptr<const UpdateRule>(), &rule}), step, weights, whole);
  }
  void update(const Optimizer& optimizer, const UpdateStep& step,
              const std::vector<float>& weights = {}, bool whole = true) {
    Updater updater(*bound_, variables, optimizer, team_.size());
    team_.run(
        [&](int worker) { EXPECT_EQ(updater.update(worker, step, weights, barrier_), whole); });
  }
  // Blocks of `instances` instances with the same moments each.
  void move_statistics(size_t instances = 1) {
    MovingStatistics statistics(*bound_, variables);
    std::vector<double> block(statistics.block_size());
    statistics.join_lanes({0, 1}, block);
    std::vector<double> blocks;
    for (size_t i = 0; i < instances; ++i) blocks.insert(blocks.end(), block.begin(), block.end());
    statistics.move({0, 1}, blocks);
  }
  void break_barrier() { barrier_.break_up(); }

  VariableStore variables;

 private:
  static std::string text(int64_t inputs) {
    const std::string n = std::to_string(inputs);
    return "graph(x: f32[2," + n + "] feed, dy: f32[2,1] feed, k: f32[" + n +
           ",1] variable, m: f32[1] state, v: f32[1] state) {"
           "  g = dense_filter_grad(x, dy)"
           "  s = batch_moments(dy)"
           "  return gradient k=g, statistic m=s, statistic v=s }";
  }

  float* output(ir::OutputRole role, std::string_view name, int slice) const {
    const ir::Value* value = program_->graph().find_output(role, name)->value;
    return reinterpret_cast<float*>(bound_->address(program_->operand(value), slice));
  }

  std::unique_ptr<const compiler::Program> program_;
  WorkerTeam team_;
  Barrier barrier_;
  std::optional<BoundProgram> bound_;
};

TEST(Updater, SumsInSliceOrder) {
  KernelAndMean model(1, 3, 2);
  // In the reverse order the 1 would be lost beside the large numbers.
  model.gradient(0)[0] = 1e8f;
  model.gradient(1)[0] = -1e8f;
  model.gradient(2)[0] = 1;
  model.update(KeepGradient(), {});
  EXPECT_EQ(model.variables.get("k").value.f32()[0], 1);
}

TEST(Updater, EveryElementOnceForAnyNumberOfWorkers) {
  constexpr int64_t kElements = 2257;  // neither whole blocks nor whole cache lines
  for (const int workers : {1, 2, 3, 5}) {
    KernelAndMean model(kElements, 2, workers);
    for (int64_t i = 0; i < kElements; ++i) {
      model.gradient(0)[i] = static_cast<float>(i);
      model.gradient(1)[i] = 0.5f;
    }
    model.update(KeepGradient(), {});
    const auto weights = std::as_const(model.variables).get("k").value.f32();
    for (int64_t i = 0; i < kElements; ++i) {
      ASSERT_EQ(weights[static_cast<size_t>(i)], static_cast<float>(i) + 0.5f) << workers;
    }
  }
}

TEST(Updater, SameBitsForAnyNumberOfWorkers) {
  constexpr int64_t kElements = 2257;
  for (const char* optimizer : {"sgd", "lars", "adam", "rmsprop", "adadelta"}) {
    const Optimizer rule =
        regularized(make_optimizer(optimizer), {.weight_decay = 0.1, .l2 = 0.01});
    std::vector<float> expected;
    for (const int workers : {1, 2, 3}) {
      KernelAndMean model(kElements, 2, workers);
      RandomStream random(5);
      for (int64_t i = 0; i < kElements; ++i) {
        model.gradient(0)[i] = random.next_normal();
        model.gradient(1)[i] = random.next_normal();
      }
      for (int64_t iteration = 0; iteration < 3; ++iteration) {
        model.update(rule, {rule.learning_rate.at(iteration), iteration});
      }
      const auto weights = std::as_const(model.variables).get("k").value.f32();
      if (workers == 1) expected.assign(weights.begin(), weights.end());
      EXPECT_EQ(std::memcmp(weights.data(), expected.data(), weights.size_bytes()), 0)
          << optimizer << " with " << workers << " workers";
    }
  }
}

TEST(MovingStatistics, MoveTowardsThoseOfAllSlices) {
  KernelAndMean model(1, 3, 1);
  model.set_moments(0, {2, 2, 2});    // of 1 and 3
  model.set_moments(1, {99, 99, 0});  // of nothing
  model.set_moments(2, {8, 0, 1});    // of 8
  model.move_statistics();
  EXPECT_EQ(model.variables.get("m").value.f32()[0], 10 * 0.75f + 4 * 0.25f);
  // Squared deviations of 1, 3 and 8 from 4, over one less than their number.
  EXPECT_EQ(model.variables.get("v").value.f32()[0], 4 * 0.5f + 26.0f / 2 * 0.5f);
}

TEST(MovingStatistics, OfNoSampleLeaveThingsAsTheyAre) {
  KernelAndMean model(1, 2, 1);
  model.set_moments(0, {7, 7, 0});
  model.set_moments(1, {9, 9, 0});
  model.move_statistics();
  EXPECT_EQ(model.variables.get("m").value.f32()[0], 10);
  EXPECT_EQ(model.variables.get("v").value.f32()[0], 4);
}

TEST(MovingStatistics, MoveTowardsThoseOfAllInstances) {
  KernelAndMean model(1, 2, 1);
  model.set_moments(0, {2, 2, 2});  // of 1 and 3
  model.set_moments(1, {8, 0, 1});  // of 8
  model.move_statistics(2);
  EXPECT_EQ(model.variables.get("m").value.f32()[0], 10 * 0.75f + 4 * 0.25f);
  EXPECT_EQ(model.variables.get("v").value.f32()[0], 4 * 0.5f + 52.0f / 5 * 0.5f);
}

TEST(Updater, WeighsTheSlices) {
  KernelAndMean model(1, 2, 1);
  model.gradient(0)[0] = 3;
  model.gradient(1)[0] = 5;
  model.update(KeepGradient(), {}, {0.5f, 2});
  EXPECT_EQ(model.variables.get("k").value.f32()[0], 0.5f * 3 + 2 * 5);
}

// The weights become the norms of the whole variable.
class KeepNorms : public UpdateRule {
 public:
  explicit KeepNorms(bool of_gradient) : of_gradient_(of_gradient) {}
  std::string name() const override { return "keep_norms"; }
  bool wants_norms() const override { return true; }
  void apply(const UpdateSpan& span, const UpdateStep&) const override {
    const double norm = of_gradient_ ? span.norms.gradient : span.norms.weights;
    std::fill_n(span.weights, span.count, static_cast<float>(norm));
  }

 private:
  bool of_gradient_;
};

// Scales the gradient by the ratio of the norms.
class Lars : public UpdateRule {
 public:
  std::string name() const override { return "lars"; }
  bool wants_norms() const override { return true; }
  void apply(const UpdateSpan& span, const UpdateStep& step) const override {
    const auto rate =
        static_cast<float>(step.learning_rate * span.norms.weights / span.norms.gradient);
    for (size_t i = 0; i < span.count; ++i) span.weights[i] -= rate * span.gradient[i];
  }
};

void fill_gradients(const KernelAndMean& model, int slices, int64_t elements) {
  RandomStream random(5);
  for (int slice = 0; slice < slices; ++slice) {
    for (int64_t i = 0; i < elements; ++i) model.gradient(slice)[i] = random.next_normal();
  }
}

TEST(Updater, NormsAreThoseOfTheWholeVariableAndItsTotalGradient) {
  constexpr int64_t kElements = 2257;
  for (const std::vector<float>& weights : {std::vector<float>{}, {0.5f, 2, 0.25f}}) {
    for (const bool of_gradient : {false, true}) {
      KernelAndMean model(kElements, 3, 2);
      fill_gradients(model, 3, kElements);
      double squares = 0;
      for (int64_t i = 0; i < kElements; ++i) {
        double x =
            static_cast<double>(model.variables.get("k").value.f32()[static_cast<size_t>(i)]);
        if (of_gradient) x = 0;
        for (int slice = 0; of_gradient && slice < 3; ++slice) {
          const float weight = weights.empty() ? 1 : weights[static_cast<size_t>(slice)];
          x += static_cast<double>(weight * model.gradient(slice)[i]);
        }
        squares += x * x;
      }
      model.update(KeepNorms(of_gradient), {}, weights);
      for (const float x : std::as_const(model.variables).get("k").value.f32()) {
        ASSERT_NEAR(x, std::sqrt(squares), 1e-6 * std::sqrt(squares));
      }
    }
  }
}

// The total that the rule gets, with the L2 term of the weights before the update.
TEST(Updater, L2EntersTheGradientAndItsNorm) {
  for (const int slices : {1, 2}) {
    KernelAndMean model(2, slices, 1);
    const auto w = model.variables.get("k").value.f32();
    w[0] = 4, w[1] = -2;
    for (int slice = 0; slice < slices; ++slice) {
      model.gradient(slice)[0] = 1;
      model.gradient(slice)[1] = 3;
    }
    const Optimizer keep(std::make_shared<KeepGradient>(), 0.0, {.weight_decay = 0.5, .l2 = 0.25});
    model.update(keep, {1, 0});
    EXPECT_EQ(w[0], static_cast<float>(slices) + 1) << slices;
    EXPECT_EQ(w[1], static_cast<float>(3 * slices) - 0.5f) << slices;

    KernelAndMean norms(2, slices, 1);
    const auto v = norms.variables.get("k").value.f32();
    v[0] = 4, v[1] = 0;
    norms.gradient(0)[0] = 2;
    norms.gradient(0)[1] = 4;
    for (int slice = 1; slice < slices; ++slice) std::fill_n(norms.gradient(slice), 2, 0.0f);
    norms.update(Optimizer(std::make_shared<KeepNorms>(true), 0.0, {.l2 = 0.25}), {});
    EXPECT_EQ(v[0], 5) << slices;  // of 3 and 4
  }
}

// Weight decay is applied once per update, and the rule sees the weights after it.
TEST(Updater, DecaysWeightsByTheShareOfTheRate) {
  class Nothing : public KeepGradient {
   public:
    void apply(const UpdateSpan&, const UpdateStep&) const override {}
  };
  KernelAndMean model(2257, 2, 3);
  std::fill_n(model.variables.get("k").value.f32().data(), 2257, 8.0f);
  const Optimizer still(std::make_shared<Nothing>(), 0.0, {.weight_decay = 0.5});
  model.update(still, {0.5, 0});
  for (const float x : std::as_const(model.variables).get("k").value.f32()) ASSERT_EQ(x, 6);
  model.update(still, {0, 1});
  for (const float x : std::as_const(model.variables).get("k").value.f32()) ASSERT_EQ(x, 6);
}

TEST(Updater, RulesThatWantNormsGiveTheSameBitsForAnyNumberOfWorkers) {
  constexpr int64_t kElements = 5003;
  std::vector<float> expected;
  for (const int workers : {1, 2, 3}) {
    KernelAndMean model(kElements, 2, workers);
    for (int64_t iteration = 0; iteration < 3; ++iteration) {
      fill_gradients(model, 2, kElements);
      model.update(Lars(), {0.1, iteration});
    }
    const auto weights = std::as_const(model.variables).get("k").value.f32();
    if (workers == 1) expected.assign(weights.begin(), weights.end());
    EXPECT_EQ(std::memcmp(weights.data(), expected.data(), weights.size_bytes()), 0) << workers;
  }
}

TEST(Updater, ABrokenBarrierBetweenThePassesLeavesTheWeights) {
  KernelAndMean model(8, 1, 2);
  fill_gradients(model, 1, 8);
  const Tensor before = model.variables.get("k").value;
  model.break_barrier();
  model.update(Lars(), {1, 0}, {}, false);
  EXPECT_EQ(difference(model.variables.get("k").value, before).absolute, 0);
}

TEST(Updater, MakesTheSlotsOfItsRule) {
  KernelAndMean model(4, 1, 1);
  model.update(*Adam().rule, {});
  EXPECT_EQ(model.variables.get("k").slots.size(), 2u);
  EXPECT_TRUE(model.variables.get("m").slots.empty());
}

TEST(Updater, AGradientThatIsNoSumIsAnError) {
  EXPECT_THROW(compiler::compile(
                   ir::parse_graph("graph(x: f32[2,3] feed, k: f32[2,3] variable) { y = relu(x) "
                                   "return gradient k=y }")),
               InternalError);
}

}  // namespace
}  // namespace pando::runtime
