// SPDX-License-Identifier: MIT
#include "pando/app/run/validation_report.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pando/app/report/class_record.h"
#include "pando/app/report/class_report.h"
#include "pando/app/report/label_report.h"
#include "pando/app/report/segmentation_record.h"
#include "pando/app/report/segmentation_report.h"
#include "pando/app/report/target_report.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/store/atomic_file.h"
#include "pando/train/training_state.h"

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

struct ReportStopped {};  // thrown to end predictions

// A report that is being made. In the middle of training it is told to nobody and ends at a signal.
struct Reporting {
  TrainingSetup& setup;
  RunLog* log = nullptr;
  const std::atomic<bool>* stop = nullptr;

  bool is_told() const { return stop == nullptr; }
  void check_stop() const {
    if (stop != nullptr && *stop) throw ReportStopped();
  }
  void show(const std::string& text) const {
    if (is_told()) log->show(text);
  }
  void say(const std::string& what) const {
    if (is_told()) log->say(concat(what, " in ", folder().string()));
  }
  const std::filesystem::path& folder() const { return log->directory().path(); }

  // False if the files cannot be written, which does not end training.
  bool write(const std::function<void()>& part) const {
    if (is_told()) return log->directory().attempt(part);
    try {
      part();
      return true;
    } catch (const IoError&) {
      return false;
    }
  }
};

struct Predictions {
  Tensor outputs;
  std::vector<int32_t> labels;
};

Predictions predict(const Reporting& report, const Dataset& dataset) {
  TrainingSetup& setup = report.setup;
  Predictions found;
  found.labels.reserve(static_cast<size_t>(dataset.size()));
  const TrainOptions& options = setup.options;
  found.outputs = setup.model.predict(
      dataset, {.batch_size = options.phases.micro_batch_size(options.micro_batch_size),
                .data_workers = options.data.pipeline_num_parallel,
                .observe = [&](const Batch& batch) {
                  report.check_stop();
                  append_labels(batch.y(), batch.valid, found.labels);
                }});
  return found;
}

// Throws ReportStopped in all instances if one of them stops.
Predictions predict_together(const Reporting& report, const Dataset& dataset) {
  Predictions found;
  bool stopped = false;
  try {
    found = predict(report, dataset);
  } catch (const ReportStopped&) {
    stopped = true;
  }
  const std::vector<std::string> all = report.setup.instances.gather(stopped ? "stopped" : "");
  if (std::ranges::find(all, "stopped") != all.end()) throw ReportStopped();
  return found;
}

// Every instance predicts its share of the samples.
ClassReport report_on_instances(const Reporting& reporting,
                                std::vector<ClassifiedSample>* samples) {
  TrainingSetup& setup = reporting.setup;
  const Instances& instances = setup.instances;
  const Dataset& test = setup.data.sets.test;
  const bool divided = test.size() >= instances.count();
  const Predictions own = predict_together(
      reporting, divided ? test.shard(instances.count(), instances.index()) : test);
  const bool counts = divided || instances.is_first();
  const auto gather = [&](const void* data, size_t bytes) {
    return instances.gather({static_cast<const char*>(data), counts ? bytes : 0});
  };
  const auto labels = gather(own.labels.data(), own.labels.size() * sizeof(int32_t));
  const auto outputs = gather(own.outputs.data(), own.outputs.bytes());
  ClassReport report(setup.data.sets.classes);
  for (size_t i = 0; i < labels.size(); ++i) {
    std::vector<int32_t> part(labels[i].size() / sizeof(int32_t));
    if (part.empty()) continue;
    std::memcpy(part.data(), labels[i].data(), labels[i].size());
    Tensor rows(DType::f32, {std::ssize(part), report.classes()});
    std::memcpy(rows.data(), outputs[i].data(), rows.bytes());
    report.add(rows, part);
    const auto found = classified_samples(rows, part, divided ? static_cast<int64_t>(i) : 0,
                                          divided ? instances.count() : 1);
    samples->insert(samples->end(), found.begin(), found.end());
  }
  return report;
}

