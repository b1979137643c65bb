// SPDX-License-Identifier: MIT
#include "pando/app/run/feature_cache.h"

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "pando/app/run/fine_tuning.h"
#include "pando/base/checked.h"
#include "pando/base/clock.h"
#include "pando/base/strings.h"
#include "pando/datasets/all_datasets.h"
#include "pando/options/byte_size.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

// Whether training samples are changed at random.
bool changes_samples(const TrainingSetup& setup) {
  const DataFlags& flags = setup.options.data;
  const AugmentationChoice choice = flags.augmentation.choice();
  const DatasetRecord& record = dataset_record(flags.dataset);
  if (choice.mix.on() || setup.data.in_order) return true;
  if (record.has_views()) {
    const ViewAugmentation view = datasets::view_augmentation(choice);
    return view.flip || view.random_box || view.changes.any();
  }
  if (!record.preparation) return choice.alters_pictures();
  const AugmentOptions images = train_augmentation(*record.preparation, choice);
  return images.flip || images.border > 0 || images.changes.any();
}

// Why features cannot be kept; empty: they can.
std::string obstacle(const TrainingSetup& setup, const std::string& layer) {
  const TrainOptions& options = setup.options;
  if (changes_samples(setup)) {
    return "training samples are changed at random in every epoch; --random-flip none "
           "--random-crop 0 may stop that";
  }
  if (setup.instances.count() > 1) return "the run has several instances";
  if (setup.stages() > 1) return "the run has a pipeline";
  if (options.phases.test_time_flip) return "--test-time-flip shows the network mirror images";
  if (options.records()) return "--trace and --profile record the whole network";
  if (options.data.synthetic_data != SyntheticData::none) return "the data are synthetic";
  if (options.precision.half() && options.stochastic_rounding == StochasticRounding::on) {
    return "stochastic rounding makes them different in every epoch; --stochastic-rounding RI "
           "rounds only weight updates";
  }
  if (layer.empty()) return "the layers that are trained take more than one frozen layer";
  return "";
}

int64_t bytes_of(const Dataset& data, const Shape& features) {
  int64_t each = checked_product("a sample of features", {features.elements(), 4});
  for (size_t i = 1; i < data.fields().size(); ++i) {
    each += static_cast<int64_t>(bytes_per_sample(data.fields()[i]));
  }
  return checked_product("the features of all samples", {each, data.size()});
}

int64_t memory_budget(const TrainingSetup& setup) {
  const std::string& flag = setup.options.tuning.feature_cache;
  if (flag == TuningFlags::kAuto) return setup.memory_left / 4;
  return parse_byte_size(flag).value().bytes;
}

bool fits_on_disk(int64_t bytes, const fs::path& folder) {
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  return !unknown && static_cast<uintmax_t>(bytes) <= space.available / 2;
}

}  // namespace

std::string keep_features(TrainingSetup& setup, int64_t epochs, const fs::path& folder) {
  if (setup.frozen.empty() || setup.options.tuning.feature_cache == "off" || epochs < 2) return {};
  const std::string layer =
      feature_layer(setup.model.network(), setup.frozen, setup.preparing_layers);
  const std::string why = obstacle(setup, layer);
  if (!why.empty()) return "features are computed in every epoch: " + why;
  const TrainTest& sets = setup.data.sets;
  const Shape& shape = setup.model.network().layer(layer).output_shape;
  const bool validates = setup.options.phases.validates();
  const int64_t train_bytes = bytes_of(sets.train, shape);
  const int64_t bytes = train_bytes + (validates ? bytes_of(sets.test, shape) : 0);
  const bool in_memory = bytes <= memory_budget(setup);
  if (!in_memory && !fits_on_disk(bytes, folder)) {
    return fmt::format(
        "features are computed in every epoch: {} fit neither into memory "
        "(--feature-cache) nor on the disk of {}",
        human_bytes(static_cast<double>(bytes)), folder.string());
  }
  const auto start = std::chrono::steady_clock::now();
  const auto compute = [&](const Dataset& data, RunMode mode, int64_t batch, const char* name) {
    return setup.model.features(data, {.layer = layer,
                                       .mode = mode,
                                       .batch_size = batch,
                                       .data_workers = setup.options.data.pipeline_num_parallel,
                                       .file = in_memory ? "" : (folder / name).string()});
  };
  const int64_t batch = setup.options.micro_batch_size;
  KeptFeatures kept{.layer = layer};
  kept.train = compute(sets.train, RunMode::train, batch, "train.features");
  if (validates) {
    kept.test = compute(sets.test, RunMode::evaluate, setup.options.phases.micro_batch_size(batch),
                        "test.features");
  }
  setup.model.start_from(layer);
  setup.features = std::move(kept);
  const double took = seconds_since(start);
  return fmt::format(
      "features of layer '{}' are computed once, in {:.1f} s: {} of {} samples, kept in {}", layer,
      took, human_bytes(static_cast<double>(bytes)),
      sets.train.size() + (validates ? sets.test.size() : 0),
      in_memory ? "memory" : "a file in " + folder.string());
}

}  // namespace pando::app
