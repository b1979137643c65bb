// Estimator::predict: computes predictions with the weights of a checkpoint, one execution at a
// time.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/estimator/estimator_impl.h"
#include "pando/estimator/hook_calls.h"

namespace pando {

namespace {

// The rows of a tensor [samples, ...], each flattened.
struct RowsOf {
  explicit RowsOf(const Tensor& tensor)
      : count(tensor.shape()[0]), width(tensor.shape().elements() / std::max<int64_t>(count, 1)) {}
  int64_t count;
  int64_t width;
};

Tensor row_of(const Tensor& rows, int64_t row) {
  const std::vector<int64_t> dims(rows.shape().begin() + 1, rows.shape().end());
  Tensor result(rows.dtype(), Shape(dims));
  std::memcpy(result.data(), rows.data() + result.bytes() * static_cast<size_t>(row),
              result.bytes());
  return result;
}

}  // namespace

PredictionOutput OutputValues(std::string name) { return {std::move(name), {}}; }

PredictionOutput ClassNumbers(std::string name) {
  return {std::move(name), [](const Tensor& outputs) {
            const RowsOf rows(outputs);
            Tensor classes(DType::i32, {rows.count});
            for (int64_t i = 0; i < rows.count; ++i) {
              const auto row = outputs.f32().subspan(static_cast<size_t>(i * rows.width),
                                                     static_cast<size_t>(rows.width));
              classes.i32()[static_cast<size_t>(i)] =
                  static_cast<int32_t>(std::ranges::max_element(row) - row.begin());
            }
            return classes;
          }};
}

PredictionOutput Probabilities(std::string name) {
  return {std::move(name), [](const Tensor& outputs) {
            const RowsOf rows(outputs);
            Tensor result = outputs;
            for (int64_t i = 0; i < rows.count; ++i) {
              const auto row = result.f32().subspan(static_cast<size_t>(i * rows.width),
                                                    static_cast<size_t>(rows.width));
              const float most = *std::ranges::max_element(row);
              double sum = 0;
              for (float& value : row) sum += value = std::exp(value - most);
              for (float& value : row) value = static_cast<float>(value / sum);
            }
            return result;
          }};
}

struct PredictionStream::Impl {
  Model model;
  Dataset dataset;
  int64_t batch;
  int64_t per_execution;  // samples
  int64_t left;           // samples; kEndless: no end
  int64_t iterations;     // of an execution
  bool single;
  std::vector<PredictionOutput> outputs;
  estimator::HookCalls hooks;
  int64_t global_step = 0;
  bool begun = false;
  bool ended = false;
  int64_t done = 0;      // samples
  int64_t next_row = 0;  // of `rows`
  int64_t rows_ready = 0;
  Prediction rows;  // of the last execution

  // Returns false if there is no further execution.
  bool run_execution() {
    if (!begun) {
      hooks.begin();
      begun = true;
    }
    const int64_t count = ended ? 0 : std::min(left, per_execution);
    if (count == 0) {
      if (!ended) hooks.end();
      ended = true;
      return false;
    }
    hooks.before_execution();
    const Tensor values = model.predict(dataset.skip(done).take(count), {.batch_size = batch});
    rows.clear();
    for (const PredictionOutput& output : outputs) {
      Tensor made = output.make ? output.make(values) : values;
      if (made.shape().rank() == 0 || made.shape()[0] != count) {
        throw InvalidArgument("prediction '", output.name, "': expected a row for each of ", count,
                              " samples, got shape ", made.shape());
      }
      rows.emplace(output.name, std::move(made));
    }
    done += count;
    if (left != kEndless) left -= count;
    next_row = 0;
    rows_ready = count;
    const bool go_on = hooks.after_execution(
        {.global_step = global_step, .steps = iterations, .logs = {}, .values = nullptr});
    if (!go_on) left = 0;
    return true;
  }

  std::optional<Prediction> next() {
    if (next_row == rows_ready && !run_execution()) return std::nullopt;
    if (!single) {
      next_row = rows_ready;
      return std::move(rows);
    }
    Prediction one;
    for (const auto& entry : rows) one.emplace(entry.first, row_of(entry.second, next_row));
    ++next_row;
    return one;
  }
};

PredictionStream::PredictionStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PredictionStream::~PredictionStream() = default;
PredictionStream::PredictionStream(PredictionStream&&) noexcept = default;
PredictionStream& PredictionStream::operator=(PredictionStream&&) noexcept = default;

std::optional<Prediction> PredictionStream::next() { return impl_->next(); }

namespace estimator {

namespace {

std::vector<PredictionOutput> chosen(const std::vector<PredictionOutput>& all,
                                     const std::vector<std::string>& keys) {
  if (keys.empty()) return all;
  std::vector<std::string> known;
  for (const PredictionOutput& output : all) known.push_back(output.name);
  std::vector<PredictionOutput> result;
  for (const std::string& key : keys) {
    const auto found = std::ranges::find(known, key);
    if (found == known.end()) throw InvalidArgument(unknown_name_message("prediction", key, known));
    result.push_back(all[static_cast<size_t>(found - known.begin())]);
  }
  return result;
}

}  // namespace

PredictionStream run_predict(Estimator::Impl& impl, const InputFn& input_fn,
                             const EstimatorPredictOptions& options) {
  if (options.num_predictions && *options.num_predictions < 0) {
    throw InvalidArgument("predict: num_predictions: expected at least 0, got ",
                          *options.num_predictions);
  }
  const InputData input = impl.input(input_fn, RunMode::predict);
  const std::optional<Checkpoint> from = impl.start(options.checkpoint_path);
  const int64_t step = shared(from ? from->global_step : 0);
  const Description description = impl.describe(RunMode::predict, input, step, options.hooks);
  const DeviceRunConfig& device = impl.options.config.device;
  return PredictionStream(std::make_unique<PredictionStream::Impl>(PredictionStream::Impl{
      .model = impl.inference_model(description, RunMode::predict, input, from),
      .dataset = input.dataset,
      .batch = input.batch_size,
      .per_execution =
          checked_product("predict: iterations_per_loop",
                          {device.iterations_per_loop, input.batch_size, device.num_replicas}),
      .left = std::min(input.dataset.size(), options.num_predictions.value_or(kEndless)),
      .iterations = device.iterations_per_loop,
      .single = options.yield_single_examples,
      .outputs = chosen(description.predictions, options.predict_keys),
      .hooks = HookCalls(RunMode::predict, step, {}, description.hooks, impl.teller()),
      .global_step = step}));
}

}  // namespace estimator

}  // namespace pando
