// SPDX-License-Identifier: MIT
#include "pando/app/flags/data_flags.h"

#include <algorithm>
#include <filesystem>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"

namespace pando::app {

const std::vector<std::pair<std::string, DatasetKind>>& dataset_names() {
  static const std::vector<std::pair<std::string, DatasetKind>> names = {
      {"fashion_mnist", DatasetKind::fashion_mnist},
      {"mnist", DatasetKind::mnist},
      {"cifar10", DatasetKind::cifar10},
      {"cifar100", DatasetKind::cifar100},
      {"imagenet", DatasetKind::imagenet},
      {"image_folder", DatasetKind::image_folder}};
  return names;
}

const std::string& to_string(DatasetKind kind) {
  const auto& names = dataset_names();
  const auto found =
      std::ranges::find_if(names, [&](const auto& entry) { return entry.second == kind; });
  PANDO_CHECK(found != names.end());
  return found->first;
}

bool has_views(DatasetKind kind) {
  return kind == DatasetKind::imagenet || kind == DatasetKind::image_folder;
}

void add_data_flags(OptionTable& table, DataFlags& flags) {
  table.add_choice("dataset", flags.dataset, dataset_names(),
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
           "height and width of the views of imagenet and image_folder; 0: what the model is made "
           "for")
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
  if (flags.image_size > 0 && !has_views(flags.dataset)) {
    throw UsageError("--image-size: the images of ", to_string(flags.dataset),
                     " have a size of their own; it goes with imagenet and image_folder");
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
