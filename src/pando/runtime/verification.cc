// SPDX-License-Identifier: MIT
#include "pando/runtime/verification.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/compiler/program.h"
#include "pando/runtime/executor.h"

namespace pando::runtime {

namespace {

// The outputs of a whole step by role and name: the real samples of all slices, or sums over
// slices.
using Outputs = std::map<std::pair<ir::OutputRole, std::string>, std::vector<float>>;

// Class numbers must be below the number of classes of the op that reads them.
int64_t classes_of(const ir::Graph& graph, const ir::Value* labels) {
  int64_t classes = 2;
  for (const ir::Node* user : graph.users(labels)) {
    if (user->input(0) != labels) classes = user->input(0)->shape().back();
  }
  return classes;
}

Tensor random_samples(const ir::Graph& graph, const ir::Value* feed, RandomStream& random) {
  Tensor samples(feed->type().dtype, feed->shape());
  if (samples.dtype() == DType::f32) {
    for (float& x : samples.f32()) x = 2 * random.next_uniform() - 1;
  } else if (samples.dtype() == DType::i32) {
    const auto classes = static_cast<uint64_t>(classes_of(graph, feed));
    for (int32_t& x : samples.i32()) x = static_cast<int32_t>(random.next_below(classes));
  } else if (samples.dtype() == DType::u8) {
    for (uint8_t& x : samples.u8()) x = static_cast<uint8_t>(random.next_below(256));
  } else {
    throw Unsupported("verification: expected feeds of type f32, i32 or u8, got ",
                      to_string(feed->type()));
  }
  return samples;
}

// Random kernels keep the scale of their inputs, random vectors shift it a little. State is
// positive, because it may be a variance.
Tensor random_variable(const ir::Value& value, RandomStream& random) {
  Tensor tensor(DType::f32, value.shape());
  const bool state = value.role() == ir::InputRole::state;
  const bool vector = value.shape().rank() < 2;
  const int64_t inputs = vector ? 1 : tensor.elements() / value.shape().back();
  const float scale = std::sqrt(2.0f / static_cast<float>(inputs));
  for (float& x : tensor.f32()) {
    const float uniform = random.next_uniform();
    x = state ? 0.5f + uniform : vector ? 1.5f * uniform - 0.5f : random.next_normal() * scale;
  }
  return tensor;
}

bool refuse_all(const ir::Node&, const kernels::Candidate&) { return false; }

double tolerance_of(const VerificationOptions& options) {
  if (options.tolerance > 0) return options.tolerance;
  switch (options.precision.compute) {
    case DType::f16: return 0.2;
    case DType::bf16: return 0.5;
    // Usual are 1e-6. A relu whose input is 0 up to rounding may open in one way to compile and not
    // in another, which changes a few gradients by some thousandths.
    default: return 5e-3;
  }
}

class Verifier {
 public:
  Verifier(const std::function<ir::Graph(int64_t)>& build, const VerificationOptions& options)
      : build_(build), options_(options), team_({.device_workers = {std::max(options.slices, 1)}}) {
    check_options();
    const ir::Graph graph = build(valid_);
    RandomStream random(mix_keys(options.seed, hash_name("verification")));
    for (const ir::Value* value : graph.inputs()) {
      if (value->role() == ir::InputRole::feed) {
        samples_.push_back(random_samples(graph, value, random));
      } else if (options.variables == nullptr) {
        const bool state = value->role() == ir::InputRole::state;
        own_variables_.add(value->name(), random_variable(*value, random), state ? 0.9 : -1);
      }
    }
    own_variables_.convert(options.precision.update);
    variables_ = options.variables == nullptr ? &own_variables_ : options.variables;
    for (const auto& pass : pipeline_.passes()) {
      if (!pass->required()) passes_.emplace(pass->name());
    }
    expected_ = run({.disabled_passes = passes_, .accept = refuse_all}, valid_);
  }

