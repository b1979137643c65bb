// SPDX-License-Identifier: MIT
#include "pando/app/run/training_data.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "pando/app/flags/find_dataset.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/job/stop_signal.h"
#include "pando/app/run/synthetic_images.h"
#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/data/image/augmented.h"
#include "pando/data/sources/cifar/cifar.h"
#include "pando/data/sources/image_folder.h"
#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/data/sources/mnist.h"
#include "pando/data/stream_order.h"
#include "pando/fetch/fetch.h"
#include "pando/fetch/folders.h"
#include "pando/train/progress.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kCifarBorder = 4;
constexpr int64_t kViewSize = 224;
constexpr int64_t kShortSide = 256;  // of a validation image whose view has kViewSize

uint64_t augmentation_key(uint64_t seed) { return mix_keys(seed, hash_name("augmentation")); }

PreprocessOptions front_of(const DataFlags& flags, PreprocessValues values) {
  return {
      .eight_bit = flags.eight_bit_transfer, .values = values, .fused = flags.fused_preprocessing};
}

// What the host leaves to the devices of views: mirroring and normalising.
ChannelMap map_of(const DataFlags& flags) {
  return flags.accelerator_side_preprocess ? ChannelMap{} : normalise_imagenet();
}
std::optional<PreprocessOptions> view_front(const DataFlags& flags) {
  if (!flags.accelerator_side_preprocess) return std::nullopt;
  PreprocessOptions front = front_of(flags, PreprocessValues::normalise_imagenet);
  front.flip = true;
  return front;
}

// Images of bytes where they are prepared afterwards.
TrainTest read_arrays(const DataFlags& flags, const std::string& path,
                      std::vector<BadRecord>& skipped) {
  auto* list = flags.on_bad_record == OnBadRecord::skip ? &skipped : nullptr;
  const CifarOptions cifar{.x = DType::u8, .skipped = list};
  const MnistLikeOptions mnist{.x = flags.accelerator_side_preprocess ? DType::u8 : DType::f32,
                               .skipped = list};
  switch (flags.dataset) {
    case DatasetKind::cifar10: return load_cifar10(path, cifar);
    case DatasetKind::cifar100: return load_cifar100(path, cifar);
    case DatasetKind::mnist: return load_mnist(path, mnist);
    default: return load_fashion_mnist(path, mnist);
  }
}

// The bytes stay bytes in memory; what a batch needs is made of them batch by batch.
void prepare_cifar(TrainingData& data, const DataRequest& request) {
  AugmentOptions train{
      .flip = true, .border = kCifarBorder, .seed = augmentation_key(request.seed)};
  AugmentOptions test;
  if (request.flags.accelerator_side_preprocess) {
    data.front = front_of(request.flags, PreprocessValues::standardise);
    data.front->flip = true;
    train.flip_on_device = true;
    train.values = test.values =
        request.flags.eight_bit_transfer ? PixelValues::bytes : PixelValues::plain;
  }
  data.sets.train = augment_images(data.sets.train, train);
  data.sets.test = augment_images(data.sets.test, test);
}

// Images that nobody crops or flips.
void prepare_values(TrainingData& data, const DataRequest& request, PixelValues on_host,
                    PreprocessValues on_device) {
  AugmentOptions options{.values = on_host};
  if (request.flags.accelerator_side_preprocess) {
    data.front = front_of(request.flags, on_device);
    options.values = request.flags.eight_bit_transfer ? PixelValues::bytes : PixelValues::plain;
  }
  data.sets.train = augment_images(data.sets.train, options);
  data.sets.test = augment_images(data.sets.test, options);
}

// Images of bytes, as they are read or made up.
void prepare(TrainingData& data, const DataRequest& request) {
  switch (request.flags.dataset) {
    case DatasetKind::fashion_mnist:
    case DatasetKind::mnist:
      return prepare_values(data, request, PixelValues::scaled, PreprocessValues::scale_255);
    case DatasetKind::cifar10:
    case DatasetKind::cifar100: return prepare_cifar(data, request);
    case DatasetKind::imagenet:
    case DatasetKind::image_folder:
      return prepare_values(data, request, PixelValues::normalised,
                            PreprocessValues::normalise_imagenet);
  }
}

// The folder of validation images beside that of training images.
std::string validation_folder(const std::string& path) {
  for (const char* name : {"validation", "val", "test"}) {
    if (fs::is_directory(fs::path(path) / name)) return (fs::path(path) / name).string();
  }
  throw UsageError("--dataset image_folder: '", path,
                   "' has no folder validation, val or test beside train, each with a folder of "
                   "images per class");
}

int64_t view_side(const DataRequest& request) {
  if (request.flags.image_size > 0) return request.flags.image_size;
  return request.model_input.rank() == 3 ? request.model_input[0] : kViewSize;
}

