// SPDX-License-Identifier: MIT
#include "pando/data/sources/mask_folder.h"

#include <algorithm>
#include <bitset>
#include <filesystem>
#include <map>
#include <memory>

#include "pando/base/paths.h"
#include "pando/data/image/exif.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/clutter.h"
#include "pando/data/sources/folder_view_impl.h"
#include "pando/data/sources/gzip.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

using data::MaskedImage;
using data::MaskFindings;

constexpr const char* kImages = "images";
constexpr const char* kMasks = "masks";

// Paths below a folder without their endings, each with its file.
std::map<std::string, std::string> files_by_stem(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const std::string& path : data::files_below(folder.string())) {
    const std::string stem = fs::path(path).lexically_relative(folder).replace_extension().string();
    const auto [found, is_new] = files.emplace(stem, path);
    if (!is_new) {
      throw IoError(path, ": ", found->second,
                    " has the same name but for the ending, so that pictures and masks cannot be "
                    "matched; expected one of them");
    }
  }
  return files;
}

// The mask of a picture with the right size, turned like the picture.
void read_mask_of(const MaskedImage& file, std::span<const uint8_t> picture, const ImageSize& size,
                  const DecodeLimits& limits, Image& mask) {
  read_mask(data::read_file(file.mask), file.mask, limits, mask);
  const data::Turn turn = data::turn_of_image(picture);
  if (turn != data::Turn() && data::turned(mask.size, turn) == size) {
    Image upright;
    data::turn_pixels(mask, turn, upright);
    mask = std::move(upright);
  }
  if (mask.size != size) {
    throw IoError(file.mask, ": the mask has ", mask.size, " pixels, expected the ", size,
                  " of its picture ", file.image);
  }
}

class MaskedImageSource : public DataSource {
 public:
  MaskedImageSource(std::vector<MaskedImage> files, const ImageFolderOptions& options,
                    const MaskClasses& numbers)
      : DataSource(data::view_fields(options,
                                     {"y", DType::i32, {options.size.height, options.size.width}}),
                   static_cast<int64_t>(files.size())),
        files_(std::move(files)),
        options_(options),
        numbers_(numbers) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    Image scratch;
    Image mask;
    for (size_t i = 0; i < indices.size(); ++i) {
      const SampleView sample(fields(), rows, static_cast<int64_t>(i), {epoch, indices[i]});
      const MaskedImage& file = files_[static_cast<size_t>(indices[i])];
      const std::vector<uint8_t> bytes = data::read_file(file.image);
      ImageReader reader(bytes, file.image, options_.limits);
      read_mask_of(file, bytes, reader.size(), options_.limits, mask);
      data::read_view(reader, options_, sample, scratch);
      resize_mask(view_of(mask, sample), numbers_, sample.i32(1));
      if (!options_.random_views) continue;
      change_mask(data::view_changes(options_, sample), options_.size, sample.i32(1));
    }
  }

 private:
  MaskView view_of(const Image& mask, const SampleView& sample) const {
    const bool middle = !options_.random_views || !options_.augmentation.random_box;
    const TrainView view = options_.random_views
                               ? choose_train_view(data::view_random(options_, sample), mask.size,
                                                   {}, data::train_view_options(options_))
                               : TrainView{};
    const RealBox box =
        middle ? central_box(mask.size, options_.short_side, options_.size) : real(view.box);
    return {mask.view(), box, options_.size, view.flip};
  }

  std::vector<MaskedImage> files_;
  ImageFolderOptions options_;
  MaskClasses numbers_;
};

// The findings about the files of one part, and what is wrong with them.
struct ReadPart {
  data::MaskList list;
  std::vector<MaskFindings> findings;
};

ReadPart read_part(const std::string& folder, const ImageFolderOptions& options) {
  const bool skips = options.on_bad_record == OnBadRecord::skip;
  ReadPart part{.list = data::list_masks(folder), .findings = {}};
  if (!skips && !part.list.bad.empty()) {
    const BadRecord& first = part.list.bad.front();
    const auto others = std::ssize(part.list.bad) - 1;
    throw IoError(
        first.file, ": ", first.why,
        others == 0 ? "" : concat("; ", counted(others, "other picture"), " lack theirs"));
  }
  part.findings.resize(part.list.files.size());
  data::for_each_item(part.list.files.size(), options.workers, [&](size_t i) {
    MaskFindings& found = part.findings[i];
    found = data::inspect_mask(part.list.files[i], options.limits, skips);
    if (!skips && !found.flaw.empty()) throw IoError(found.flawed_file, ": ", found.flaw);
  });
  return part;
}

// Moves the good files of a part to the result, and lists the bad ones.
void take_good(ReadPart&& part, bool skips, MaskFolders& folders) {
  std::vector<MaskedImage> good;
  std::vector<BadRecord> bad = std::move(part.list.bad);
  for (size_t i = 0; i < part.findings.size(); ++i) {
    MaskFindings& found = part.findings[i];
    if (found.flaw.empty()) {
      good.push_back(std::move(part.list.files[i]));
      continue;
    }
    if (!skips) throw IoError(found.flawed_file, ": ", found.flaw);
    bad.push_back({std::move(found.flawed_file), 0, std::move(found.flaw)});
  }
  folders.parts.push_back(std::move(good));
  std::ranges::stable_sort(bad, {}, &BadRecord::file);
  folders.bad.insert(folders.bad.end(), bad.begin(), bad.end());
  folders.warnings.insert(folders.warnings.end(), part.list.warnings.begin(),
                          part.list.warnings.end());
}

