// Arrays that a user saved with NumPy.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/image/mask.h"
#include "pando/data/sources/arrays.h"
#include "pando/datasets/fingerprint.h"
#include "pando/datasets/numpy_arrays.h"
#include "pando/datasets/records_impl.h"
#include "pando/datasets/tools/array_stages_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify_impl.h"
#include "pando/datasets/validation_split.h"
#include "pando/options/usage_error.h"

namespace pando::datasets {

namespace {

namespace fs = std::filesystem;

constexpr Preparation kNumpyPreparation = {.on_host = PixelValues::scaled,
                                           .on_device = PreprocessValues::scale_255};

// Whether samples are pictures of bytes, which are scaled to 0 to 1 when a batch is made.
bool are_byte_pictures(const Tensor& x) {
  return x.dtype() == DType::u8 && x.shape().rank() == 4 && x.shape()[3] <= 4;
}

Dataset dataset_of(ArrayPart& part) {
  const bool scales = part.x.dtype() == DType::u8 && !are_byte_pictures(part.x);
  std::vector<ArrayField> fields(2);
  fields[0].name = "x";
  fields[0].values = std::move(part.x);
  if (scales) fields[0].scale = 1.0f / 255.0f;
  fields[1].name = "y";
  fields[1].values = std::move(part.y);
  return from_arrays(std::move(fields));
}

// Every class is cut where a sample has one class.
SplitIndices split_of(const Dataset& all, const std::string& task, double fraction) {
  if (task == "classification") return split_by_class(labels_of(all), fraction);
  return split_by_class(std::vector<int32_t>(static_cast<size_t>(all.size())), fraction);
}

struct LoadedArrays {
  Dataset train;
  std::optional<Dataset> validation;
  ArrayTask task;
  bool byte_pictures = false;
  std::vector<std::string> warnings;
};

LoadedArrays load_numpy_arrays(const std::string& path) {
  NumpyArrays arrays = read_numpy(path);
  const ArrayTask task = shape_arrays(arrays);
  const bool bytes = are_byte_pictures(arrays.train.x);
  std::optional<Dataset> validation;
  if (arrays.validation) validation = dataset_of(*arrays.validation);
  return {.train = dataset_of(arrays.train),
          .validation = std::move(validation),
          .task = task,
          .byte_pictures = bytes,
          .warnings = std::move(arrays.warnings)};
}

void refuse_augmentation(const std::string& path, const Dataset& samples) {
  throw UsageError("--dataset numpy: '", path, "': x_train has samples ", samples.fields()[0],
                   ", which cannot be augmented; expected pictures of bytes, u8 [samples, "
                   "height, width, channels], or no flags of augmentation");
}

TrainingData load_numpy(const std::string& path, const DataLoadOptions& load) {
  LoadedArrays arrays = load_numpy_arrays(path);
  const bool cuts = load.validation_split > 0;
  if (!cuts && !arrays.validation) {
    throw UsageError(
        "--dataset numpy: '", path,
        "' has no arrays for validation, such as x_test and y_test; to cut them out of "
        "the others, add --validation-split 0.1");
  }
  TrainingData data{.sets = {.train = arrays.train,
                             .test = cuts ? arrays.train : *arrays.validation,
                             .classes = arrays.task.outputs}};
  data.task = arrays.task.task;
  data.warnings = std::move(arrays.warnings);
  data.fingerprint = fingerprint_of_arrays(arrays.train, RealNumbers::any);
  if (cuts) {
    SplitIndices split = split_of(arrays.train, data.task, load.validation_split);
    data.sets.train = arrays.train.select(std::move(split.train));
    data.sets.test = arrays.train.select(std::move(split.validation));
  }
  if (arrays.byte_pictures) {
    prepare(data, kNumpyPreparation, load);
  } else if (load.augmentation.alters_pictures()) {
    refuse_augmentation(path, data.sets.train);
  }
  return data;
}

void report_arrays(const std::string& name, const ArrayPart& part, const ArrayTask& task,
                   const VerifyOptions& options, ReportBuilder& builder) {
  builder.begin_part(name, 0, 0);
  FileFindings findings(options);
  findings.file.path = part.y_place;
  findings.file.bytes = part.x.bytes() + part.y.bytes();
  for (int64_t i = 0; i < part.x.shape()[0]; ++i) findings.sample(-1);
  if (part.y.dtype() == DType::i32) {
    for (const int32_t label : part.y.i32()) {
      if (label >= 0) ++findings.labels[label];
    }
  } else if (task.task == "multilabel") {
    for (size_t i = 0; i < part.y.f32().size(); ++i) {
      const auto column = static_cast<int64_t>(i) % task.outputs;
      if (part.y.f32()[i] == 1) ++findings.labels[column];
    }
  }
  builder.add(std::move(findings));
  builder.note(concat(name, ": features ", to_string(part.x.dtype()), part.x.shape(), ", labels ",
                      to_string(part.y.dtype()), part.y.shape(), " for ", task.task));
}

VerifyReport verify_numpy(const std::string& path, const VerifyOptions& options) {
  ReportBuilder builder(options);
  try {
    NumpyArrays arrays = read_numpy(path);
    const ArrayTask task = shape_arrays(arrays);
    report_arrays("train", arrays.train, task, options, builder);
    if (arrays.validation) report_arrays("test", *arrays.validation, task, options, builder);
    for (std::string& warning : arrays.warnings) builder.note(std::move(warning));
    if (task.task == "segmentation") builder.set_counted("pixels");
  } catch (const IoError& error) {
    builder.add_bad({path, 0, without_place(error.what(), path)});
  }
  return std::move(builder).finish(path);
}

Pipeline numpy_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const Dataset train = load_numpy_arrays(path).train.shuffle({.seed = options.seed});
  const int64_t block = block_of(train, options);
  Pipeline pipeline = array_pipeline(train, block);
  pipeline.stages = {
      gather_stage("gather", "arrays in a shuffled order", train, bytes_of(train), block)};
  return pipeline;
}

Showing show_numpy(const std::string& path, const ShowOptions& options) {
  const LoadedArrays arrays = load_numpy_arrays(path);
  if (options.test && !arrays.validation) {
    throw InvalidArgument(path,
                          ": has no part for testing, expected arrays such as x_test, y_test");
  }
  Dataset shown = options.test ? *arrays.validation : arrays.train;
  if (shown.fields()[0].shape.rank() != 3) {
    throw Unsupported("show: ", path, ": samples ", shown.fields()[0].shape,
                      " are volumes; only pictures can be shown");
  }
  if (options.augment && arrays.byte_pictures) {
    AugmentOptions augment = train_augmentation(kNumpyPreparation, options.augmentation);
    augment.values = PixelValues::bytes;
    augment.seed = options.seed;
    shown = augment_images(shown, augment);
  } else if (options.augment && options.augmentation.alters_pictures()) {
    refuse_augmentation(path, shown);
  }
  Showing showing{shown, {}, {}};
  const std::string& task = arrays.task.task;
  if (task == "segmentation") {
    showing.tile = [](const Sample& sample) { return tile_with_mask(sample, {}); };
  } else if (task != "classification") {
    showing.tile = [](const Sample& sample) {
      std::vector<std::string> numbers;
      for (const float value : sample.y().f32()) numbers.push_back(concat(value));
      return SheetTile{picture_of(sample.x()), join(numbers, " ")};
    };
  }
  return showing;
}

}  // namespace

namespace {

bool has_arrays(const std::string& path) {
  if (fs::path(path).extension() == ".npz") return true;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".npy" || at->path().extension() == ".npz") return true;
  }
  return false;
}

}  // namespace

DatasetRecord numpy() {
  return {.name = "numpy",
          .title = "your own arrays, saved with NumPy",
          .files = "x_train.npy, y_train.npy, x_test.npy, y_test.npy; or one .npz file of these",
          .how =
              "save x_train, y_train, x_test and y_test with numpy.save or numpy.savez; without "
              "the last two, add --validation-split 0.1",
          .looks_like = has_arrays,
          .path_help =
              "name the folder of .npy files, or the .npz file, with --dataset-path; it has the "
              "arrays x_train, y_train, x_test and y_test",
          .load = load_numpy,
          .verify = verify_numpy,
          .pipeline = numpy_pipeline,
          .show = show_numpy};
}

}  // namespace pando::datasets
