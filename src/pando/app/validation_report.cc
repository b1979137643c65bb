// SPDX-License-Identifier: MIT
#include "pando/app/validation_report.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "pando/app/class_report.h"

namespace pando::app {
namespace {

constexpr int64_t kMostShownClasses = 20;

bool has_class_numbers(const Field& labels) {
  const bool whole = labels.dtype == DType::i32 || labels.dtype == DType::u8;
  return whole && labels.shape.elements() == 1;
}

constexpr int32_t kUnknown = -1;

void copy_labels(const Batch& batch, std::vector<int32_t>& to) {
  const auto copy = [&](auto values) {
    std::copy_n(values.begin(), batch.valid, to.begin() + batch.first_sample);
  };
  if (batch.y().dtype() == DType::i32) {
    copy(batch.y().i32());
  } else {
    copy(batch.y().u8());
  }
}

// Each instance has seen the labels of its own batches.
void share_labels(const Instances& instances, std::vector<int32_t>& labels) {
  if (instances.count() == 1) return;
  const std::string own(reinterpret_cast<const char*>(labels.data()),
                        labels.size() * sizeof(int32_t));
  std::vector<int32_t> others(labels.size());
  for (const std::string& bytes : instances.gather(own)) {
    std::memcpy(others.data(), bytes.data(), bytes.size());
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = std::max(labels[i], others[i]);
  }
}

}  // namespace

std::optional<ClassReport> report_classes(TrainingSetup& setup) {
  const Dataset& test = setup.data.sets.test;
  const Shape& output = setup.model.network().output_shape();
  const bool classifies = output.rank() == 1 && output[0] == setup.data.sets.classes;
  if (!classifies || test.fields().size() < 2 || !has_class_numbers(test.fields()[1])) {
    return std::nullopt;
  }
  std::vector<int32_t> labels(static_cast<size_t>(test.size()), kUnknown);
  const TrainOptions& options = setup.options;
  const Tensor outputs = setup.model.predict(
      test, {.batch_size = options.phases.micro_batch_size(options.micro_batch_size),
             .data_workers = options.data.pipeline_num_parallel,
             .observe = [&](const Batch& batch) { copy_labels(batch, labels); }});
  share_labels(setup.instances, labels);
  return classify(outputs, labels);
}

void tell_class_report(TrainingSetup& setup, RunLog& log) {
  const std::optional<ClassReport> report = report_classes(setup);
  if (!report || !setup.instances.is_first()) return;
  std::vector<std::string> names = class_names(setup.options.data.dataset);
  if (std::ssize(names) != report->classes()) names.clear();
  write_class_report(log.directory().path(), *report, names);
  if (report->classes() <= kMostShownClasses) log.show(to_text(*report, names));
  log.say(
      fmt::format("class report and confusion matrix are in {}", log.directory().path().string()));
}

}  // namespace pando::app
