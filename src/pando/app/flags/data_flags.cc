// SPDX-License-Identifier: MIT
#include "pando/app/flags/data_flags.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
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

void add_data_flags(OptionTable& table, DataFlags& flags) {
  table.add_choice("dataset", flags.dataset, dataset_choices(),
                   "the data set; by default the one that the model is made for");
  table
      .add("dataset-path", flags.dataset_path,
           "the folder with its files; by default where the Debian package puts Fashion-MNIST or "
           "where 'pando data fetch' puts the others")
      .with_hint("DIR");
  table.add("download", flags.download, "fetch a data set that is not on this machine");
  table.add_choice("synthetic-data", flags.synthetic_data,
                   {{"none", SyntheticData::none},
                    {"host", SyntheticData::host},
                    {"device", SyntheticData::device},
                    {"cpu", SyntheticData::host},
                    {"ipu", SyntheticData::device}},
                   "made-up images in place of the files: through the whole input pipeline (host, "
                   "alias cpu) or held by the devices, so that data cost nothing (device, alias "
                   "ipu)");
  table.add("shuffle", flags.shuffle, "shuffle the training data in every epoch");
  table
      .add("image-size", flags.image_size,
           concat("height and width of the views of ", join(datasets_with_views(), " and "),
                  "; 0: what the model is made for"))
      .with_hint("N")
      .at_least(0)
      .at_most(4096);
  table.add_choice("on-bad-record", flags.on_bad_record,
                   {{"error", OnBadRecord::error}, {"skip", OnBadRecord::skip}},
                   "a sample that cannot be read ends the run, or is left out and listed at the "
                   "end; skip reads all data once before the start");
  table
      .add("pipeline-num-parallel", flags.pipeline_num_parallel,
           "threads that prepare batches, off the cores of devices where others are left; 0: as "
           "many as such cores, at least 1. Results do not depend on it")
      .with_hint("N")
      .at_least(0)
      .at_most(4096);
  table.add("accelerator-side-preprocess", flags.accelerator_side_preprocess,
            "flip, standardise and normalise images inside the device program");
  table.add("eight-bit-transfer", flags.eight_bit_transfer,
            "images go to the devices as bytes; needs --accelerator-side-preprocess");
  table.add("fused-preprocessing", flags.fused_preprocessing,
            "the device turns bytes into normalised numbers in one pass; needs "
            "--accelerator-side-preprocess");
}

void validate(const DataFlags& flags) {
  if (!flags.dataset_path.empty() && !std::filesystem::exists(flags.dataset_path)) {
    throw UsageError("--dataset-path: '", flags.dataset_path,
                     "' does not exist, wanted the folder of the data set");
  }
  if (flags.image_size > 0 && !dataset_record(flags.dataset).has_views()) {
    throw UsageError("--image-size: the images of ", flags.dataset,
                     " have a size of their own; it goes with ",
                     join(datasets_with_views(), " and "));
  }
  if (!flags.accelerator_side_preprocess && flags.eight_bit_transfer) {
    throw UsageError(
        "--eight-bit-transfer needs --accelerator-side-preprocess: bytes are not yet "
        "what a network wants");
  }
  if (!flags.accelerator_side_preprocess && flags.fused_preprocessing) {
    throw UsageError(
        "--fused-preprocessing needs --accelerator-side-preprocess: it is a way to do "
        "that work");
  }
}

}  // namespace pando::app
