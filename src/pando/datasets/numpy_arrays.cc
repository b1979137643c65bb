// SPDX-License-Identifier: MIT
#include "pando/datasets/numpy_arrays.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/data/image/mask.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/label_table.h"
#include "pando/data/sources/numpy/npy.h"
#include "pando/data/sources/numpy/npz.h"
#include "pando/datasets/tools/places_impl.h"

namespace pando::datasets {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 8> kFeatureWords = {
    "x", "images", "image", "data", "inputs", "features", "pictures", "volumes"};
constexpr std::array<std::string_view, 7> kLabelWords = {"y",      "labels", "label", "targets",
                                                         "target", "masks",  "values"};
constexpr std::array<std::string_view, 5> kPartWords = {"train", "validation", "val", "valid",
                                                        "test"};  // in the order of preference

template <size_t size>
bool has_word(const std::array<std::string_view, size>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// The arrays that a path offers, by name; each is read when it is needed.
struct Offer {
  std::string place;
  std::function<Tensor()> read;
};
using Offers = std::map<std::string, Offer>;

Offers offers_of_archive(const std::string& path) {
  Offers offers;
  const auto archive = std::make_shared<const std::vector<uint8_t>>(data::read_file(path));
  for (const auto& named : data::npz_members(*archive, path)) {
    const data::ZipMember& member = named.second;
    const std::string place = concat(path, ": ", named.first);
    offers[named.first] = {place, [archive, member, place, path] {
                             return data::parse_npy(data::read_zip_member(*archive, member, path),
                                                    place);
                           }};
  }
  return offers;
}

Offers offers_of_folder(const std::string& folder) {
  Offers offers;
  std::vector<std::string> archives;
  for (const std::string& path : files_in(folder, [](const std::string&) { return true; })) {
    const fs::path file = path;
    if (file.extension() == ".npz") archives.push_back(path);
    if (file.extension() == ".npy") {
      offers[file.stem().string()] = {path, [path] { return load_npy(path); }};
    }
  }
  if (offers.empty() && archives.size() == 1) return offers_of_archive(archives[0]);
  if (!offers.empty()) return offers;
  throw IoError(folder, ": expected files such as x_train.npy and y_train.npy, or one .npz file, ",
                "got ", counted(std::ssize(archives), "file"), " *.npz and no *.npy");
}

// The names of the arrays of one part.
struct PartNames {
  std::string x;
  std::string y;
};

std::map<std::string, PartNames> parts_of(const Offers& offers, const std::string& path) {
  std::map<std::string, PartNames> parts;
  for (const auto& [name, offer] : offers) {
    const std::optional<ArrayRole> role = role_of_array(name);
    if (!role) continue;
    std::string& slot = role->labels ? parts[role->part].y : parts[role->part].x;
    if (!slot.empty()) {
      throw IoError(path, ": both ", slot, " and ", name, " are ",
                    role->labels ? "labels" : "features", " of ",
                    role->part.empty() ? "all samples" : role->part, "; expected one of them");
    }
    slot = name;
  }
  return parts;
}

ArrayPart read_part(const Offers& offers, const PartNames& names, const std::string& path) {
  if (names.x.empty() || names.y.empty()) {
    throw IoError(path, ": has ", names.x.empty() ? names.y : names.x, " but no ",
                  names.x.empty() ? "features" : "labels", " for it, such as ",
                  names.x.empty() ? "x_train" : "y_train");
  }
  const Offer& x = offers.at(names.x);
  const Offer& y = offers.at(names.y);
  ArrayPart part{.x = x.read(), .y = y.read(), .x_place = x.place, .y_place = y.place};
  const auto rows = [](const Tensor& tensor) {
    return tensor.shape().rank() == 0 ? 0 : tensor.shape()[0];
  };
  if (rows(part.x) != rows(part.y) || rows(part.x) == 0) {
    throw IoError(part.y_place, ": has labels ", part.y.shape(), " for features ", part.x.shape(),
                  " of ", part.x_place, ", expected one for each sample");
  }
  return part;
}

std::string list_of(const Offers& offers) {
  std::vector<std::string> names;
  for (const auto& [name, offer] : offers) names.push_back(name);
  return join(names, ", ");
}

// --- shapes and types ---

// Requires: f32, with a row for each sample.
void check_finite(const Tensor& tensor, const std::string& place) {
  const std::span<const float> values = tensor.f32();
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  throw IoError(place, ": sample ", (bad - values.begin()) / tensor.shape().elements_from(1),
                " has the value ", *bad, ", expected finite numbers");
}

void shape_features(ArrayPart& part) {
  const Shape shape = part.x.shape();
  if (shape.rank() < 3 || shape.rank() > 5) {
    throw IoError(part.x_place, ": features ", shape,
                  ", expected pictures [samples, height, width] or [samples, height, width, "
                  "channels], or volumes [samples, depth, height, width, channels]");
  }
  if (shape.rank() == 3) {
    part.x = std::move(part.x).reshaped({shape[0], shape[1], shape[2], 1});
  } else if (shape.rank() == 4 && shape[1] <= 4 && shape[3] > 4 && shape[2] > 4) {
    throw IoError(part.x_place, ": features ", shape, " have their channels first, expected them ",
                  "last: save x.transpose(0, 2, 3, 1), of the shape ",
                  Shape{shape[0], shape[2], shape[3], shape[1]});
  }
  if (part.x.dtype() == DType::i32) part.x = cast(part.x, DType::f32);
  if (part.x.dtype() == DType::f32) check_finite(part.x, part.x_place);
}

// The shape of a mask for these features.
Shape mask_shape(const Shape& x) { return Shape(std::vector<int64_t>(x.begin(), x.end() - 1)); }

Shape with_one_channel(const Shape& mask) {
  std::vector<int64_t> dims(mask.begin(), mask.end());
  dims.push_back(1);
  return Shape(dims);
}

bool is_whole(const Tensor& tensor) { return tensor.dtype() != DType::f32; }

std::vector<ArrayPart*> all_parts(NumpyArrays& arrays) {
  std::vector<ArrayPart*> parts = {&arrays.train};
  if (arrays.validation) parts.push_back(&*arrays.validation);
  return parts;
}

// Labels of pixels: bytes may mark pixels as not labelled by 255.
void shape_masks(NumpyArrays& arrays) {
  bool has[2] = {false, false};  // 0, 255
  bool has_other = false;
  for (const ArrayPart* part : all_parts(arrays)) {
    if (part->y.dtype() != DType::u8) has_other = true;
    if (part->y.dtype() != DType::u8) continue;
    for (const uint8_t value : part->y.u8()) {
      has[0] = has[0] || value == 0;
      has[1] = has[1] || value == kNotLabelledInMasks;
      has_other = has_other || (value != 0 && value != kNotLabelledInMasks);
    }
  }
  const bool two_valued = has[0] && has[1] && !has_other;
  if (two_valued) {
    arrays.warnings.push_back(concat(arrays.train.y_place,
                                     ": has only 0 and 255: 255 is read as class 1, while in other "
                                     "masks it marks pixels that are not labelled"));
  }
  const MaskClasses classes = mask_classes(two_valued ? 1 : kNotLabelled);
  for (ArrayPart* part : all_parts(arrays)) {
    Tensor y(DType::i32, mask_shape(part->x.shape()));
    if (part->y.dtype() == DType::u8) {
      std::ranges::transform(part->y.u8(), y.i32().begin(),
                             [&](uint8_t value) { return classes[value]; });
    } else {
      std::ranges::copy(part->y.i32(), y.i32().begin());
    }
    part->y = std::move(y);
  }
}

void shape_class_numbers(NumpyArrays& arrays) {
  for (ArrayPart* part : all_parts(arrays)) {
    if (part->y.dtype() == DType::u8) part->y = cast(part->y, DType::i32);
    part->y = std::move(part->y).reshaped({part->x.shape()[0]});
  }
}

// In masks of bytes, 255 is never a class.
void warn_of_class_255(int64_t classes, NumpyArrays& arrays) {
  if (classes != kNotLabelledInMasks + 1) return;
  arrays.warnings.push_back(concat(arrays.train.y_place,
                                   ": the largest number is 255, which is read as a class; if it "
                                   "marks pixels that are not labelled, save the masks as uint8, "
                                   "or write -1 for them"));
}

// 1 + the largest class. `least` is the smallest number allowed.
int64_t count_classes(NumpyArrays& arrays, int32_t least) {
  int64_t classes = 0;
  for (const ArrayPart* part : all_parts(arrays)) {
    const std::span<const int32_t> labels = part->y.i32();
    for (size_t i = 0; i < labels.size(); ++i) {
      classes = std::max<int64_t>(classes, int64_t{labels[i]} + 1);
      if (labels[i] >= least && labels[i] < data::kMostNumberedClasses) continue;
      const auto each = static_cast<size_t>(part->y.shape().elements_from(1));
      throw IoError(part->y_place, ": sample ", i / each, " has the label ", labels[i],
                    ", expected class numbers from 0 to ", data::kMostNumberedClasses - 1);
    }
  }
  if (classes < 2) {
    throw IoError(arrays.train.y_place, ": all labels are 0, expected at least two classes");
  }
  return classes;
}

// How rows of 0 and 1 are read.
enum class FlagRows { none, one_each, several };

FlagRows flag_rows(const Tensor& y, int64_t columns) {
  if (columns < 2) return FlagRows::none;
  const Tensor values = cast(y, DType::f32);
  FlagRows found = FlagRows::one_each;
  const std::span<const float> all = values.f32();
  for (size_t row = 0; row < all.size(); row += static_cast<size_t>(columns)) {
    int64_t ones = 0;
    for (const float value : all.subspan(row, static_cast<size_t>(columns))) {
      if (value != 0 && value != 1) return FlagRows::none;
      ones += value == 1 ? 1 : 0;
    }
    if (ones != 1) found = FlagRows::several;
  }
  return found;
}

// Rows with a single 1 become class numbers.
void shape_one_hot(NumpyArrays& arrays, int64_t columns) {
  for (ArrayPart* part : all_parts(arrays)) {
    const Tensor values = cast(part->y, DType::f32);
    Tensor y(DType::i32, {part->x.shape()[0]});
    for (size_t row = 0; row < y.i32().size(); ++row) {
      const auto at = values.f32().begin() + static_cast<std::ptrdiff_t>(row) * columns;
      y.i32()[row] = static_cast<int32_t>(std::max_element(at, at + columns) - at);
    }
    part->y = std::move(y);
  }
}

void shape_values(NumpyArrays& arrays, int64_t columns) {
  for (ArrayPart* part : all_parts(arrays)) {
    part->y = cast(part->y, DType::f32).reshaped({part->x.shape()[0], columns});
    check_finite(part->y, part->y_place);
  }
}

// Labels with a row of numbers for each sample.
ArrayTask shape_rows(NumpyArrays& arrays, int64_t columns) {
  FlagRows flags = flag_rows(arrays.train.y, columns);
  if (arrays.validation && flags != FlagRows::none) {
    const FlagRows others = flag_rows(arrays.validation->y, columns);
    if (others != flags) flags = others == FlagRows::none ? others : FlagRows::several;
  }
  if (flags == FlagRows::one_each) {
    shape_one_hot(arrays, columns);
    return {"classification", columns};
  }
  if (flags == FlagRows::none && is_whole(arrays.train.y)) {
    throw IoError(arrays.train.y_place, ": labels ", arrays.train.y.shape(), " for features ",
                  arrays.train.x.shape(),
                  " are whole numbers; expected classes [samples], rows of "
                  "0 and 1 for several classes, a class for each pixel, or real numbers");
  }
  shape_values(arrays, columns);
  return {flags == FlagRows::none ? "regression" : "multilabel", columns};
}

}  // namespace

std::optional<ArrayRole> role_of_array(std::string_view name) {
  const std::string lower = to_lower(name);
  const auto role = [](std::string_view word, std::string_view part) -> std::optional<ArrayRole> {
    if (!part.empty() && !has_word(kPartWords, part)) return std::nullopt;
    if (has_word(kFeatureWords, word)) return ArrayRole{false, std::string(part)};
    if (has_word(kLabelWords, word)) return ArrayRole{true, std::string(part)};
    return std::nullopt;
  };
  const size_t line = lower.find('_');
  if (line == std::string::npos) return role(lower, "");
  const std::string_view first = std::string_view(lower).substr(0, line);
  const std::string_view second = std::string_view(lower).substr(line + 1);
  const std::optional<ArrayRole> found = role(first, second);
  return found && !second.empty() ? found : (first.empty() ? std::nullopt : role(second, first));
}

NumpyArrays read_numpy(const std::string& path) {
  const Offers offers = is_folder(path) ? offers_of_folder(path) : offers_of_archive(path);
  const std::map<std::string, PartNames> parts = parts_of(offers, path);
  const bool divided = parts.contains("train");
  const auto train = parts.find(divided ? "train" : "");
  if (train == parts.end()) {
    throw IoError(path, ": found the arrays ", list_of(offers),
                  "; expected x_train and y_train, or train_images and train_labels, or x and y");
  }
  NumpyArrays arrays{.train = read_part(offers, train->second, path)};
  std::set<std::string> used = {train->second.x, train->second.y};
  for (const std::string_view name : kPartWords) {
    const auto part = parts.find(std::string(name));
    if (!divided || name == "train" || part == parts.end() || arrays.validation) continue;
    arrays.validation = read_part(offers, part->second, path);
    used.insert({part->second.x, part->second.y});
  }
  std::vector<std::string> unused;
  for (const auto& [name, offer] : offers) {
    if (!used.contains(name)) unused.push_back(name);
  }
  if (!unused.empty()) arrays.warnings.push_back(concat(path, ": not read: ", join(unused, ", ")));
  return arrays;
}

ArrayTask shape_arrays(NumpyArrays& arrays) {
  for (ArrayPart* part : all_parts(arrays)) shape_features(*part);
  const auto without_rows = [](const Tensor& tensor) {
    return Shape(std::vector<int64_t>(tensor.shape().begin() + 1, tensor.shape().end()));
  };
  for (const ArrayPart* part : all_parts(arrays)) {
    const bool fits = part->x.dtype() == arrays.train.x.dtype() &&
                      without_rows(part->x) == without_rows(arrays.train.x) &&
                      without_rows(part->y) == without_rows(arrays.train.y) &&
                      is_whole(part->y) == is_whole(arrays.train.y);
    if (fits) continue;
    const auto samples = [&](const ArrayPart& of) {
      return concat(to_string(of.x.dtype()), without_rows(of.x), " with labels ",
                    to_string(of.y.dtype()), without_rows(of.y));
    };
    throw IoError(part->x_place, ": samples ", samples(*part), ", expected those of ",
                  arrays.train.x_place, ": ", samples(arrays.train),
                  "; save both parts with the same shapes and types");
  }
  const Tensor& x = arrays.train.x;
  const Tensor& y = arrays.train.y;
  const int64_t columns = y.elements() / y.shape()[0];
  if (is_whole(y) && columns == 1 && y.shape().rank() <= 2) {
    shape_class_numbers(arrays);
    return {"classification", count_classes(arrays, 0)};
  }
  const Shape mask = mask_shape(x.shape());
  if (is_whole(y) && (y.shape() == mask || y.shape() == with_one_channel(mask))) {
    shape_masks(arrays);
    const int64_t classes = count_classes(arrays, kNotLabelled);
    warn_of_class_255(classes, arrays);
    return {"segmentation", classes};
  }
  if (y.shape().rank() > 2) {
    throw IoError(arrays.train.y_place, ": labels ", to_string(y.dtype()), y.shape(),
                  " for features ", x.shape(),
                  "; expected classes [samples], values [samples, n] or ", "whole numbers ", mask,
                  " for the pixels");
  }
  return shape_rows(arrays, columns);
}

}  // namespace pando::datasets