TrainingData load_folders(const DataRequest& request, const std::string& path) {
  const int64_t side = view_side(request);
  ImageFolderOptions options{.size = {side, side},
                             .random_views = true,
                             .flip_on_device = request.flags.accelerator_side_preprocess,
                             .short_side = side * kShortSide / kViewSize,
                             .dtype = request.flags.eight_bit_transfer ? DType::u8 : DType::f32,
                             .map = map_of(request.flags),
                             .seed = augmentation_key(request.seed),
                             .on_bad_record = request.flags.on_bad_record,
                             .workers = request.workers};
  ImageFolder train = load_image_folder((fs::path(path) / "train").string(), options);
  options.random_views = false;
  ImageFolder test = load_image_folder(validation_folder(path), options);
  if (train.classes != test.classes) {
    throw UsageError("--dataset image_folder: '", path, "' has ", train.classes.size(),
                     " classes for training and ", test.classes.size(),
                     " for validation, or they have other names; wanted the same folders");
  }
  TrainingData data{.sets = {.train = std::move(train.dataset),
                             .test = std::move(test.dataset),
                             .classes = std::ssize(train.classes)}};
  data.skipped = std::move(train.bad);
  data.skipped.insert(data.skipped.end(), test.bad.begin(), test.bad.end());
  data.front = view_front(request.flags);
  return data;
}

// Where the records of shards are is kept for the next run.
std::string index_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return concat(cache, "/pando/index");
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : concat(home, "/.cache/pando/index");
}

TrainingData load_shards(const DataRequest& request, const std::string& path) {
  const int64_t side = view_side(request);
  Imagenet imagenet =
      load_imagenet(path, {.size = {side, side},
                           .flip_on_device = request.flags.accelerator_side_preprocess,
                           .short_side = side * kShortSide / kViewSize,
                           .dtype = request.flags.eight_bit_transfer ? DType::u8 : DType::f32,
                           .map = map_of(request.flags),
                           .seed = augmentation_key(request.seed),
                           .on_bad_record = request.flags.on_bad_record,
                           .workers = request.workers,
                           .index_folder = index_folder()});
  TrainingData data{
      .sets = {.train = stream_records(imagenet.train,
                                       {.seed = request.seed, .shuffle = request.flags.shuffle}),
               .test = imagenet.validation.data,
               .classes = imagenet.classes},
      .in_order = true};
  data.skipped = std::move(imagenet.train.skipped);
  data.skipped.insert(data.skipped.end(), imagenet.validation.skipped.begin(),
                      imagenet.validation.skipped.end());
  data.front = view_front(request.flags);
  return data;
}

std::string download(const DataRequest& request) {
  const fetch::DatasetEntry& entry = fetch::entry(to_string(request.flags.dataset));
  if (request.out != nullptr) {
    *request.out << fmt::format(
        "{} ({}) is not on this machine: fetching {} into {} (--no-download forbids that)\n",
        entry.name, entry.title, human_bytes(static_cast<double>(fetch::download_bytes(entry))),
        fetch::dataset_folder(entry, ""));
  }
  const StopSignal signal("\nstopping; another signal ends at once\n");
  const bool terminal = request.out == &std::cout && train::standard_progress(1).is_terminal;
  return fetch::fetch_dataset(entry, {.stop = &signal.wanted(),
                                      .out = request.quiet ? nullptr : request.out,
                                      .is_terminal = terminal});
}

// So many that caches cannot hold them: they come from memory, as real ones do.
constexpr int64_t kHostImageBytes = int64_t{1} << 26;

TrainingData load_synthetic(const DataRequest& request) {
  const DataFlags& flags = request.flags;
  SyntheticImages images{.shape = {view_side(request), view_side(request), 3},
                         .classes = kImagenetClasses,
                         .train = kImagenetTrain,
                         .test = kImagenetValidation,
                         .seed = request.seed};
  if (!has_views(flags.dataset)) {
    const fetch::DatasetEntry& like = fetch::entry(to_string(flags.dataset));
    const bool grey =
        flags.dataset == DatasetKind::mnist || flags.dataset == DatasetKind::fashion_mnist;
    images.shape = grey ? Shape{28, 28, 1} : Shape{32, 32, 3};
    images.classes = like.classes;
    images.train = like.train;
    images.test = like.test;
  }
  images.distinct = flags.synthetic_data == SyntheticData::device
                        ? request.synthetic
                        : std::max<int64_t>(1, kHostImageBytes / images.shape.elements());
  images.distinct = std::min(images.distinct, images.train);
  TrainingData data{.sets = synthetic_images(images)};
  prepare(data, request);
  return data;
}

}  // namespace

void fetch_training_data(const DataRequest& request) {
  const bool is_made_up = request.flags.synthetic_data != SyntheticData::none;
  if (!is_made_up && !find_dataset(request.flags)) download(request);
}

TrainingData load_training_data(const DataRequest& request) {
  const DataFlags& flags = request.flags;
  if (flags.synthetic_data != SyntheticData::none) return load_synthetic(request);
  std::optional<std::string> path = find_dataset(flags);
  if (!path) path = download(request);
  if (flags.dataset == DatasetKind::image_folder) return load_folders(request, *path);
  if (flags.dataset == DatasetKind::imagenet) return load_shards(request, *path);
  std::vector<BadRecord> skipped;
  TrainingData data{.sets = read_arrays(flags, *path, skipped)};
  data.skipped = std::move(skipped);
  for (const Dataset* set : {&data.sets.train, &data.sets.test}) {
    if (set->size() == 0) {
      throw IoError(*path, ": found no sample that can be read; ", to_string(data.skipped));
    }
  }
  if (data.sets.train.fields()[0].dtype == DType::u8) prepare(data, request);
  return data;
}

}  // namespace pando::app
