// CosmoFlow: a record file per volume, with the parameters of the simulation as targets.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/cosmoflow.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "pando/base/paths.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/validation_folder.h"
#include "pando/datasets/fingerprint.h"
#include "pando/datasets/records_impl.h"
#include "pando/datasets/tools/places_impl.h"
#include "pando/datasets/tools/record_stages_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify_impl.h"
#include "pando/datasets/validation_split.h"
#include "pando/options/usage_error.h"

namespace pando::datasets {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kTargets = 4;

// The results of reading the volumes of a part, in the order of the files.
struct CheckedVolumes {
  std::vector<std::optional<BadRecord>> flaws;
  std::vector<std::vector<float>> targets;
};

CheckedVolumes check_volumes(const std::vector<std::string>& paths, const Dataset& volumes,
                             const VerifyOptions& options) {
  CheckedVolumes checked{.flaws = std::vector<std::optional<BadRecord>>(paths.size()),
                         .targets = std::vector<std::vector<float>>(paths.size())};
  data::for_each_item(paths.size(), options.workers, [&](size_t i) {
    try {
      const Sample sample = volumes.get(static_cast<int64_t>(i));
      checked.targets[i].assign(sample.y().f32().begin(), sample.y().f32().end());
    } catch (const BadRecordError& error) {
      checked.flaws[i] = error.record();
    } catch (const IoError& error) {
      checked.flaws[i] = BadRecord{paths[i], 0, without_place(error.what(), paths[i])};
    }
  });
  return checked;
}

std::string target_ranges(const CheckedVolumes& checked) {
  std::vector<float> low;
  std::vector<float> high;
  for (const std::vector<float>& targets : checked.targets) {
    if (targets.empty()) continue;
    if (low.empty()) low = high = targets;
    for (size_t t = 0; t < targets.size(); ++t) {
      low[t] = std::min(low[t], targets[t]);
      high[t] = std::max(high[t], targets[t]);
    }
  }
  std::vector<std::string> ranges;
  for (size_t t = 0; t < low.size(); ++t) ranges.push_back(concat(low[t], " to ", high[t]));
  return join(ranges, ", ");
}

void verify_volumes(const PartFolder& part, const VerifyOptions& options, ReportBuilder& builder) {
  const std::vector<std::string> paths = files_in(part.path, is_cosmoflow_file);
  FileFindings folder = findings_of_folder(part.path, options);
  if (paths.empty()) {
    folder.flaw(0, "expected one file *.tfrecord per sample, found none");
    return builder.add(std::move(folder));
  }
  const Shape shape = cosmoflow_shape(paths);
  const CheckedVolumes checked =
      check_volumes(paths, open_cosmoflow(part.path, {.shape = shape}).data, options);
  for (size_t i = 0; i < paths.size(); ++i) {
    folder.file.bytes += size_of_file(paths[i]);
    if (checked.flaws[i]) {
      folder.bad.add(*checked.flaws[i]);
    } else {
      folder.sample(-1);
    }
  }
  const bool any = folder.file.samples > 0;
  builder.add(std::move(folder));
  if (!any) return;
  builder.note(concat(part.name, ": volumes ", shape));
  builder.note(concat(part.name, ": targets from ", target_ranges(checked)));
}

VerifyReport verify_cosmoflow(const std::string& path, const VerifyOptions& options) {
  return verify_parts(path, options, [&](const PartFolder& part, ReportBuilder& builder) {
    verify_volumes(part, options, builder);
  });
}

// Reads the samples of a data set one by one.
Stage sample_stage(std::string name, std::string what, const Dataset& dataset, double in) {
  return {std::move(name), std::move(what), [dataset, in]() -> StageWork {
            return [dataset, in](int64_t unit) {
              const Sample sample = dataset.get(unit % dataset.size());
              StageCount count{1, in, 0};
              for (const Tensor& field : sample.fields) {
                count.out += static_cast<double>(field.bytes());
              }
              return count;
            };
          }};
}

Pipeline cosmoflow_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const std::string folder = choose_part(path, false).path;
  const std::vector<std::string> paths = files_in(folder, is_cosmoflow_file);
  const Shape shape = cosmoflow_shape(paths);
  const Dataset volumes = open_cosmoflow(folder, {.shape = shape}).data;
  Pipeline pipeline = record_pipeline(find_pieces(paths));
  pipeline.samples = volumes.size();
  pipeline.stages.push_back(sample_stage("augment", "counts to log(1 + count)", volumes,
                                         2.0 * static_cast<double>(shape.elements())));
  pipeline.batches = volumes.shuffle({.seed = options.seed});
  return pipeline;
}

constexpr uint8_t kMosaicLine = 96;
constexpr int64_t kMosaicGap = 1;  // between the channels of a volume

