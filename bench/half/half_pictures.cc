// Draws the pictures of docs/guide/half-precision.md from runs on Fashion-MNIST: how large
// gradients are with and without loss scaling, and how the loss falls in different precisions.
//
//   half_pictures FOLDER [gradients] [curves]        (default: both)
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pando/app/report/svg_plot.h"
#include "pando/pando.h"
#include "pando/runtime/executor.h"
#include "pando/tensor/half_rounding.h"
#include "pando/train/programs.h"
#include "pando/zoo/zoo.h"

namespace pando::bench {
namespace {

constexpr int64_t kBatch = 64;
constexpr HalfOptions kNearest = {.stochastic_rounding = StochasticRounding::off};
constexpr HalfOptions kStochastic = {.stochastic_rounding = StochasticRounding::on};

void write_picture(const std::string& folder, const char* name, const std::string& svg) {
  const std::string path = folder + "/" + name;
  std::ofstream file(path);
  file << svg;
  if (!file.flush()) throw IoError("cannot write '", path, "'; name a folder that exists");
  fmt::print("{}\n", path);
}

// The number of gradients for each exponent of two; smaller exponents than the first are counted
// with it.
constexpr int kLowest = -36;
constexpr int kHighest = 15;

struct Magnitudes {
  std::array<int64_t, kHighest - kLowest + 1> counts = {};
  int64_t nonzero = 0;
  int64_t subnormal = 0;  // of f16

  void add(float value) {
    if (value == 0 || !std::isfinite(value)) return;
    const int exponent = std::ilogb(value);
    ++counts[static_cast<size_t>(std::clamp(exponent, kLowest, kHighest) - kLowest)];
    ++nonzero;
    if (exponent < -14) ++subnormal;
  }
};

struct StepGradients {
  Magnitudes activations;
  Magnitudes weights;
};

// One way of computing the gradients of the same step.
struct GradientCase {
  const char* name;
  Precision precision;
  double scaling = 1;
};

class GradientStep {
 public:
  explicit GradientStep(const Dataset& data)
      : model_(zoo_entry("cifar_resnet8").build({28, 28, 1}, 10)),
        loss_(zoo_entry("cifar_resnet8").loss) {
    model_.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}), .loss = loss_});
    model_.fit(data.take(kTrained), {.batch_size = kBatch, .verbose = 0});
    const Dataset next = data.skip(kTrained).take(kStep);
    fields_ = next.fields();
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < kStep; ++i) indices.push_back(i);
    for (const Field& field : fields_) {
      std::vector<int64_t> dims = {kStep};
      dims.insert(dims.end(), field.shape.begin(), field.shape.end());
      batch_.emplace_back(field.dtype, Shape(dims));
    }
    next.gather(indices, batch_);
  }

  // Compiled without sharing of memory, so that every gradient still exists after the step.
  StepGradients run(const GradientCase& how) const {
    const Metrics metrics;
    const auto program = compiler::compile(
        train::build_graph(
            model_.network(),
            {.batch = kStep, .fields = fields_, .loss = &loss_, .metrics = &metrics, .frozen = {}}),
        {.precision = how.precision, .half = kNearest, .disabled_passes = {"plan-memory"}});
    runtime::VariableStore variables = stored_variables(how.precision.update);
    runtime::WorkerTeam team({});
    const Optimizer still = SGD({.learning_rate = 0});
    runtime::Executor executor(*program, variables, team, &still);
    runtime::InfeedQueue infeed(
        [&](Batch& batch) {
          batch = {.fields = batch_, .valid = kStep};
          return true;
        },
        1);
    LossScaler scaling({.factor = how.scaling});
    const std::vector<runtime::UpdatePlan> updates = {{.elements = 1, .samples = kStep}};
    executor.run({.updates = updates, .micro_batch_size = kStep, .scaling = &scaling}, infeed);
    return gradients_of(executor.bound());
  }

 private:
  static constexpr int64_t kTrained = 300 * kBatch;
  static constexpr int64_t kStep = 256;

  runtime::VariableStore stored_variables(DType type) const {
    runtime::VariableStore variables;
    for (const LayerInfo& layer : model_.network().layers()) {
      for (const nn::WeightSpec& weight : layer.weights) {
        const std::string name = layer.name + "/" + weight.name;
        variables.add(name, model_.get_weight(name), weight.moving_momentum,
                      weight.follows_variance);
      }
    }
    variables.convert(type);
    return variables;
  }

  static StepGradients gradients_of(const runtime::BoundProgram& bound) {
    const compiler::Program& program = bound.program();
    std::set<const ir::Value*> of_weights;
    for (const ir::Output& output : program.graph().outputs()) {
      if (output.role == ir::OutputRole::gradient) of_weights.insert(output.value);
    }
    const DType type = program.options().precision.compute;
    StepGradients found;
    for (const ir::Value* value : of_weights) add(bound, value, found.weights);
    for (const auto& node : program.graph().nodes()) {
      if (node->op().find("_grad") == std::string::npos) continue;
      const ir::Value* value = node->output();
      const bool sums = node->op().ends_with("filter_grad") || of_weights.contains(value);
      if (!sums && value->type().dtype == type) add(bound, value, found.activations);
    }
    return found;
  }

  static void add(const runtime::BoundProgram& bound, const ir::Value* value, Magnitudes& to) {
    const DType type = value->type().dtype;
    const size_t count = value->bytes() / size_of(type);
    const std::byte* at = bound.address(bound.program().operand(value), 0);
    std::vector<float> wide(count);
    if (type == DType::f32) {
      std::copy_n(reinterpret_cast<const float*>(at), count, wide.data());
    } else {
      widen_halves(type, reinterpret_cast<const uint16_t*>(at), wide.data(),
                   static_cast<int64_t>(count));
    }
    for (const float number : wide) to.add(number);
  }

  Model model_;
  Losses loss_;
  std::vector<Field> fields_;
  std::vector<Tensor> batch_;
};

