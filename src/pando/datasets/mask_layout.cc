// Pictures with masks beside them, for segmentation.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <utility>

#include "pando/base/paths.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/class_names.h"
#include "pando/data/sources/mask_folder.h"
#include "pando/datasets/fingerprint.h"
#include "pando/datasets/image_layouts_impl.h"
#include "pando/datasets/tools/places_impl.h"
#include "pando/datasets/tools/verify_impl.h"
#include "pando/datasets/validation_split.h"

namespace pando::datasets {

namespace {

using data::MaskedImage;
using data::MaskFindings;

// In a view of a small part the class of a pixel can often not be seen: views show at least this
// share of a picture, unless the user chose another.
constexpr float kLeastArea = 0.5f;

ImageFolderOptions with_masks(ImageFolderOptions options, const AugmentationChoice& choice,
                              const std::string& root) {
  if (!choice.least_area) options.box.min_area = kLeastArea;
  options.classes = data::read_class_names(root);
  return options;
}

// Cuts validation out of the first part. Which pictures these are depends on their number alone.
void cut_part(std::vector<std::vector<MaskedImage>>& parts, double fraction) {
  const std::vector<MaskedImage> all = std::move(parts[0]);
  const std::vector<int32_t> alike(all.size());
  const SplitIndices split = split_by_class(alike, fraction);
  parts.assign(2, {});
  for (const int64_t i : split.train) parts[0].push_back(all[static_cast<size_t>(i)]);
  for (const int64_t i : split.validation) parts[1].push_back(all[static_cast<size_t>(i)]);
}

TrainingData load_masked(const ImageParts& parts, const DataLoadOptions& load) {
  const ImageFolderOptions options =
      with_masks(training_views(load), load.augmentation, parts.root);
  const bool cuts = parts.validation.empty();
  if (!cuts && !data::holds_masks(parts.validation)) {
    throw IoError(parts.validation, ": expected the folders images and masks, as ", parts.train,
                  " has them");
  }
  MaskFolders folders = read_mask_folders(
      cuts ? std::vector{parts.train} : std::vector{parts.train, parts.validation}, options);
  if (cuts) cut_part(folders.parts, load.validation_split);
  // Appends all pictures, then all masks. In turn would be wrong: the fingerprint of many files
  // reads every second, fourth, ...
  std::vector<std::string> paths;
  for (const MaskedImage& file : folders.parts[0]) paths.push_back(file.image);
  for (const MaskedImage& file : folders.parts[0]) paths.push_back(file.mask);
  TrainingData data{
      .sets = open_both(options, folders.classes, [&](bool train, const ImageFolderOptions& views) {
        return open_masked_images(folders.parts[train ? 0 : 1], views, folders.numbers);
      })};
  data.task = "segmentation";
  data.class_names = std::move(folders.class_names);
  data.skipped = std::move(folders.bad);
  data.warnings = std::move(folders.warnings);
  data.fingerprint = fingerprint_of_files(parts.root, paths);
  data.front = view_front(load);
  return data;
}

// The masks and pictures of one part, as far as they were read.
struct InspectedPart {
  PartFolder part;
  data::MaskList list;
  std::vector<MaskFindings> findings;
  std::string failure;  // why the part cannot be read; empty: it can
};

InspectedPart inspect_part(const PartFolder& part, const VerifyOptions& options) {
  InspectedPart inspected{.part = part, .list = {}, .findings = {}, .failure = {}};
  try {
    if (!data::holds_masks(part.path)) {
      throw IoError(part.path, ": expected the folders images and masks, as other parts have them");
    }
    inspected.list = data::list_masks(part.path);
  } catch (const IoError& error) {
    inspected.failure = without_place(error.what(), part.path);
    return inspected;
  }
  inspected.findings.resize(inspected.list.files.size());
  data::for_each_item(inspected.findings.size(), options.workers, [&](size_t i) {
    inspected.findings[i] = data::inspect_mask(inspected.list.files[i], options.limits, true);
  });
  return inspected;
}

// Adds the pixels of a good sample to those of the part; returns how many are not labelled.
int64_t count_pixels(const MaskFindings& found, const MaskClasses& numbers, FileFindings& folder) {
  int64_t unlabelled = 0;
  for (const auto& [value, count] : found.pixels) {
    const int32_t label = numbers[value];
    if (label == kNotLabelled) {
      unlabelled += count;
    } else {
      folder.labels[label] += count;
    }
  }
  folder.sample(-1);
  return unlabelled;
}

void report_part(InspectedPart&& inspected, const MaskClasses& numbers,
                 const VerifyOptions& options, ReportBuilder& builder) {
  builder.begin_part(inspected.part.name, 0, 0);
  if (!inspected.failure.empty()) {
    return builder.add_bad({inspected.part.path, 0, std::move(inspected.failure)});
  }
  FileFindings folder = findings_of_folder(inspected.part.path, options);
  for (BadRecord& record : inspected.list.bad) folder.bad.add(std::move(record));
  int64_t unlabelled = 0;
  for (size_t i = 0; i < inspected.findings.size(); ++i) {
    MaskFindings& found = inspected.findings[i];
    const MaskedImage& file = inspected.list.files[i];
    folder.file.bytes += size_of_file(file.image) + size_of_file(file.mask);
    if (found.flaw.empty()) {
      unlabelled += count_pixels(found, numbers, folder);
    } else {
      folder.bad.add({std::move(found.flawed_file), 0, std::move(found.flaw)});
    }
  }
  int64_t pixels = unlabelled;
  for (const auto& [label, count] : folder.labels) pixels += count;
  builder.add(std::move(folder));
  for (std::string& warning : inspected.list.warnings) builder.note(std::move(warning));
  if (unlabelled == 0) return;
  builder.note(concat(inspected.part.name, ": ", with_thousands(unlabelled), " of ",
                      with_thousands(pixels), " pixels are not labelled"));
}

VerifyReport verify_masked(const std::string& path, const VerifyOptions& options) {
  ReportBuilder builder(options);
  std::vector<std::string> names;
  try {
    names = data::read_class_names(path);
  } catch (const IoError& error) {
    builder.add_bad({path, 0, without_place(error.what(), path)});
  }
  std::vector<InspectedPart> parts;
  std::vector<MaskFindings> all;
  for (const PartFolder& part : part_folders(path)) {
    parts.push_back(inspect_part(part, options));
    all.insert(all.end(), parts.back().findings.begin(), parts.back().findings.end());
  }
  const data::NumbersFound found = data::classes_of_masks(all);
  if (found.two_valued) builder.note(data::kTwoValuedNote);
  const MaskClasses numbers = mask_classes(found.two_valued ? 1 : kNotLabelled);
  for (InspectedPart& part : parts) {
    if (!names.empty()) {
      data::check_numbers(part.list.files, names, found.two_valued, part.findings);
    }
    report_part(std::move(part), numbers, options, builder);
  }
  builder.set_classes(std::move(names));
  builder.set_counted("pixels");
  return std::move(builder).finish(path);
}

// The chosen part comes first. The masks of both parts decide what the numbers mean, as for
// training.
MaskFolders read_part_first(const std::string& path, bool test, const ImageFolderOptions& options) {
  std::vector<std::string> folders = {choose_part(path, test).path};
  const std::vector<PartFolder> parts = part_folders(path);
  if (parts.size() > 1) {
    const std::string& other = parts[test ? 0 : 1].path;
    if (data::holds_masks(other)) folders.push_back(other);
  }
  return read_mask_folders(folders, options);
}

Pipeline masked_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const ImageFolderOptions views =
      with_masks({.random_views = true, .seed = options.seed}, {}, path);
  const MaskFolders folders = read_part_first(path, false, views);
  std::vector<std::string> images;
  for (const MaskedImage& file : folders.parts[0]) images.push_back(file.image);
  return picture_file_pipeline(std::move(images),
                               open_masked_images(folders.parts[0], views, folders.numbers),
                               options.seed);
}

Showing show_masked(const std::string& path, const ShowOptions& options) {
  const ImageFolderOptions views = with_masks(shown_views(options), options.augmentation, path);
  const MaskFolders folders = read_part_first(path, options.test, views);
  return {open_masked_images(folders.parts[0], views, folders.numbers), folders.class_names,
          [names = folders.class_names](const Sample& sample) {
            return tile_with_mask(sample, names);
          }};
}

}  // namespace

ImageLayout mask_layout() {
  return {
      .fits = [](const std::string&, const std::string& part) { return data::holds_masks(part); },
      .load = load_masked,
      .verify = verify_masked,
      .pipeline = masked_pipeline,
      .show = show_masked};
}

}  // namespace pando::datasets
