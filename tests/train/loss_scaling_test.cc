// Loss scaling of a model: what it leaves in weights, logs and states.
// SPDX-License-Identifier: MIT
#include "pando/optim/loss_scaling.h"

#include <array>
#include <cmath>
#include <mutex>

#include "pando/tensor/half.h"
#include "pando/train/callbacks.h"
#include "tests/support/thread_instances.h"
#include "tests/train/spread.h"

namespace pando {
namespace {

using testing_support::on_instances;

constexpr int64_t kSamples = 44;  // 6 weight updates of 8

// Gradients of half precision are counted; the edge lies within their range.
LossScaling following(int64_t frequency = 4) {
  return {.automatic = true,
          .options = {.initial_loss_scaling_factor = 16,
                      .update_frequency = frequency,
                      .ratio_threshold = 0.2,
                      .lpf_alpha = 0.25,
                      .histogram_bin_edge = 4}};
}

Model make_model(const LossScaling& scaling, Precision precision = {}) {
  CompileOptions options = classifier(Adam(), {.threads = 1, .slices = 2});
  options.loss_scaling = scaling;
  options.precision = precision;
  return compiled(rich_cnn(), std::move(options), 3);
}

constexpr Precision kHalf = {DType::f16, DType::f32};

FitOptions fit_options() {
  return {.epochs = 3,
          .batch_size = 8,
          .updates_per_execution = [](TrainingPosition) { return 1; },
          .verbose = 0};
}

// The factor after every weight update of a fit.
std::shared_ptr<Callback> note_factors(std::vector<double>& factors) {
  return LambdaCallback({.execution_end = [&factors](FitContext&, const Logs& logs) {
    factors.push_back(value_of(logs, "loss_scaling_factor"));
  }});
}

TEST(ModelLossScaling, APowerOfTwoLeavesNoTrace) {
  Model plain = make_model({});
  Model scaled = make_model({.factor = 4096});
  Model automatic = make_model(following());
  for (Model* model : {&plain, &scaled, &automatic})
    model->fit(image_data(kSamples), fit_options());
  EXPECT_TRUE(same_weights(scaled, plain));
  EXPECT_TRUE(same_weights(automatic, plain));
  EXPECT_EQ(scaled.loss_scaling_factor(), 4096);
  EXPECT_EQ(automatic.loss_scaling_factor(), 256);  // four periods of four updates
}

TEST(ModelLossScaling, TheFactorIsInTheLogs) {
  Model model = make_model(following());
  FitOptions options = fit_options();
  std::vector<double> factors;
  options.callbacks = {note_factors(factors)};
  const History history = model.fit(image_data(kSamples), options);
  std::vector<double> wanted;
  for (int update = 1; update <= 18; ++update) wanted.push_back(16 << (update / 4));
  EXPECT_EQ(factors, wanted);
  EXPECT_EQ(history["loss_scaling_factor"], (std::vector<double>{32, 128, 256}));
  const History plain = make_model({.factor = 2}).fit(image_data(kSamples), fit_options());
  EXPECT_FALSE(plain.values.contains("loss_scaling_factor"));
}

TEST(ModelLossScaling, FollowsHalfPrecisionGradients) {
  Model model = make_model(following(1), kHalf);
  FitOptions options = fit_options();
  options.epochs = 10;
  std::vector<double> factors;
  options.callbacks = {note_factors(factors)};
  model.fit(image_data(kSamples), options);
  bool grew = false;
  bool shrank = false;
  for (size_t i = 1; i < factors.size(); ++i) {
    grew = grew || factors[i] > factors[i - 1];
    shrank = shrank || factors[i] < factors[i - 1];
  }
  EXPECT_TRUE(grew);
  EXPECT_TRUE(shrank);
}

TEST(ModelLossScaling, GoesOnInTheMiddleOfAPeriod) {
  const TempFolder folder;
  Model whole = make_model(following(), kHalf);
  whole.fit(image_data(kSamples), fit_options());
  for (const int64_t stop : {1, 3, 4, 9, 15}) {
    Model before = make_model(following(), kHalf);
    FitOptions options = fit_options();
    options.callbacks = {LambdaCallback({.execution_end = [stop](FitContext& context, const Logs&) {
      context.stop = context.updates == stop;
    }})};
    before.fit(image_data(kSamples), options);
    save_training_state(folder.path("state.h5"), before.training_state());
    const TrainingState state = load_training_state(folder.path("state.h5"));
    ASSERT_TRUE(state.loss_scaling.has_value());
    EXPECT_EQ(state.loss_scaling->updates, stop % 4);
    Model after = make_model(following(), kHalf);
    after.restore(state);
    EXPECT_EQ(after.training_state().loss_scaling, before.training_state().loss_scaling);
    FitOptions rest = fit_options();
    rest.initial_epoch = state.position.epoch;
    rest.initial_update = state.position.update;
    after.fit(image_data(kSamples), rest);
    EXPECT_TRUE(same_weights(after, whole)) << "stopped after " << stop;
    EXPECT_EQ(after.training_state().loss_scaling, whole.training_state().loss_scaling) << stop;
  }
}

TEST(ModelLossScaling, AStateOfARunThatScaledOtherwiseBeginsAnew) {
  Model model = make_model(following());
  model.fit(image_data(kSamples), fit_options());
  const TrainingState fixed = make_model({.factor = 8}).training_state();
  EXPECT_FALSE(fixed.loss_scaling.has_value());
  const TrainingState followed = model.training_state();
  model.restore(fixed);
  EXPECT_EQ(model.loss_scaling_factor(), 16);
  Model other = make_model({.factor = 8});
  other.restore(followed);
  EXPECT_EQ(other.loss_scaling_factor(), 8);
}

TEST(ModelLossScaling, ADamagedStateIsRefused) {
  const TempFolder folder;
  const std::string path = folder.path("a.h5");
  for (const char* text : {"", "1 2 3 4 5", "1 2 3 4 5 x", "0 2 3 4 5 6", "1 2 3 4 5 -6"}) {
    TrainingState state = make_model({}).training_state();
    state.weights.attributes["pando_loss_scaling"] = text;
    save_training_state(path, state);
    EXPECT_SAYS(error_of<IoError>([&] { load_training_state(path); }), "'pando_loss_scaling'",
                "expected 6 numbers", concat("got '", text, "'"));
  }
}

TEST(ModelLossScaling, CompileNamesAWrongOptionAndChangesNothing) {
  Model model = make_model({.factor = 8});
  CompileOptions wrong = classifier();
  wrong.loss_scaling = {.automatic = true, .options = {.increase_factor = 3}};
  EXPECT_SAYS(error_of([&] { model.compile(wrong); }), "increase_factor", "got 3");
  EXPECT_EQ(model.loss_scaling_factor(), 8);
  model.compile(classifier());
  EXPECT_EQ(model.loss_scaling_factor(), 1);
}

// A dense layer whose inputs are so small that its gradients, about 2^-27, are below half of the
// smallest f16 number, while all other numbers are well in range. Targets are those of the weights
// `kTarget`.
constexpr std::array<float, 4> kTarget = {1, -0.5, 0.25, 0.75};

Dataset tiny_data() {
  constexpr int64_t kCount = 64;
  const float tiny = std::exp2(-14.0f);
  Tensor x(DType::f32, {kCount, 4});
  Tensor y(DType::f32, {kCount, 1});
  RandomStream random(3);
  for (size_t i = 0; i < static_cast<size_t>(kCount); ++i) {
    for (size_t k = 0; k < 4; ++k) {
      x.f32()[4 * i + k] = random.next_below(2) == 0 ? tiny : -tiny;
      y.f32()[i] += x.f32()[4 * i + k] * kTarget[k];
    }
  }
  return Dataset::from_tensors(std::move(x), std::move(y));
}

// Each step without a loss in f32 would take a quarter of the way to the target.
Model tiny_model(const LossScaling& scaling, Precision precision) {
  Model model(Sequential({4}, {Dense({.units = 1, .use_bias = false, .name = "dense"})}),
              {.seed = 2});
  model.compile({.optimizer = SGD({.learning_rate = std::exp2(25.0)}),
                 .loss = "mean_squared_error",
                 .precision = precision,
                 .half = {.stochastic_rounding = StochasticRounding::off},
                 .loss_scaling = scaling,
                 .execution = {.threads = 1, .slices = 1}});
  return model;
}

double farthest_from_target(const Model& model) {
  const Tensor found = Model(model).get_weight("dense/kernel");
  double farthest = 0;
  for (size_t k = 0; k < kTarget.size(); ++k) {
    const float weight = found.dtype() == DType::f16
                             ? from_f16(reinterpret_cast<const uint16_t*>(found.data())[k])
                             : found.f32()[k];
    farthest = std::max(farthest, std::fabs(static_cast<double>(weight - kTarget[k])));
  }
  return farthest;
}

TEST(ModelLossScaling, TinyGradientsAreLearnedOnlyWithIt) {
  const LossScaling automatic{.automatic = true, .options = {.update_frequency = 1}};
  const FitOptions fit{.epochs = 10, .batch_size = 16, .verbose = 0};
  for (const DType update : {DType::f16, DType::f32}) {
    const Precision half{DType::f16, update};
    Model plain = tiny_model({}, half);
    const std::vector<Tensor> before = plain.get_weights();
    plain.fit(tiny_data(), fit);
    EXPECT_TRUE(same_bits(plain.get_weights(), before)) << "learned without, " << to_string(half);
    EXPECT_GT(farthest_from_target(plain), 0.5);
    for (const LossScaling& scaling : {LossScaling{.factor = 4096}, automatic}) {
      Model model = tiny_model(scaling, half);
      model.fit(tiny_data(), fit);
      EXPECT_LT(farthest_from_target(model), 0.02)
          << to_string(half) << ", loss scaling " << to_string(scaling);
    }
  }
  Model full = tiny_model({}, {});
  full.fit(tiny_data(), fit);
  EXPECT_LT(farthest_from_target(full), 0.02);
}

// Counts are summed over replicas and instances, so every instance has the same factor.
TEST(ModelLossScaling, InstancesFollowTheGradientsOfAll) {
  const auto train = [](int devices) {
    const DeviceStrategy strategy({.devices = devices});
    const auto scope = strategy.scope();
    Model model(rich_cnn(), {.seed = 5});
    CompileOptions options = classifier(SGD({.learning_rate = 0.1}), {.slices = 1});
    options.loss_scaling = following(2);
    options.precision = kHalf;
    model.compile(std::move(options));
    model.set_gradient_accumulation_options({.steps_per_replica = 2});
    model.fit(image_data(kSamples), {.epochs = 3, .batch_size = 2, .verbose = 0});
    return model.training_state();
  };
  const TrainingState alone = train(4);
  std::mutex mutex;
  std::vector<TrainingState> found;
  on_instances(2, [&](comm::Communicator&) {
    TrainingState state = train(2);
    const std::lock_guard lock(mutex);
    found.push_back(std::move(state));
  });
  for (const TrainingState& state : found) {
    ASSERT_TRUE(state.loss_scaling.has_value());
    EXPECT_EQ(state.loss_scaling, found[0].loss_scaling);
    // Sums over instances are rounded differently, which may move a gradient over the edge.
    EXPECT_EQ(state.loss_scaling->updates, alone.loss_scaling->updates);
    const GradientCounts& all = alone.loss_scaling->filtered;
    const GradientCounts& seen = state.loss_scaling->filtered;
    EXPECT_NEAR(seen[0] + seen[1], all[0] + all[1], 1e-6);
    EXPECT_NEAR(seen[1], all[1], 0.02 * all[1] + 2);
    EXPECT_EQ(state.loss_scaling->factor, alone.loss_scaling->factor);
  }
}

TEST(ModelLossScaling, InstancesTakeTheStateOfTheFirst) {
  on_instances(2, [](comm::Communicator& others) {
    Model model = make_model(following(1000), kHalf);
    TrainingState state = model.training_state();
    state.loss_scaling = {.factor = others.rank() == 0 ? 512.0 : 4.0, .updates = 7};
    model.restore(state);
    model.fit(image_data(kSamples), {.batch_size = 8, .verbose = 0});
    EXPECT_EQ(model.loss_scaling_factor(), 512);
    EXPECT_EQ(model.training_state().loss_scaling->updates, 10);
  });
}

TEST(ModelLossScaling, InstancesThatScaleDifferentlyAreRefused) {
  on_instances(2, [](comm::Communicator& others) {
    Model model = make_model(others.rank() == 0 ? following() : LossScaling{});
    EXPECT_SAYS(error_of([&] { model.fit(image_data(kSamples), {.batch_size = 8, .verbose = 0}); }),
                "loss scaling automatic");
  });
}

}  // namespace
}  // namespace pando