// Shares are relative to the gradients that are not zero in f32.
app::Curve shares(const char* name, const Magnitudes& found, const Magnitudes& all) {
  const auto total = static_cast<double>(all.nonzero);
  const double lost = 100 * (1 - static_cast<double>(found.nonzero) / total);
  const double subnormal = 100 * static_cast<double>(found.subnormal) / total;
  fmt::print("  {:<14} {:>9} not zero, {:5.1f} % lost, {:5.1f} % below 2^-14\n", name,
             found.nonzero, lost, subnormal);
  app::Curve curve{.name = fmt::format("{}: {:.0f} % lost", name, std::max(lost, 0.0)),
                   .points = {}};
  if (&found == &all) curve.name = name;
  for (int exponent = kLowest; exponent <= kHighest; ++exponent) {
    const int64_t count = found.counts[static_cast<size_t>(exponent - kLowest)];
    curve.points.emplace_back(exponent, 100 * static_cast<double>(count) / total);
  }
  return curve;
}

app::Panel magnitude_panel(const char* title, const std::vector<GradientCase>& cases,
                           const std::vector<const Magnitudes*>& found) {
  fmt::print("{}\n", title);
  app::Panel panel{.title = title,
                   .x_label = "power of two; f16: all digits from -14 on, fewer down to -24",
                   .y_label = "% of the gradients",
                   .curves = {},
                   .x_ticks = {}};
  for (size_t i = 0; i < cases.size(); ++i) {
    panel.curves.push_back(shares(cases[i].name, *found[i], *found[0]));
  }
  for (const int exponent : {-34, -24, -14, -4, 6, 15}) {
    panel.x_ticks.push_back({static_cast<double>(exponent), fmt::format("{}", exponent)});
  }
  return panel;
}