// The report on all test data with the present weights of the model; nothing if the model or the
// labels are not those of a classifier. `samples` gets all of them in the first instance.
std::optional<ClassReport> report_classes(const Reporting& reporting,
                                          std::vector<ClassifiedSample>* samples) {
  TrainingSetup& setup = reporting.setup;
  const Dataset& test = setup.data.sets.test;
  const Shape& output = setup.model.network().outputs()[0].shape;
  const bool classifies = output.rank() == 1 && output[0] == setup.data.sets.classes;
  if (!classifies || test.fields().size() < 2 || !has_class_numbers(test.fields()[1])) {
    return std::nullopt;
  }
  if (setup.instances.count() > 1) return report_on_instances(reporting, samples);
  const Predictions all = predict(reporting, test);
  *samples = classified_samples(all.outputs, all.labels);
  return classify(all.outputs, all.labels);
}

}  // namespace

void compare_class_names(TrainingSetup& setup, const std::filesystem::path& checkpoint,
                         RunLog& log) {
  std::vector<std::string> saved;
  try {
    const TrainingState state = load_training_state(checkpoint.string());
    const auto note = state.notes.find(kClassNamesNote);
    if (note != state.notes.end()) saved = parse_class_names(note->second);
  } catch (const IoError&) {  // a file of weights only
    return;
  }
  std::vector<std::string>& names = setup.data.class_names;
  if (saved.empty() || saved == names) return;
  if (names.empty() && std::ssize(saved) == setup.data.sets.classes) {
    names = std::move(saved);
    return;
  }
  const auto differs = static_cast<size_t>(std::ranges::mismatch(saved, names).in1 - saved.begin());
  const auto name_in = [&](const std::vector<std::string>& all) {
    return differs < all.size() ? "'" + all[differs] + "'" : "nothing";
  };
  log.say_always(concat("warning: ", checkpoint.string(), " was trained on other classes: label ",
                        differs, " is ", name_in(saved), " there and ", name_in(names),
                        " in the data"));
}

void write_class_names(const TrainingSetup& setup, RunLog& log) {
  if (!setup.instances.is_first() || setup.data.class_names.empty()) return;
  const std::string text = class_names_text(setup.data.class_names);
  store::replace_file((log.directory().path() / "class_names.txt").string(),
                      {std::as_bytes(std::span(text))});
}

namespace {

void make_class_report(const Reporting& reporting) {
  TrainingSetup& setup = reporting.setup;
  std::vector<ClassifiedSample> samples;
  const std::optional<ClassReport> report = report_classes(reporting, &samples);
  if (!report || !setup.instances.is_first()) return;
  const std::vector<std::string>& names = setup.data.class_names;
  const bool written = reporting.write([&] {
    write_class_report(reporting.folder(), *report, names);
    write_class_record(reporting.folder(), *report, names, std::move(samples),
                       setup.data.sets.test);
  });
  if (report->classes() <= kMostShownClasses) reporting.show(to_text(*report, names));
  if (written) reporting.say("class report and confusion matrix are");
}

// The outputs and labels of all test samples; a number for each output.
TargetValues predict_values(const Reporting& reporting) {
  TrainingSetup& setup = reporting.setup;
  const Dataset& test = setup.data.sets.test;
  TargetValues values{.targets = test.fields()[1].shape.elements(), .predicted = {}, .actual = {}};
  const TrainOptions& options = setup.options;
  const Tensor outputs = setup.model.predict(
      test, {.batch_size = options.phases.micro_batch_size(options.micro_batch_size),
             .data_workers = options.data.pipeline_num_parallel,
             .observe = [&](const Batch& batch) {
               reporting.check_stop();
               const auto rows =
                   batch.y().f32().subspan(0, static_cast<size_t>(batch.valid * values.targets));
               values.actual.insert(values.actual.end(), rows.begin(), rows.end());
             }});
  values.predicted.assign(outputs.f32().begin(), outputs.f32().end());
  return values;
}

// The first instance predicts all samples.
void make_target_report(const Reporting& reporting) {
  const TrainingSetup& setup = reporting.setup;
  if (!setup.instances.is_first() || setup.data.sets.test.fields()[1].dtype != DType::f32) return;
  const TargetValues values = predict_values(reporting);
  const bool written = reporting.write([&] { write_target_report(reporting.folder(), values); });
  reporting.show(to_text(values));
  if (written) reporting.say("target report and picture are");
}

void make_label_report(const Reporting& reporting) {
  if (!reporting.setup.instances.is_first()) return;
  const LabelReport report = label_report(predict_values(reporting));
  const std::vector<std::string>& names = reporting.setup.data.class_names;
  const bool written =
      reporting.write([&] { write_label_report(reporting.folder(), report, names); });
  if (std::ssize(report.classes) <= kMostShownClasses) reporting.show(to_text(report, names));
  if (written) reporting.say("class report is");
}

// The outputs and labels of some pictures.
struct Segmented {
  Tensor outputs;
  std::vector<int32_t> labels;
};

Segmented segment(const Reporting& reporting, const Dataset& pictures) {
  TrainingSetup& setup = reporting.setup;
  Segmented found;
  const TrainOptions& options = setup.options;
  const int64_t pixels = pictures.fields()[1].shape.elements();
  found.outputs = setup.model.predict(
      pictures, {.batch_size = options.phases.micro_batch_size(options.micro_batch_size),
                 .data_workers = options.data.pipeline_num_parallel,
                 .observe = [&](const Batch& batch) {
                   reporting.check_stop();
                   append_labels(batch.y(), batch.valid * pixels, found.labels);
                 }});
  return found;
}

// A piece at a time: the outputs of all pictures may be larger than the memory.
SegmentationReport report_pixels(const Reporting& reporting, const Dataset& test) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  const Shape& output = reporting.setup.model.network().outputs()[0].shape;
  const int64_t bytes = output.elements() * static_cast<int64_t>(sizeof(float));
  const int64_t piece = std::max<int64_t>(kMostBytes / bytes, 1);
  SegmentationReport report(output.back());
  for (int64_t begin = 0; begin < test.size(); begin += piece) {
    const Segmented found = segment(reporting, test.skip(begin).take(piece));
    report.add(found.outputs, found.labels);
  }
  return report;
}