  VerificationTable table() const {
    VerificationTable table{.tolerance = tolerance_of(options_)};
    const auto add = [&](const std::string& variant, compiler::ProgramOptions compiling) {
      compiling.slices = options_.slices;
      compiling.division = options_.division;
      compiling.winograd = options_.winograd;
      compiling.scratch_limits = options_.scratch_limits;
      if (options_.kernel_choices != nullptr) {
        compiling.decide = compiler::decide_by(*options_.kernel_choices);
      }
      table.rows.push_back(compare(variant, run(std::move(compiling), options_.slice_batch)));
    };
    add("no passes, reference kernels", {.disabled_passes = passes_, .accept = refuse_all});
    add("reference kernels", {.accept = refuse_all});
    add("default", {});
    for (const std::string& pass : passes_) add("without " + pass, {.disabled_passes = {pass}});
    return table;
  }

 private:
  void check_options() {
    const bool parts = options_.division == compiler::Division::parts;
    const int64_t micro_batch = options_.slice_batch * (parts ? 1 : options_.slices);
    if (options_.slices < 1 || options_.slice_batch < 1 || options_.valid < 0 ||
        options_.valid > micro_batch) {
      throw InvalidArgument(
          "verification: expected at least 1 slice of at least 1 sample, and no more real samples "
          "than fit, got ",
          options_.slices, " slices of ", options_.slice_batch, " samples and ", options_.valid,
          " real samples");
    }
    valid_ = options_.valid == 0 ? micro_batch : options_.valid;
  }

  // The outputs of the second of two equal steps. The first leaves its values in the arena; the
  // second must not depend on them.
  Outputs run(compiler::ProgramOptions compiling, int64_t slice_batch) const {
    compiling.precision = options_.precision;
    compiling.half = options_.half;
    compiling.half.stochastic_rounding = StochasticRounding::off;
    const auto program = compiler::compile(build_(slice_batch), std::move(compiling));
    Executor executor(*program, *variables_, team_);
    InfeedQueue infeed(
        [&](Batch& batch) {
          batch = {.fields = samples_, .valid = valid_};
          return true;
        },
        1);
    const std::vector<UpdatePlan> steps(2, {.elements = 1, .samples = valid_});
    executor.run({.updates = steps, .micro_batch_size = valid_, .seed = options_.seed}, infeed);
    Outputs outputs;
    for (const ir::Output& output : program->graph().outputs()) {
      if (output.role == ir::OutputRole::metric) continue;  // ties may fall either way
      outputs[{output.role, output.name}] = gather(executor.bound(), output);
    }
    return outputs;
  }

  std::vector<float> gather(const BoundProgram& bound, const ir::Output& output) const {
    const auto elements = static_cast<size_t>(output.value->shape().elements());
    const compiler::Operand operand = bound.program().operand(output.value);
    std::vector<float> values;
    std::vector<float> space(elements);
    for (int slice = 0; slice < bound.slices(); ++slice) {
      const Stored stored{output.value->type().dtype, bound.address(operand, slice)};
      const float* at = stored.open({0, static_cast<int64_t>(elements)}, space.data());
      if (output.role == ir::OutputRole::gradient && slice > 0) {
        for (size_t i = 0; i < elements; ++i) values[i] += at[i];
      } else if (output.role == ir::OutputRole::statistic && slice > 0) {
        merge_moments(values.data(), at, static_cast<int64_t>(elements - 1) / 2);
      } else if (output.role == ir::OutputRole::gradient ||
                 output.role == ir::OutputRole::statistic) {
        values.assign(at, at + elements);
      } else {
        const auto real = static_cast<size_t>(bound.slice_valid(slice, valid_));
        const size_t row = elements / static_cast<size_t>(bound.slice_batch());
        values.insert(values.end(), at, at + real * row);
      }
    }
    if (output.role != ir::OutputRole::statistic) return values;
    // Compares the variance instead of the sum of squares, whose scale depends on the count.
    const float count = std::max(values.back(), 1.0f);
    values.pop_back();
    for (size_t c = values.size() / 2; c < values.size(); ++c) values[c] /= count;
    return values;
  }

