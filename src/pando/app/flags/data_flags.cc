// SPDX-License-Identifier: MIT
#include "pando/app/flags/data_flags.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/datasets/all_datasets.h"

namespace pando::app {

namespace {

std::vector<std::pair<std::string, std::string>> dataset_choices() {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const std::string& name : trainable_datasets()) choices.emplace_back(name, name);
  return choices;
}

}  // namespace

int64_t view_side(const DataFlags& flags, const Shape& model_input) {
  if (flags.image_size > 0) return flags.image_size;
  return model_input.rank() > 0 ? model_input[0] : DataLoadOptions().view_side;
}

void add_data_flags(OptionTable& table, DataFlags& flags) {
  table
      .add_choice("dataset", flags.dataset, dataset_choices(),
                  "the data set; default: the one that the model was designed for")
      .has(Effect::other_run);
  table
      .add("dataset-path", flags.dataset_path,
           "the folder with the files of the data set; default: where 'pando data list' finds it")
      .counts_as("training data")
      .with_hint("DIR");
  table.add("download", flags.download, "download the data set if it is not on this machine")
      .has(Effect::none);
  table.add_choice(
      "synthetic-data", flags.synthetic_data,
      {{"none", SyntheticData::none},
       {"host", SyntheticData::host},
       {"device", SyntheticData::device},
       {"cpu", SyntheticData::host},
       {"ipu", SyntheticData::device}},
      "use random samples instead of the files: host (alias cpu) sends them through "
      "the whole input pipeline; device (alias ipu) keeps them on the devices, so that "
      "input takes no time");
  table.add("shuffle", flags.shuffle, "shuffle the training data in every epoch");
  table
      .add(
          "image-size", flags.image_size,
          concat("height and width to which images of ", join(datasets_with_views(), " and "),
                 " are cut and resized, also the sides of synthetic volumes; 0: the default of the "
                 "model"))
      .with_hint("N")
      .at_least(0)
      .at_most(4096);
  table
      .add("dataset-classes", flags.dataset_classes,
           "use only the samples of these classes, given by number or name; they are numbered anew "
           "in this order")
      .has(Effect::other_run)
      .with_hint("CLASS");
  table
      .add("train-samples", flags.train_samples,
           "train only on N samples: the first ones, equally many of each class; 0: all")
      .counts_as("training data")
      .with_hint("N")
      .at_least(0);
  table
      .add("test-samples", flags.test_samples,
           "validate only on N samples: the first ones, equally many of each class; 0: all")
      .has(Effect::none)
      .with_hint("N")
      .at_least(0);
  table
      .add(
          "validation-split", flags.validation_split,
          "validate on this fraction of the training samples instead of the test samples; it is "
          "cut "
          "out of every class in the same way whatever the seed, of record files the last records. "
          "image_folder then needs no folders train and validation: the classes may lie in "
          "--dataset-path itself. 0: no cut")
      .with_hint("FRACTION")
      .at_least(0)
      .at_most(0.9);
  table
      .add_choice("on-bad-record", flags.on_bad_record,
                  {{"error", OnBadRecord::error}, {"skip", OnBadRecord::skip}},
                  "what to do with a sample that cannot be read: error ends the run; skip leaves "
                  "the sample out and lists it at the end, but reads all data once before "
                  "training starts")
      .counts_as("training data");
  table
      .add(
          "pipeline-num-parallel", flags.pipeline_num_parallel,
          "number of threads that prepare batches; they run on cores that no device uses, if there "
          "are any. 0: one for each of these cores, at least 1. Results do not depend on it")
      .has(Effect::none)
      .with_hint("N")
      .at_least(0)
      .at_most(4096);
  table.add("accelerator-side-preprocess", flags.accelerator_side_preprocess,
            "flip, standardise and normalise images on the devices instead of in the data threads");
  table.add("eight-bit-transfer", flags.eight_bit_transfer,
            "send images to the devices as bytes, a quarter of the data; needs "
            "--accelerator-side-preprocess");
  table.add("fused-preprocessing", flags.fused_preprocessing,
            "convert bytes to normalised numbers in one pass on the device; needs "
            "--accelerator-side-preprocess");
}

void validate(const DataFlags& flags) {
  if (!flags.dataset_path.empty() && !path_exists(flags.dataset_path)) {
    throw UsageError("--dataset-path: '", flags.dataset_path,
                     "' does not exist; expected the folder with the files of the data set");
  }
  const DatasetRecord& record = dataset_record(flags.dataset);
  const bool is_made_up = flags.synthetic_data != SyntheticData::none && !record.preparation;
  if (flags.image_size > 0 && !record.has_views() && !is_made_up) {
    throw UsageError("--image-size: images of ", flags.dataset,
                     " have a fixed size; remove the flag, or use --dataset ",
                     join(datasets_with_views(), " or "));
  }
  validate(flags.augmentation, dataset_record(flags.dataset));
  if (!flags.accelerator_side_preprocess && flags.eight_bit_transfer) {
    throw UsageError(
        "--eight-bit-transfer needs --accelerator-side-preprocess, which converts the bytes to "
        "numbers on the devices; add it");
  }
  if (!flags.accelerator_side_preprocess && flags.fused_preprocessing) {
    throw UsageError(
        "--fused-preprocessing needs --accelerator-side-preprocess, the work that it fuses; add "
        "it");
  }
}

}  // namespace pando::app
