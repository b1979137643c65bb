// A folder of images per class, for training beside one for validation.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/image_folder.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "pando/base/paths.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/gzip.h"
#include "pando/datasets/records_impl.h"
#include "pando/datasets/tools/image_stages_impl.h"
#include "pando/datasets/tools/places_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify_impl.h"
#include "pando/options/usage_error.h"

namespace pando::datasets {

namespace {

namespace fs = std::filesystem;

// The folder of validation images beside that of training images.
std::string validation_folder(const std::string& path) {
  for (const char* name : {"validation", "val", "test"}) {
    if (is_folder(fs::path(path) / name)) return (fs::path(path) / name).string();
  }
  throw UsageError("--dataset image_folder: '", path,
                   "' has no folder validation, val or test beside train, each with a folder of "
                   "images per class");
}

TrainingData load_folders(const std::string& path, const DataLoadOptions& load) {
  ImageFolderOptions options{.size = {load.view_side, load.view_side},
                             .random_views = true,
                             .flip_on_device = load.prepare_on_device,
                             .short_side = view_short_side(load),
                             .dtype = view_dtype(load),
                             .map = view_map(load),
                             .seed = augmentation_key(load.seed),
                             .on_bad_record = load.on_bad_record,
                             .workers = load.workers};
  ImageFolder train = load_image_folder((fs::path(path) / "train").string(), options);
  options.random_views = false;
  ImageFolder test = load_image_folder(validation_folder(path), options);
  if (train.classes != test.classes) {
    throw UsageError("--dataset image_folder: '", path,
                     "': expected the same class folders for training and validation, got ",
                     train.classes.size(), " classes for training and ", test.classes.size(),
                     " for validation, or other names");
  }
  TrainingData data{.sets = {.train = std::move(train.dataset),
                             .test = std::move(test.dataset),
                             .classes = std::ssize(train.classes)}};
  data.skipped = std::move(train.bad);
  data.skipped.insert(data.skipped.end(), test.bad.begin(), test.bad.end());
  data.front = view_front(load);
  return data;
}

// One image of a folder and the result of reading it.
struct CheckedImage {
  std::string path;
  size_t label = 0;
  uint64_t bytes = 0;
  std::string flaw;
};

// Checks the images of all classes and adds the findings of each class folder, in order.
void verify_images(const PartFolder& part, const std::vector<std::string>& classes,
                   const VerifyOptions& options, ReportBuilder& builder) {
  std::vector<CheckedImage> images;
  std::vector<FileFindings> folders;
  for (size_t label = 0; label < classes.size(); ++label) {
    const std::string folder = (fs::path(part.path) / classes[label]).string();
    folders.push_back(findings_of_folder(folder, options));
    try {
      for (std::string& path : data::image_files(folder))
        images.push_back({std::move(path), label, 0, ""});
    } catch (const IoError& error) {
      folders.back().flaw(0, without_place(error.what(), folder));
    }
  }
  data::for_each_item(images.size(), options.workers, [&](size_t i) {
    Image scratch;
    images[i].bytes = size_of_file(images[i].path);
    images[i].flaw = data::image_flaw(images[i].path, options.limits, scratch);
  });
  for (CheckedImage& image : images) {
    FileFindings& folder = folders[image.label];
    folder.file.bytes += image.bytes;
    if (image.flaw.empty()) {
      folder.sample(static_cast<int64_t>(image.label));
    } else {
      folder.bad.add({std::move(image.path), 0, std::move(image.flaw)});
    }
  }
  for (FileFindings& folder : folders) builder.add(std::move(folder));
}

// The folders of classes; errors go into the report.
std::optional<std::vector<std::string>> classes_of(const PartFolder& part, ReportBuilder& builder) {
  try {
    return data::image_classes(part.path);
  } catch (const IoError& error) {
    builder.add_bad({part.path, 0, without_place(error.what(), part.path)});
    return std::nullopt;
  }
}

VerifyReport verify_image_folder(const std::string& path, const VerifyOptions& options) {
  std::vector<std::string> first;
  return verify_parts(path, options, [&](const PartFolder& part, ReportBuilder& builder) {
    const auto classes = classes_of(part, builder);
    if (!classes) return;
    if (first.empty()) {
      first = *classes;
      builder.set_classes(first);
    } else if (first != *classes) {
      // Labels are positions in the sorted list, so another list gives other labels.
      builder.add_bad({part.path, 0,
                       concat("its ", classes->size(), " classes are not those of the first part (",
                              first.size(), "), expected the same folders")});
    }
    verify_images(part, *classes, options, builder);
  });
}

Stage read_images_stage(const MakeEachImage& images) {
  return {"read", "bytes from files", [images]() -> StageWork {
            return [each = images()](int64_t unit) {
              StageCount count;
              each(unit, [&](const EncodedImage& image) {
                const auto bytes = static_cast<double>(image.bytes.size());
                count = {1, bytes, bytes};
              });
              return count;
            };
          }};
}

Pipeline image_folder_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const ImageFolder folder = load_image_folder(choose_part(path, false).path,
                                               {.random_views = true, .seed = options.seed});
  auto files = std::make_shared<const std::vector<std::string>>(folder.files);
  const MakeEachImage images = [files]() -> EachImage {
    return [files](int64_t unit, const ImageUse& use) {
      const std::vector<uint8_t> bytes = data::read_file((*files)[static_cast<size_t>(unit)]);
      use({bytes, {}});
    };
  };
  return {.units = folder.dataset.size(),
          .samples = folder.dataset.size(),
          .stages = {read_images_stage(images), decode_stage(images, options.seed),
                     view_stage(images, options.seed)},
          .batches = folder.dataset.shuffle({.seed = options.seed})};
}

Showing show_image_folder(const std::string& path, const ShowOptions& options) {
  const ImageFolder folder = load_image_folder(
      choose_part(path, options.test).path,
      {.random_views = options.augment, .dtype = DType::u8, .seed = options.seed});
  return {folder.dataset, folder.classes, {}};
}

}  // namespace

DatasetRecord image_folder() {
  return {
      .name = "image_folder",
      .title = "your own JPEG and PNG images",
      .shape = {0, 0, 3},
      .files = "a folder of JPEG and PNG images per class; or train and validation of such",
      .how =
          "make a folder of images for each class; to train, make two such sets, in the folders "
          "train and validation",
      .path_help =
          "name the folder with --dataset-path; it has the folders train and validation, each "
          "with a folder of images per class",
      .load = load_folders,
      .preparation = kViewPreparation,
      .verify = verify_image_folder,
      .pipeline = image_folder_pipeline,
      .show = show_image_folder};
}

}  // namespace pando::datasets