  // NaN is the greatest difference: nothing exceeds it.
  static bool exceeds(double difference, double most) {
    return !std::isnan(most) && !(difference <= most);
  }

  static double largest(const std::vector<float>& values) {
    double most = 0;
    for (const float x : values) most = std::max(most, std::fabs(static_cast<double>(x)));
    return most;
  }

  static double root_mean_square(const std::vector<float>& values) {
    double squares = 0;
    for (const float x : values) squares += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(squares / static_cast<double>(std::max<size_t>(values.size(), 1)));
  }

  // In 16 bits, rounding may close a relu or move a maximum to another pixel, and the whole
  // gradient moves with it, so single elements cannot be compared.
  double size_of_all(const std::vector<float>& values) const {
    return options_.precision.half() ? root_mean_square(values) : largest(values);
  }

  VerificationRow compare(const std::string& variant, const Outputs& found) const {
    std::map<ir::OutputRole, double> role_scale;
    for (const auto& [key, values] : expected_) {
      role_scale[key.first] = std::max(role_scale[key.first], size_of_all(values));
    }
    const double floor = options_.precision.half() ? 1e-2 : 1e-3;
    VerificationRow row{.variant = variant};
    for (const auto& [key, wanted] : expected_) {
      const std::vector<float>& values = found.at(key);
      PANDO_CHECK(values.size() == wanted.size(), "output '", key.second, "' has another size");
      std::vector<float> differences(wanted.size());
      double absolute = 0;
      for (size_t i = 0; i < wanted.size(); ++i) {
        differences[i] = values[i] - wanted[i];
        const double apart = std::fabs(static_cast<double>(values[i]) - wanted[i]);
        if (exceeds(apart, absolute)) absolute = apart;
      }
      const double scale = std::max(size_of_all(wanted), floor * role_scale[key.first]);
      const double difference =
          options_.precision.half() ? root_mean_square(differences) : absolute;
      const double relative = difference == 0 ? 0 : difference / scale;
      if (exceeds(absolute, row.absolute)) row.absolute = absolute;
      if (!exceeds(relative, row.relative)) continue;
      row.relative = relative;
      row.worst = fmt::format("{} {}", to_string(key.first), key.second);
    }
    row.ok = row.relative <= tolerance_of(options_);
    return row;
  }

  const std::function<ir::Graph(int64_t)>& build_;
  const VerificationOptions options_;
  mutable WorkerTeam team_;
  const compiler::PassPipeline pipeline_ = compiler::default_pipeline();
  std::set<std::string> passes_;  // that can be switched off
  int64_t valid_ = 0;
  std::vector<Tensor> samples_;
  VariableStore own_variables_;
  VariableStore* variables_ = nullptr;
  Outputs expected_;
};

}  // namespace

bool VerificationTable::ok() const {
  return std::all_of(rows.begin(), rows.end(), [](const VerificationRow& row) { return row.ok; });
}

std::string to_text(const VerificationTable& table) {
  std::string text = fmt::format("{:<30} {:>10} {:>10}  {:<4}  {}\n", "variant", "absolute",
                                 "relative", "", "worst output");
  for (const VerificationRow& row : table.rows) {
    text += fmt::format("{:<30} {:>10.2e} {:>10.2e}  {:<4}  {}\n", row.variant, row.absolute,
                        row.relative, row.ok ? "ok" : "FAIL", row.worst);
  }
  return text + fmt::format("{}: tolerance of the relative difference {}\n",
                            table.ok() ? "all agree" : "they DIFFER", table.tolerance);
}

VerificationTable verify_network_graph(const std::function<ir::Graph(int64_t slice_batch)>& build,
                                       const VerificationOptions& options) {
  return Verifier(build, options).table();
}

}  // namespace pando::runtime
