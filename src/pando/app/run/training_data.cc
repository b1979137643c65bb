// SPDX-License-Identifier: MIT
#include "pando/app/run/training_data.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "pando/app/flags/find_dataset.h"
#include "pando/app/job/stop_signal.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/subset.h"
#include "pando/datasets/synthetic_images.h"
#include "pando/fetch/fetch.h"
#include "pando/fetch/folders.h"
#include "pando/train/progress.h"

namespace pando::app {

namespace {

DataLoadOptions load_options(const DataRequest& request) {
  const DataFlags& flags = request.flags;
  return {.prepare_on_device = flags.accelerator_side_preprocess,
          .eight_bit = flags.eight_bit_transfer,
          .fused = flags.fused_preprocessing,
          .shuffle = flags.shuffle,
          .view_side =
              view_side(flags, request.model == nullptr ? Shape{} : request.model->input_shape),
          .on_bad_record = flags.on_bad_record,
          .seed = request.seed,
          .workers = request.workers,
          .validation_split = flags.validation_split,
          .augmentation = flags.augmentation.choice()};
}

std::string download(const DataRequest& request) {
  const DatasetRecord& record = dataset_record(request.flags.dataset);
  const fetch::RemoteDataset& remote = record.remote.value();
  if (request.out != nullptr) {
    *request.out << fmt::format(
        "{} ({}) is not on this machine: fetching {} into {} (--no-download forbids that)\n",
        record.name, record.title, human_bytes(static_cast<double>(fetch::download_bytes(remote))),
        fetch::dataset_folder(remote, ""));
  }
  const StopSignal signal("\nstopping; another signal, after a second, ends at once\n");
  const bool terminal = request.out == &std::cout && train::standard_progress(1).is_terminal;
  return fetch::fetch_dataset(remote, {.stop = &signal.wanted(),
                                       .out = request.quiet ? nullptr : request.out,
                                       .is_terminal = terminal});
}

}  // namespace

void fetch_training_data(const DataRequest& request) {
  const bool is_made_up = request.flags.synthetic_data != SyntheticData::none;
  if (!is_made_up && !find_dataset(request.flags)) download(request);
}

TrainingData load_training_data(const DataRequest& request) {
  const DatasetRecord& record = dataset_record(request.flags.dataset);
  if (request.flags.synthetic_data != SyntheticData::none) {
    PANDO_CHECK(request.model != nullptr);
    std::optional<int64_t> distinct;
    if (request.flags.synthetic_data == SyntheticData::device) distinct = request.synthetic;
    TrainingData made_up =
        synthetic_data(record, {*request.model, distinct}, load_options(request));
    mix(made_up, load_options(request));
    return made_up;
  }
  std::optional<std::string> path = find_dataset(request.flags);
  if (!path) path = download(request);
  TrainingData data = record.load(*path, load_options(request));
  const bool has_names = std::ssize(record.class_names) == data.sets.classes;
  if (data.class_names.empty() && has_names) data.class_names = record.class_names;
  datasets::take_subset(data, {.classes = request.flags.dataset_classes,
                               .train = request.flags.train_samples,
                               .test = request.flags.test_samples});
  mix(data, load_options(request));
  for (std::string& name : data.class_names) {  // names of folders may hold anything
    std::ranges::replace_if(
        name, [](char c) { return static_cast<uint8_t>(c) < ' '; }, ' ');
  }
  return data;
}

}  // namespace pando::app