std::vector<SegmentedSample> samples_to_show(const Reporting& reporting,
                                             const SegmentationReport& report,
                                             const std::vector<int64_t>& indices) {
  if (indices.empty()) return {};
  const Dataset chosen = reporting.setup.data.sets.test.select(indices);
  const Segmented found = segment(reporting, chosen);
  const auto classes = static_cast<size_t>(report.classes());
  const size_t pixels = found.labels.size() / indices.size();
  std::vector<SegmentedSample> samples;
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto labels = found.labels.begin() + static_cast<std::ptrdiff_t>(i * pixels);
    SegmentedSample sample{
        .index = indices[i],
        .x = chosen.get(static_cast<int64_t>(i)).x(),
        .truth = {labels, labels + static_cast<std::ptrdiff_t>(pixels)},
        .predicted = {},
        .iou = report.sample_ious()[static_cast<size_t>(indices[i])].value_or(0)};
    for (size_t k = i * pixels; k < (i + 1) * pixels; ++k) {
      const auto scores = found.outputs.f32().subspan(k * classes, classes);
      sample.predicted.push_back(
          static_cast<int32_t>(std::ranges::max_element(scores) - scores.begin()));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

// The first instance predicts all pictures.
void make_segmentation_report(const Reporting& reporting) {
  const TrainingSetup& setup = reporting.setup;
  if (!setup.instances.is_first()) return;
  const SegmentationReport report = report_pixels(reporting, setup.data.sets.test);
  const ShownSamples shown = choose_samples(report);
  const std::vector<SegmentedSample> worst = samples_to_show(reporting, report, shown.worst);
  const std::vector<SegmentedSample> best = samples_to_show(reporting, report, shown.best);
  const Image sheet = worst.empty() ? Image() : segmentation_sheet(worst, best);
  const std::vector<std::string>& names = setup.data.class_names;
  const bool written = reporting.write([&] {
    write_segmentation_report(reporting.folder(), report, names, sheet);
    write_segmentation_record(reporting.folder(), report, names, worst, best);
  });
  if (report.classes() <= kMostShownClasses) reporting.show(to_text(report, names));
  if (written) reporting.say("segmentation report and pictures are");
}

void make_report(const Reporting& reporting) {
  switch (reporting.setup.task().answers) {
    case AnswerKind::classes: return make_class_report(reporting);
    case AnswerKind::labels: return make_label_report(reporting);
    case AnswerKind::numbers: return make_target_report(reporting);
    case AnswerKind::pixels: return make_segmentation_report(reporting);
  }
}

}  // namespace

void tell_report(TrainingSetup& setup, RunLog& log) { make_report({.setup = setup, .log = &log}); }

void keep_report(TrainingSetup& setup, RunLog& log, const AgreedSignal& signal) {
  if (!setup.features.layer.empty()) return;  // the model takes features, reports show samples
  try {
    make_report({.setup = setup, .log = &log, .stop = &signal.wanted()});
  } catch (const ReportStopped&) {  // the report of an earlier validation stays
  }
}

}  // namespace pando::app