void check_result(const std::vector<std::string>& folders, const MaskFolders& result) {
  for (size_t i = 0; i < folders.size(); ++i) {
    if (!result.parts[i].empty()) continue;
    throw IoError(folders[i], ": none of its pictures can be read with its mask",
                  result.bad.empty() ? "" : "; the first: ",
                  result.bad.empty() ? "" : to_string(result.bad.front()));
  }
  if (result.classes >= 2) return;
  throw IoError(folders.front(), ": all pixels of its masks are ",
                result.classes == 0 ? "255, not labelled" : "class 0",
                "; expected at least two classes, or their names in labels.txt");
}

}  // namespace

MaskFolders read_mask_folders(const std::vector<std::string>& parts,
                              const ImageFolderOptions& options) {
  data::check_views(options);
  MaskFolders result{.class_names = options.classes};
  std::vector<ReadPart> read;
  std::vector<MaskFindings> all;
  for (const std::string& folder : parts) {
    read.push_back(read_part(folder, options));
    all.insert(all.end(), read.back().findings.begin(), read.back().findings.end());
  }
  const data::NumbersFound found = data::classes_of_masks(all);
  const bool named = !options.classes.empty();
  result.classes = named ? std::ssize(options.classes) : found.classes;
  if (found.two_valued) {
    result.numbers = mask_classes(1);
    result.warnings.emplace_back(data::kTwoValuedNote);
  }
  for (ReadPart& part : read) {
    if (named) {
      data::check_numbers(part.list.files, options.classes, found.two_valued, part.findings);
    }
    take_good(std::move(part), options.on_bad_record == OnBadRecord::skip, result);
  }
  check_result(parts, result);
  return result;
}

Dataset open_masked_images(std::vector<MaskedImage> files, const ImageFolderOptions& options,
                           const MaskClasses& numbers) {
  data::check_views(options);
  return Dataset(std::make_shared<MaskedImageSource>(std::move(files), options, numbers));
}

namespace data {

bool holds_masks(const std::string& folder) {
  return is_folder(fs::path(folder) / kImages) && is_folder(fs::path(folder) / kMasks);
}

MaskList list_masks(const std::string& folder) {
  const fs::path images = fs::path(folder) / kImages;
  const fs::path masks_folder = fs::path(folder) / kMasks;
  MaskList list;
  std::map<std::string, std::string> masks = files_by_stem(masks_folder);
  for (const auto& [stem, image] : files_by_stem(images)) {
    const auto mask = masks.find(stem);
    if (mask == masks.end()) {
      list.bad.push_back(
          {image, 0,
           concat("has no mask, expected the file ", (masks_folder / (stem + ".png")).string())});
      continue;
    }
    list.files.push_back({image, mask->second});
    masks.erase(mask);
  }
  if (list.files.empty() && list.bad.empty()) {
    throw IoError(images.string(), ": has no pictures, expected JPEG and PNG images");
  }
  if (!masks.empty()) {
    list.warnings.push_back(concat(masks_folder.string(), ": ", counted(std::ssize(masks), "mask"),
                                   " without a picture, such as ", masks.begin()->second));
  }
  for (const std::string& name : folders_inside(folder)) {
    if (name == kImages || name == kMasks) continue;
    list.warnings.push_back(concat("the folder ", (fs::path(folder) / name).string(),
                                   " is not read: images and masks stand beside it"));
  }
  return list;
}

MaskFindings inspect_mask(const MaskedImage& file, const DecodeLimits& limits, bool picture) {
  MaskFindings found{.flawed_file = file.mask};
  try {
    Image mask;
    if (picture) {
      found.flawed_file = file.image;
      const std::vector<uint8_t> bytes = read_file(file.image);
      ImageReader reader(bytes, file.image, limits);
      Image pixels;
      reader.read(pixels);
      found.flawed_file = file.mask;
      read_mask_of(file, bytes, reader.size(), limits, mask);
    } else {
      read_mask(read_file(file.mask), file.mask, limits, mask);
    }
    std::array<int64_t, 256> counts{};
    for (const uint8_t value : mask.pixels) ++counts[value];
    for (size_t value = 0; value < counts.size(); ++value) {
      if (counts[value] > 0) found.pixels.emplace_back(static_cast<uint8_t>(value), counts[value]);
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    found.flaw = without_place(error.what(), found.flawed_file);
  }
  return found;
}

NumbersFound classes_of_masks(const std::vector<MaskFindings>& findings) {
  std::bitset<256> values;
  for (const MaskFindings& found : findings) {
    for (const auto& [value, count] : found.pixels) values.set(value);
  }
  NumbersFound result{.two_valued = values.count() == 2 && values.test(0) &&
                                    values.test(kNotLabelledInMasks)};
  if (result.two_valued) return {.two_valued = true, .classes = 2};
  for (int64_t value = 0; value < kNotLabelledInMasks; ++value) {
    if (values.test(static_cast<size_t>(value))) result.classes = value + 1;
  }
  return result;
}

void check_numbers(const std::vector<MaskedImage>& files, const std::vector<std::string>& names,
                   bool two_valued, std::vector<MaskFindings>& findings) {
  for (size_t i = 0; i < findings.size(); ++i) {
    MaskFindings& found = findings[i];
    if (!found.flaw.empty()) continue;
    for (const auto& [value, count] : found.pixels) {
      const int number = two_valued && value == kNotLabelledInMasks ? 1 : value;
      if (number < std::ssize(names) || number == kNotLabelledInMasks) continue;
      found.flawed_file = files[i].mask;
      found.flaw =
          concat("the mask has class number ", number, " (", count, " pixels), expected 0 to ",
                 names.size() - 1, ", as there are ", names.size(),
                 " names of classes, or 255 for pixels that are not labelled");
    }
  }
}

}  // namespace data

}  // namespace pando