// The middle slice of each channel, side by side in two rows, each scaled to the full range of
// brightness.
Image middle_slices(const Tensor& volume) {
  const Shape& shape = volume.shape();
  const int64_t height = shape[1];
  const int64_t width = shape[2];
  const int64_t channels = shape[3];
  const int64_t columns = (channels + 1) / 2;
  const int64_t rows = (channels + columns - 1) / columns;
  Image image(
      {rows * (height + kMosaicGap) - kMosaicGap, columns * (width + kMosaicGap) - kMosaicGap}, 1);
  std::fill(image.pixels.begin(), image.pixels.end(), kMosaicLine);
  const float* slice = volume.f32().data() + shape[0] / 2 * height * width * channels;
  for (int64_t c = 0; c < channels; ++c) {
    float low = slice[c];
    float high = slice[c];
    for (int64_t i = 0; i < height * width; ++i) {
      low = std::min(low, slice[i * channels + c]);
      high = std::max(high, slice[i * channels + c]);
    }
    const float scale = high > low ? 255.0f / (high - low) : 0.0f;
    for (int64_t y = 0; y < height; ++y) {
      uint8_t* to =
          image.row(c / columns * (height + kMosaicGap) + y) + c % columns * (width + kMosaicGap);
      for (int64_t x = 0; x < width; ++x) {
        to[x] = static_cast<uint8_t>((slice[(y * width + x) * channels + c] - low) * scale);
      }
    }
  }
  return image;
}

std::string caption_of_targets(const Tensor& targets) {
  std::vector<std::string> parts;
  for (const float target : targets.f32()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", static_cast<double>(target));
    std::string digits = text;  // ".25" and "-.25": the caption has little room
    const size_t zero = digits.find("0.");
    if (zero == 0 || (zero == 1 && digits[0] == '-')) digits.erase(zero, 1);
    parts.push_back(std::move(digits));
  }
  return join(parts, " ");
}

Showing show_cosmoflow(const std::string& path, const ShowOptions& options) {
  const std::string folder = choose_part(path, options.test).path;
  const Shape shape = cosmoflow_shape(files_in(folder, is_cosmoflow_file));
  return {open_cosmoflow(folder, {.shape = shape}).data, {}, [](const Sample& sample) {
            return SheetTile{middle_slices(sample.x()), caption_of_targets(sample.y())};
          }};
}

// Validation volumes are those of the folder validation, or with --validation-split the last ones
// of the training folder: the order of their names has no meaning.
TrainingData load_volumes(const std::string& path, const DataLoadOptions& load) {
  const bool cuts = load.validation_split > 0;
  const fs::path beside = fs::path(path) / "train";
  const std::string train = is_folder(beside) ? beside.string() : path;
  const std::string validation = data::find_validation_folder(path).string();
  if (!cuts && validation.empty()) {
    throw UsageError("--dataset cosmoflow: '", path, "' has no folder ",
                     data::kValidationFolderNames,
                     "; to cut a validation set out of its volumes, add --validation-split 0.1");
  }
  const std::vector<std::string> files = files_in(train, is_cosmoflow_file);
  const Shape shape = cosmoflow_shape(files);
  const CosmoflowDataOptions options{.shape = shape, .on_bad_record = load.on_bad_record};
  RecordDataset volumes = open_cosmoflow(train, options);
  TrainingData data{.sets = {.train = volumes.data, .test = volumes.data, .classes = kTargets}};
  data.task = "regression";
  data.skipped = std::move(volumes.skipped);
  if (cuts) {
    const int64_t size = volumes.data.size();
    const int64_t kept = size - validation_count(size, load.validation_split);
    data.sets.train = volumes.data.take(kept);
    data.sets.test = volumes.data.skip(kept);
  } else {
    RecordDataset test = open_cosmoflow(validation, options);
    data.sets.test = test.data;
    data.skipped.insert(data.skipped.end(), test.skipped.begin(), test.skipped.end());
  }
  data.fingerprint = fingerprint_of_files(path, files);
  return data;
}

}  // namespace

DatasetRecord cosmoflow() {
  return {.name = "cosmoflow",
          .title = "simulated universes with four parameters each",
          .shape = {128, 128, 128, 4},
          .train = 524288,
          .test = 65536,
          .files = "train and validation with a TFRecord file per volume, or one such folder",
          .how =
              "get cosmoUniverse_2019_05_4parE_tf_v2 of MLPerf HPC "
              "(https://github.com/mlcommons/hpc), or make a small one: pando data "
              "make-cosmoflow DIR",
          .path_help =
              "name the folder with --dataset-path; it has the folders train and validation with a "
              "TFRecord file per volume. `pando data make-cosmoflow DIR` makes a small one",
          .load = load_volumes,
          .verify = verify_cosmoflow,
          .pipeline = cosmoflow_pipeline,
          .show = show_cosmoflow};
}

}  // namespace pando::datasets