void draw_gradients(const std::string& folder, const Dataset& data) {
  const Precision half = parse_precision("16.16");
  const std::vector<GradientCase> cases = {
      {"32.32", {}}, {"16.16", half}, {"16.16 x 4096", half, 4096}};
  const GradientStep step(data);
  std::vector<StepGradients> found;
  for (const GradientCase& how : cases) found.push_back(step.run(how));
  std::vector<const Magnitudes*> activations;
  std::vector<const Magnitudes*> weights;
  for (const StepGradients& gradients : found) {
    activations.push_back(&gradients.activations);
    weights.push_back(&gradients.weights);
  }
  write_picture(folder, "half_gradients.svg",
                app::curves_svg({magnitude_panel("Gradients of activations", cases, activations),
                                 magnitude_panel("Gradients of weights", cases, weights)}));
}

constexpr int64_t kEpochs = 3;
constexpr int64_t kUpdatesPerPoint = 100;
constexpr double kRate = 0.002;

struct CurveCase {
  std::string name;
  Precision precision;
  HalfOptions half;
};

// The mean training loss over each interval of weight updates.
app::Curve loss_curve(const CurveCase& how, const TrainTest& data) {
  Model model(zoo_entry("mnist_cnn").build({28, 28, 1}, 10), {.seed = 1});
  model.compile({.optimizer = SGD({.learning_rate = kRate}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .precision = how.precision,
                 .half = how.half});
  app::Curve curve{.name = how.name, .points = {}};
  double sum = 0;
  int64_t count = 0;
  int64_t updates = 0;
  const auto follow = LambdaCallback({.execution_end = [&](FitContext& context, const Logs&) {
    for (const StepValues& step : *context.outfeed) {
      sum += step.logs.at(0).second;
      ++updates;
      if (++count < kUpdatesPerPoint) continue;
      curve.points.emplace_back(updates, sum / static_cast<double>(count));
      sum = 0;
      count = 0;
    }
  }});
  model.fit(data.train, {.epochs = kEpochs,
                         .batch_size = kBatch,
                         .carry_remainder = true,
                         .outfeed = OutfeedMode::all,
                         .callbacks = {follow},
                         .verbose = 0});
  const Logs test = model.evaluate(data.test, {.batch_size = 100});
  fmt::print("  {:<12} last training loss {:.4f}, test loss {:.4f}, test accuracy {:.2f} %\n",
             how.name, curve.points.back().second, test.at(0).second, 100 * test.at(1).second);
  std::fflush(stdout);
  return curve;
}

app::Panel curve_panel(const std::string& half, const app::Curve& full, const TrainTest& data) {
  const Precision all = parse_precision(half + ".16");
  app::Panel panel{.title = half == "16" ? "Training loss in f16" : "Training loss in bf16",
                   .x_label = "weight updates",
                   .y_label = "loss",
                   .curves = {full}};
  for (const CurveCase& how :
       {CurveCase{half + ".32", parse_precision(half + ".32"), kStochastic},
        CurveCase{half + ".16 ON", all, kStochastic}, CurveCase{half + ".16 OFF", all, kNearest}}) {
    panel.curves.push_back(loss_curve(how, data));
  }
  return panel;
}

void draw_curves(const std::string& folder, const TrainTest& data) {
  fmt::print("mnist_cnn, SGD without momentum, learning rate {}, batches of {}\n", kRate, kBatch);
  const app::Curve full = loss_curve({"32.32", {}, kNearest}, data);
  write_picture(folder, "half_curves.svg",
                app::curves_svg({curve_panel("16", full, data), curve_panel("bf16", full, data)}));
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::fprintf(stderr, "usage: half_pictures FOLDER [gradients] [curves]\n");
    return 2;
  }
  const std::set<std::string> wanted(arguments.begin() + 1, arguments.end());
  const TrainTest data = load_fashion_mnist();
  const auto wants = [&](const char* name) { return wanted.empty() || wanted.contains(name); };
  if (wants("gradients")) draw_gradients(arguments[0], data.train);
  if (wants("curves")) draw_curves(arguments[0], data);
  return 0;
}

}  // namespace
}  // namespace pando::bench

int main(int argc, char** argv) {
  try {
    return pando::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "half_pictures: %s\n", error.what());
    return 1;
  }
}
