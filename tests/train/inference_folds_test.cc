// Evaluation and prediction fold batch normalisation, factors and offsets into the layers beside
// them, add residuals inside convolutions, and make zeros their padding; they compute the same as
// without.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <map>

#include "tests/train/train_support.h"

namespace pando {
namespace {

const std::set<std::string> kFolds = {"fold-batch-norm", "fold-scale", "fuse-pad", "fuse-residual"};

SymbolicTensor normal_conv(const SymbolicTensor& x, int64_t filters, int64_t kernel, bool bias) {
  return BatchNormalization()(Conv2D(
      {.filters = filters, .kernel = {kernel, kernel}, .padding = "same", .use_bias = bias})(x));
}

// Identity and projection shortcuts, wide enough for every kernel of convolutions.
Network folding_resnet() {
  const SymbolicTensor input = Input({6, 6, 1});
  SymbolicTensor x = ReLU()(normal_conv(input, 32, 3, false));
  SymbolicTensor y = ReLU()(normal_conv(x, 32, 3, true));
  x = ReLU()(Add()({normal_conv(y, 32, 3, false), x}));
  y = normal_conv(ReLU()(normal_conv(x, 16, 1, true)), 48, 1, false);
  x = LeakyReLU()(Add()({y, normal_conv(x, 48, 1, true)}));
  x = GlobalAveragePooling2D()(x);
  return Network(input, Dense({.units = 3, .activation = "softmax"})(x));
}

Network folding_depthwise() {
  return Sequential(
      {6, 6, 1},
      {Conv2D({.filters = 20, .kernel = {3, 3}, .padding = "same", .use_bias = false}),
       BatchNormalization(), ReLU(), DepthwiseConv2D({.kernel = {3, 3}, .padding = "same"}),
       BatchNormalization(), Activation("relu6"), SeparableConv2D({.filters = 8, .kernel = {2, 2}}),
       BatchNormalization(), MaxPooling2D(), BatchNormalization(), Flatten(),
       Dense({.units = 3, .activation = "softmax"})});
}

// Other curves than relu, and normalisations after transposed convolutions.
Network folding_curves() {
  return Sequential(
      {6, 6, 1},
      {Conv2D({.filters = 20, .kernel = {3, 3}, .padding = "same", .use_bias = false}),
       BatchNormalization(), Activation("gelu"),
       DepthwiseConv2D({.kernel = {3, 3}, .padding = "same"}), BatchNormalization(),
       Activation("sigmoid"), Conv2DTranspose({.filters = 12, .kernel = {2, 2}, .strides = {2, 2}}),
       BatchNormalization(), Activation("elu"),
       Conv2DTranspose({.filters = 7, .kernel = {3, 3}, .padding = "same", .use_bias = false}),
       BatchNormalization(), Activation("mish"), GlobalAveragePooling2D(),
       Dense({.units = 5, .activation = "softplus"}), Dense({.units = 4, .activation = "selu"}),
       Dense({.units = 3, .activation = "softmax"})});
}

Network folding_dense() {
  return Sequential({6, 6, 1}, {Flatten(), Dense({.units = 40}), BatchNormalization(), ReLU(),
                                Dense({.units = 24, .use_bias = false}), BatchNormalization(),
                                Dense({.units = 3, .activation = "softmax"})});
}

// Zeros, factors and offsets around convolutions, some of which stay.
Network folding_scales() {
  return Sequential({6, 6, 1},
                    {ZeroPadding2D({.top_bottom = {0, 1}, .left_right = {0, 1}}),
                     Conv2D({.filters = 16, .kernel = {3, 3}, .strides = {2, 2}}),
                     Rescaling({.factor = 0.7, .offset = 0.3}), Activation("hard_swish"),
                     Rescaling({.factor = 1.3, .offset = -0.2}),
                     Conv2D({.filters = 24, .kernel = {1, 1}}), BatchNormalization(),
                     Rescaling({.factor = 0.9}), ReLU(), Rescaling({.factor = 1.1, .offset = 0.1}),
                     ZeroPadding2D(), DepthwiseConv2D({.kernel = {3, 3}}), GlobalAveragePooling2D(),
                     Rescaling({.factor = 2.0}), Dense({.units = 3, .activation = "softmax"})});
}

// Gives every weight of a normalisation, and every bias, a value of its own.
void vary_weights(Model& model, uint64_t key = 3) {
  std::vector<Tensor> weights = model.get_weights();
  const std::vector<std::string> names = model.weight_names();
  RandomStream random(key);
  for (size_t i = 0; i < weights.size(); ++i) {
    Tensor wide = cast(weights[i], DType::f32);
    const bool positive = names[i].ends_with("gamma") || names[i].ends_with("variance");
    if (!positive && wide.shape().rank() > 1) continue;
    for (float& value : wide.f32()) {
      value = positive ? 0.5f + random.next_uniform() : 0.3f * random.next_normal();
    }
    weights[i] = cast(wide, weights[i].dtype());
  }
  model.set_weights(weights);
}

struct Folding {
  Precision precision = {};
  ExecutionOptions execution = {.threads = 2, .slices = 2};
};

Model folding_model(const Network& network, const Folding& how, bool folds) {
  CompileOptions options = classifier(SGD(), how.execution);
  options.precision = how.precision;
  if (!folds) options.execution.disabled_passes = kFolds;
  Model model = compiled(network, std::move(options), 5);
  vary_weights(model);
  return model;
}

double largest_difference_of(const Tensor& a, const Tensor& b) { return difference(a, b).absolute; }

double tolerance_of(const Precision& precision) {
  if (precision.compute == DType::f32) return 2e-6;
  return precision.compute == DType::f16 ? 4e-3 : 3e-2;
}

void expect_same_inference(const Network& network, const Folding& how) {
  Model plain = folding_model(network, how, false);
  Model folded = folding_model(network, how, true);
  const Images data = images(7);
  const Tensor wanted = plain.predict(data.x, 4);
  const Tensor found = folded.predict(data.x, 4);
  EXPECT_LT(largest_difference_of(found, wanted), tolerance_of(how.precision));
  // The folding changes the rounding of something: otherwise it did not happen. Results of 16 bits
  // may hide that.
  if (how.precision == Precision{}) {
    EXPECT_GT(largest_difference_of(found, wanted), 0);
  }
  const double loss = value_of(folded.evaluate(data.x, data.y, {.batch_size = 4}), "loss");
  double by_hand = 0;
  for (int64_t i = 0; i < 7; ++i) {
    const int64_t at = i * 3 + data.y.i32()[static_cast<size_t>(i)];
    by_hand -= std::log(static_cast<double>(found.f32()[static_cast<size_t>(at)])) / 7;
  }
  // Probabilities of predictions are rounded to the type of activations, those of a loss are not.
  EXPECT_NEAR(loss, by_hand, 10 * tolerance_of(how.precision));
}

TEST(InferenceFolds, PredictionsStay) {
  for (const Network& network : {folding_resnet(), folding_depthwise(), folding_curves(),
                                 folding_dense(), folding_scales()}) {
    for (const Precision precision :
         {Precision{}, Precision{DType::bf16, DType::f32}, Precision{DType::bf16, DType::bf16},
          Precision{DType::f16, DType::f32}, Precision{DType::f16, DType::f16}}) {
      SCOPED_TRACE(to_string(precision));
      expect_same_inference(network, {.precision = precision});
    }
  }
}

TEST(InferenceFolds, PredictionsStayInParts) {
  Folding how{.execution = {.threads = 2, .slices = 2}};
  Model plain = folding_model(folding_resnet(), how, false);
  Model folded = folding_model(folding_resnet(), how, true);
  const Tensor x = images(2).x;
  EXPECT_LT(largest_difference_of(folded.predict(x, 1), plain.predict(x, 1)), 2e-6);
}

TEST(InferenceFolds, NoNormalisationIsLeft) {
  Model model = folding_model(folding_resnet(), {}, true);
  std::set<std::string> ops;
  model.compile([&] {
    CompileOptions options = classifier();
    options.execution.dump_ir = [&](const std::string& program, std::string_view pass,
                                    const std::string& text) {
      if (pass != "select-kernels") return;
      for (const char* op : {" batch_norm(", " add(", " fold_batch_norm("}) {
        if (text.find(op) != std::string::npos) ops.insert(program + op);
      }
    };
    return options;
  }());
  model.predict(images(4).x, 4);
  EXPECT_EQ(ops, std::set<std::string>{"predict fold_batch_norm("});
}

// Every normalisation and every activation but the softmax is part of the op before it.
TEST(InferenceFolds, NoCurveIsLeft) {
  Model model(folding_curves());
  std::string left;
  CompileOptions options = classifier();
  options.execution.dump_ir = [&](const std::string& program, std::string_view pass,
                                  const std::string& text) {
    if (pass != "select-kernels" || program != "predict") return;
    for (const char* op : {"batch_norm", "gelu", "sigmoid", "elu", "mish", "softplus", "selu"}) {
      if (text.find(concat(" = ", op, "(")) != std::string::npos) left += concat(op, " ");
    }
  };
  model.compile(options);
  model.predict(images(4).x, 4);
  EXPECT_EQ(left, "");
}

class NewWeights : public testing::TestWithParam<bool> {};
TEST_P(NewWeights, TakeEffect) {
  const Network network = GetParam() ? folding_scales() : folding_resnet();
  Model plain = folding_model(network, {}, false);
  Model folded = folding_model(network, {}, true);
  const Tensor x = images(4).x;
  const Tensor before = folded.predict(x, 4);
  for (Model* model : {&plain, &folded}) vary_weights(*model, 9);
  const Tensor after = folded.predict(x, 4);
  EXPECT_GT(largest_difference_of(after, before), 1e-3);
  EXPECT_LT(largest_difference_of(after, plain.predict(x, 4)), 2e-6);
  // Training moves weights and statistics.
  for (Model* model : {&plain, &folded}) {
    model->fit(image_data(24), {.epochs = 2, .batch_size = 8, .shuffle = false, .verbose = 0});
  }
  EXPECT_TRUE(same_weights(plain, folded));
  EXPECT_GT(largest_difference_of(folded.predict(x, 4), after), 1e-3);
  EXPECT_LT(largest_difference_of(folded.predict(x, 4), plain.predict(x, 4)), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(InferenceFolds, NewWeights, testing::Bool());

// How often weights were folded and packed in an evaluation with an execution for every batch.
int packings_of(Model& model) {
  profile::Trace trace;
  model.evaluate(image_data(12), {.batch_size = 4, .steps_per_execution = 1, .trace = &trace});
  std::map<const profile::TraceTrack*, int> packings;
  for (const profile::TraceTrack* track : trace.tracks()) {
    for (const profile::TraceEvent& event : track->events()) {
      if (event.kind == profile::EventKind::prologue) ++packings[track];
    }
  }
  int most = 0;
  for (const auto& [track, count] : packings) most = std::max(most, count);
  return most;
}

TEST(InferenceFolds, WeightsThatStayArePackedOnce) {
  Model model = folding_model(folding_resnet(), {}, true);
  EXPECT_EQ(packings_of(model), 1);
  EXPECT_EQ(packings_of(model), 0);
  model.predict(images(4).x, 4);  // another program does not matter
  EXPECT_EQ(packings_of(model), 0);
  vary_weights(model, 9);
  EXPECT_EQ(packings_of(model), 1);
  model.fit(image_data(24), {.epochs = 1, .batch_size = 8, .verbose = 0});
  EXPECT_EQ(packings_of(model), 1);
  EXPECT_EQ(packings_of(model), 0);
}

// After an execution that failed, nobody knows what was packed.
TEST(InferenceFolds, FailuresForgetWhatWasPacked) {
  Model model = folding_model(folding_resnet(), {}, true);
  EXPECT_EQ(packings_of(model), 1);
  const Dataset broken =
      image_data(8).map_in_place([](const SampleView&) { throw IoError("no more data"); });
  EXPECT_THROW(model.evaluate(broken, {.batch_size = 4, .steps_per_execution = 1}), IoError);
  EXPECT_EQ(packings_of(model), 1);
}

// Frozen layers normalise by moving statistics in training, where nothing folds.
TEST(InferenceFolds, TrainingIsNotTouched) {
  const auto trained = [](bool folds, bool frozen) {
    Model model = folding_model(folding_resnet(), {}, folds);
    if (frozen) {
      for (const char* layer : {"conv2d", "batch_normalization", "batch_normalization_2"}) {
        model.set_trainable(layer, false);
      }
    }
    model.fit(image_data(24), {.epochs = 2, .batch_size = 8, .verbose = 0});
    return model;
  };
  for (const bool frozen : {false, true}) {
    Model plain = trained(false, frozen);
    Model folded = trained(true, frozen);
    EXPECT_TRUE(same_weights(plain, folded));
    const std::string report = folded.compile_report(8, image_data(8).fields());
    EXPECT_EQ(report.find("fold_batch_norm"), std::string::npos);
  }
}

// A stage that begins with a normalisation keeps it; the others fold.
TEST(InferenceFolds, PipelinesAndReplicasPredictTheSame) {
  const Tensor x = images(12).x;
  Model one = folding_model(folding_resnet(), {}, false);
  const Tensor wanted = one.predict(x, 2);
  for (const std::vector<std::string>& splits :
       {std::vector<std::string>{}, {"batch_normalization_1"}, {"add", "conv2d_4"}}) {
    const int stages = static_cast<int>(splits.size()) + 1;
    const DeviceStrategy strategy({.devices = 2 * stages});
    const DeviceStrategy::Scope scope = strategy.scope();
    Model model = folding_model(folding_resnet(), {.execution = {.slices = 2}}, true);
    if (!splits.empty()) model.set_pipeline_splits(splits);
    EXPECT_LT(largest_difference_of(model.predict(x, 2), wanted), 2e-6);
  }
}

}  // namespace
}  // namespace pando
