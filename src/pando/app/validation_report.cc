// SPDX-License-Identifier: MIT
#include "pando/app/validation_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "pando/app/class_report.h"

namespace pando::app {
namespace {

constexpr int64_t kMostShownClasses = 20;

bool has_class_numbers(const Field& labels) {
  const bool whole = labels.dtype == DType::i32 || labels.dtype == DType::u8;
  return whole && labels.shape.elements() == 1;
}

void append_labels(const Tensor& from, int64_t count, std::vector<int32_t>& to) {
  const auto append = [&](auto values) {
    to.insert(to.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  };
  if (from.dtype() == DType::i32) {
    append(from.i32());
  } else {
    append(from.u8());
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
  std::vector<int32_t> labels;
  labels.reserve(static_cast<size_t>(test.size()));
  const TrainOptions& options = setup.options;
  const Tensor outputs = setup.model.predict(
      test,
      {.batch_size = options.phases.micro_batch_size(options.micro_batch_size),
       .data_workers = options.data.pipeline_num_parallel,
       .observe = [&](const Batch& batch) { append_labels(batch.y(), batch.valid, labels); }});
  return classify(outputs, labels);
}

void tell_class_report(TrainingSetup& setup, RunLog& log) {
  const std::optional<ClassReport> report = report_classes(setup);
  if (!report) return;
  std::vector<std::string> names = class_names(setup.options.data.dataset);
  if (std::ssize(names) != report->classes()) names.clear();
  write_class_report(log.directory().path(), *report, names);
  if (report->classes() <= kMostShownClasses) log.show(to_text(*report, names));
  log.say(
      fmt::format("class report and confusion matrix are in {}", log.directory().path().string()));
}

}  // namespace pando::app
