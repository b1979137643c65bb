// A user's own pictures: a folder of them per class, for training beside one for validation, or one
// of the other layouts (image_layouts_impl.h).
// SPDX-License-Identifier: MIT
#include "pando/data/sources/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "pando/base/paths.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/validation_folder.h"
#include "pando/datasets/fingerprint.h"
#include "pando/datasets/image_layouts_impl.h"
#include "pando/datasets/records_impl.h"
#include "pando/datasets/tools/image_stages_impl.h"
#include "pando/datasets/tools/places_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify_impl.h"
#include "pando/datasets/validation_split.h"
#include "pando/options/usage_error.h"

namespace pando::datasets {

namespace {

namespace fs = std::filesystem;

// The folders of training and of validation images. The second is empty if validation is cut out of
// training; then the classes may also lie in `path` itself.
std::pair<std::string, std::string> folders_of(const std::string& path, bool cuts) {
  const fs::path train = fs::path(path) / "train";
  const fs::path validation = data::find_validation_folder(path);
  const bool has_train = is_folder(train);
  if (cuts) return {has_train ? train.string() : path, ""};
  if (has_train && !validation.empty()) return {train.string(), validation.string()};
  const std::string missing =
      has_train ? concat("no folder ", data::kValidationFolderNames, " beside train")
                : "no folder train";
  throw UsageError(
      "--dataset image_folder: '", path, "' has ", missing,
      "; expected train and validation, each with a folder of images per class or with the folders "
      "images and masks, or pictures with labels.csv. To cut a validation set out of ",
      has_train ? "train" : "its folders", ", add --validation-split 0.1");
}

// The layout of a part; no value: a folder per class.
std::optional<ImageLayout> layout_of(const std::string& root, const std::string& part) {
  for (const ImageLayout& layout : {mask_layout(), csv_layout()}) {
    if (layout.fits(root, part)) return layout;
  }
  return std::nullopt;
}

// The same for the first part of a data set. Whoever reads a path that cannot be listed reports it.
std::optional<ImageLayout> layout_at(const std::string& path) {
  try {
    return layout_of(path, choose_part(path, false).path);
  } catch (const IoError&) {
    return std::nullopt;
  }
}

std::string empty_note(const std::string& folder, const std::string& name) {
  return concat("the folder ", (fs::path(folder) / name).string(),
                " has no images, so it is not a class");
}

// The images of both parts, with the labels of the training folders.
struct FolderParts {
  data::ImageList train;
  std::vector<data::LabelledFile> validation;
  std::vector<std::string> warnings;
};

void warn_of_empty(const std::string& folder, const data::ImageList& list,
                   std::vector<std::string>& warnings) {
  for (const std::string& name : list.empty) warnings.push_back(empty_note(folder, name));
}

FolderParts list_parts(const std::string& path, ImageFolderOptions options) {
  const auto [train, validation] = folders_of(path, false);
  FolderParts parts{.train = data::list_images(train, options), .validation = {}, .warnings = {}};
  warn_of_empty(train, parts.train, parts.warnings);
  options.classes = parts.train.classes;
  data::ImageList second = data::list_images(validation, options);
  std::vector<bool> found(options.classes.size());
  for (const data::LabelledFile& file : second.files) found[static_cast<size_t>(file.label)] = true;
  const auto missing = std::ranges::count(found, false);
  if (missing > 0) {
    const auto first = static_cast<size_t>(std::ranges::find(found, false) - found.begin());
    parts.warnings.push_back(concat(validation, " has no images of ", missing, " of ", found.size(),
                                    " classes, such as '", options.classes[first], "'"));
  }
  parts.validation = std::move(second.files);
  parts.train.bad.insert(parts.train.bad.end(), second.bad.begin(), second.bad.end());
  return parts;
}

FolderParts cut_parts(const std::string& path, const ImageFolderOptions& options, double fraction) {
  const std::string folder = folders_of(path, true).first;
  FolderParts parts{.train = data::list_images(folder, options), .validation = {}, .warnings = {}};
  warn_of_empty(folder, parts.train, parts.warnings);
  std::vector<data::LabelledFile> all = std::move(parts.train.files);
  std::vector<int32_t> labels;
  for (const data::LabelledFile& file : all) labels.push_back(file.label);
  const SplitIndices split = split_by_class(labels, fraction);
  parts.train.files.clear();
  for (const int64_t i : split.train) parts.train.files.push_back(all[static_cast<size_t>(i)]);
  for (const int64_t i : split.validation) parts.validation.push_back(all[static_cast<size_t>(i)]);
  return parts;
}

TrainingData load_classes(const std::string& path, const DataLoadOptions& load) {
  const ImageFolderOptions options = training_views(load);
  const double fraction = load.validation_split;
  FolderParts parts = fraction > 0 ? cut_parts(path, options, fraction) : list_parts(path, options);
  std::vector<std::string> paths;
  for (const auto& file : parts.train.files) paths.push_back(file.path);
  TrainingData data{.sets = open_both(options, std::ssize(parts.train.classes),
                                      [&](bool train, const ImageFolderOptions& views) {
                                        return data::open_images(
                                            train ? parts.train.files : parts.validation, views);
                                      })};
  data.class_names = std::move(parts.train.classes);
  data.skipped = std::move(parts.train.bad);
  data.warnings = std::move(parts.warnings);
  data.fingerprint = fingerprint_of_files(path, paths);
  data.front = view_front(load);
  return data;
}

TrainingData load_folders(const std::string& path, const DataLoadOptions& load) {
  const auto [train, validation] = folders_of(path, load.validation_split > 0);
  if (const auto layout = layout_of(path, train)) {
    return layout->load({.root = path, .train = train, .validation = validation}, load);
  }
  return load_classes(path, load);
}

// Checks all images and adds the findings of each class folder, in order.
void verify_images(const PartFolder& part, const data::ImageList& list,
                   const VerifyOptions& options, ReportBuilder& builder) {
  std::vector<FileFindings> folders;
  for (const std::string& name : list.classes) {
    folders.push_back(findings_of_folder((fs::path(part.path) / name).string(), options));
  }
  std::vector<std::string> flaws(list.files.size());
  data::for_each_item(list.files.size(), options.workers, [&](size_t i) {
    Image scratch;
    flaws[i] = data::image_flaw(list.files[i].path, options.limits, scratch);
  });
  for (size_t i = 0; i < flaws.size(); ++i) {
    const data::LabelledFile& image = list.files[i];
    FileFindings& folder = folders[static_cast<size_t>(image.label)];
    folder.file.bytes += size_of_file(image.path);
    if (flaws[i].empty()) {
      folder.sample(image.label);
    } else {
      folder.bad.add({image.path, 0, std::move(flaws[i])});
    }
  }
  for (FileFindings& folder : folders) builder.add(std::move(folder));
}

VerifyReport verify_image_folder(const std::string& path, const VerifyOptions& options) {
  if (const auto layout = layout_at(path)) return layout->verify(path, options);
  std::vector<std::string> first;
  return verify_parts(path, options, [&](const PartFolder& part, ReportBuilder& builder) {
    try {
      const data::ImageList list = data::list_images(part.path, {.classes = first});
      for (const std::string& name : list.empty) builder.note(empty_note(part.path, name));
      first = list.classes;  // of the training part: labels are places in its sorted list
      builder.set_classes(first);
      verify_images(part, list, options, builder);
    } catch (const IoError& error) {
      builder.add_bad({part.path, 0, without_place(error.what(), part.path)});
    }
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
  if (const auto layout = layout_at(path)) return layout->pipeline(path, options);
  ImageFolder folder = load_image_folder(choose_part(path, false).path,
                                         {.random_views = true, .seed = options.seed});
  return picture_file_pipeline(std::move(folder.files), folder.dataset, options.seed);
}

Showing show_image_folder(const std::string& path, const ShowOptions& options) {
  if (const auto layout = layout_at(path)) return layout->show(path, options);
  const ImageFolder folder =
      load_image_folder(choose_part(path, options.test).path, shown_views(options));
  return {folder.dataset, folder.classes, {}};
}

}  // namespace

ImageFolderOptions training_views(const DataLoadOptions& load) {
  return {.size = {load.view_side, load.view_side},
          .random_views = true,
          .flip_on_device = load.flips_on_device(),
          .box = view_box(load.augmentation),
          .augmentation = view_augmentation(load.augmentation),
          .short_side = view_short_side(load),
          .dtype = view_dtype(load),
          .map = view_map(load),
          .seed = augmentation_key(load.seed),
          .on_bad_record = load.on_bad_record,
          .workers = load.workers};
}

ImageFolderOptions shown_views(const ShowOptions& options) {
  return {.random_views = options.augment,
          .box = view_box(options.augmentation),
          .augmentation = view_augmentation(options.augmentation),
          .dtype = DType::u8,
          .seed = options.seed};
}

namespace {

// Whether there is a picture in the folder or a few folders below.
bool has_pictures(const std::string& path) {
  constexpr int kDeepest = 3;  // train/class/picture.jpg and one more
  constexpr int64_t kMostNames = 2000;
  std::error_code error;
  int64_t names = 0;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    const std::string ending = to_lower(at->path().extension().string());
    if (ending == ".jpg" || ending == ".jpeg" || ending == ".png") return true;
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    if (++names > kMostNames) return false;
  }
  return false;
}

}  // namespace

TrainTest open_both(const ImageFolderOptions& options, int64_t classes,
                    const std::function<Dataset(bool train, const ImageFolderOptions&)>& open) {
  ImageFolderOptions middle = options;
  middle.random_views = false;
  return {.train = open(true, options), .test = open(false, middle), .classes = classes};
}

Pipeline picture_file_pipeline(std::vector<std::string> files, const Dataset& dataset,
                               uint64_t seed) {
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(files));
  const MakeEachImage images = [shared]() -> EachImage {
    return [shared](int64_t unit, const ImageUse& use) {
      const std::vector<uint8_t> bytes = data::read_file((*shared)[static_cast<size_t>(unit)]);
      use({bytes, {}});
    };
  };
  return {
      .units = dataset.size(),
      .samples = dataset.size(),
      .stages = {read_images_stage(images), decode_stage(images, seed), view_stage(images, seed)},
      .batches = dataset.shuffle({.seed = seed})};
}

DatasetRecord image_folder() {
  return {
      .name = "image_folder",
      .title = "your own JPEG and PNG images",
      .shape = {0, 0, 3},
      .files =
          "a folder of JPEG and PNG images per class, or images and masks, or images and "
          "labels.csv; "
          "or train and validation of such",
      .how =
          "make a folder of images for each class, or the folders images and masks, or images and "
          "labels.csv; to train, make two such sets, in the folders train and validation, or add "
          "--validation-split 0.1",
      .looks_like = has_pictures,
      .path_help =
          "name the folder with --dataset-path; it has the folders train and validation, each "
          "with a folder of images per class (or images and masks, or images and labels.csv), or "
          "with --validation-split 0.1 the classes alone",
      .load = load_folders,
      .preparation = kViewPreparation,
      .verify = verify_image_folder,
      .pipeline = image_folder_pipeline,
      .show = show_image_folder};
}

}  // namespace pando::datasets
