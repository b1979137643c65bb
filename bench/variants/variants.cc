// SPDX-License-Identifier: MIT
#include "bench/variants/variants.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace pando::bench {

Dataset samples_of(const ZooEntry& entry, int64_t count) {
  std::vector<Field> fields = {{"x", DType::f32, entry.input_shape}, {"y", DType::i32, {}}};
  const Dataset made = Dataset::generate(count, fields, [&](const SampleView& sample) {
    uint64_t state = static_cast<uint64_t>(sample.index()) * 0x9E3779B97F4A7C15u + 1;
    for (float& x : sample.f32(0)) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x = static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
    }
    sample.i32(1)[0] = static_cast<int32_t>(sample.index() % entry.outputs);
  });
  // Generated into memory once, so that generating samples is not measured.
  std::vector<int64_t> dims = {count};
  dims.insert(dims.end(), entry.input_shape.begin(), entry.input_shape.end());
  std::vector<Tensor> tensors;
  tensors.emplace_back(DType::f32, Shape(dims));
  tensors.emplace_back(DType::i32, Shape({count}));
  std::vector<int64_t> indices(static_cast<size_t>(count));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i);
  made.gather(indices, tensors);
  return Dataset::from_tensors(std::move(tensors[0]), std::move(tensors[1]));
}

Runner::Runner(const std::string& model, const Variant& variant, const Dataset& data)
    : variant_(variant), data_(data) {
  const ZooEntry& entry = zoo_entry(model);
  const DeviceStrategy strategy(
      {.devices = variant.devices, .cores_per_device = variant.cores_per_device});
  const auto scope = strategy.scope();
  model_ = std::make_unique<Model>(entry.build(entry.input_shape, entry.outputs));
  if (!variant.splits.empty()) model_->set_pipeline_splits(variant.splits);
  model_->set_pipelining_options({.gradient_accumulation_steps_per_replica = variant.accumulation,
                                  .schedule = variant.schedule,
                                  .recomputation = variant.recomputation});
  model_->compile({.optimizer = SGD({.learning_rate = 0.01, .momentum = 0.9}),
                   .loss = entry.loss,
                   .precision = variant.precision,
                   .half = variant.half,
                   .steps_per_execution = 1 << 20,
                   .execution = {.winograd = variant.winograd}});
}

double Runner::run(profile::Trace* trace) {
  double seconds = 0;
  const auto clock = LambdaCallback(
      {.execution_end = [&](FitContext& context, const Logs&) { seconds = context.seconds; }});
  model_->fit(data_, {.batch_size = variant_.micro_batch,
                      .shuffle = false,
                      .trace = trace,
                      .callbacks = {clock},
                      .verbose = 0});
  return static_cast<double>(data_.size()) / seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

namespace {

std::vector<Measured> measure(std::vector<std::unique_ptr<Runner>>& runners) {
  std::vector<std::vector<double>> found(runners.size());
  std::vector<std::vector<double>> ratios(runners.size());
  for (auto& runner : runners) runner->run();  // compiles and warms up
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < runners.size(); ++i) {
      found[i].push_back(runners[i]->run());
      ratios[i].push_back(found[i].back() / found[0].back());
    }
  }
  std::vector<Measured> result;
  for (size_t i = 0; i < runners.size(); ++i) {
    const auto [lowest, highest] = std::minmax_element(ratios[i].begin(), ratios[i].end());
    result.push_back({median(found[i]), median(ratios[i]), *lowest, *highest});
  }
  return result;
}

}  // namespace

std::vector<Measured> print_ratios(const std::string& model, const Dataset& data,
                                   const std::vector<Variant>& variants) {
  std::vector<std::unique_ptr<Runner>> runners;
  for (const Variant& variant : variants) {
    runners.push_back(std::make_unique<Runner>(model, variant, data));
  }
  std::vector<Measured> measured = measure(runners);
  fmt::print(
      "| {:<44} | samples/s | ratio |    of rounds "
      "|\n|{:-<46}|----------:|------:|-------------:|\n",
      model, "");
  for (size_t i = 0; i < variants.size(); ++i) {
    fmt::print("| {:<44} | {:>9.0f} | {:>5.2f} | {:>5.2f}..{:<5.2f} |\n", variants[i].name,
               measured[i].throughput, measured[i].ratio, measured[i].lowest, measured[i].highest);
  }
  std::fflush(stdout);
  return measured;
}

}  // namespace pando::bench
