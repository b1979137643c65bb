// SPDX-License-Identifier: MIT
#include "pando/app/run/picture_input.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/data/image/resize.h"
#include "pando/data/image/views.h"
#include "pando/data/sources/clutter.h"
#include "pando/data/sources/gzip.h"

namespace pando::app {

namespace {

using Colours = PicturePreparation::Colours;

ChannelMap linear_map(const PicturePreparation& preparation) {
  ChannelMap map;
  const auto channel = [](const std::vector<double>& values, size_t c) {
    return values[values.size() == 1 ? 0 : c];
  };
  for (size_t c = 0; c < static_cast<size_t>(preparation.channels()); ++c) {
    // In the order of normalise_channels(): the same bits as in training.
    const auto mean = static_cast<float>(channel(preparation.mean, c));
    const auto std = static_cast<float>(channel(preparation.std, c));
    const auto divisor = static_cast<float>(1 / preparation.scale);
    map.scale[c] = 1.0f / (divisor * std);
    map.shift[c] = -mean / std;
  }
  return map;
}

bool changes_values(const PicturePreparation& p) {
  const auto all = [](const std::vector<double>& values, double wanted) {
    return std::ranges::all_of(values, [=](double value) { return value == wanted; });
  };
  return p.standardise || p.scale != 1 || !all(p.mean, 0) || !all(p.std, 1);
}

// Grey as PIL's convert("L"): the weights add up to 2^16, so that a grey picture stays as it is.
void make_grey(const Image& colour, Image& grey) {
  grey.reset(colour.size, 1);
  for (size_t i = 0; i < grey.pixels.size(); ++i) {
    const uint8_t* rgb = colour.pixels.data() + 3 * i;
    grey.pixels[i] =
        static_cast<uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
  }
}

}  // namespace

PictureInput::PictureInput(const PicturePreparation& preparation, DType dtype,
                           const DecodeLimits& limits)
    : preparation_(preparation), dtype_(dtype), limits_(limits), map_(linear_map(preparation)) {
  if (dtype == DType::u8 && changes_values(preparation)) {
    throw InvalidArgument(
        "pictures: the network takes bytes, so their values cannot be scaled; expected scale 1, "
        "mean 0 and std 1 (--preprocessing none)");
  }
}

size_t PictureInput::row_bytes() const {
  const int64_t values = preparation_.height * preparation_.width * preparation_.channels();
  return static_cast<size_t>(values) * size_of(dtype_);
}

PixelTarget PictureInput::target(const ChannelMap& map, std::byte* row) const {
  const size_t values = row_bytes() / size_of(dtype_);
  if (dtype_ == DType::u8) return PixelTarget({reinterpret_cast<uint8_t*>(row), values});
  return {{reinterpret_cast<float*>(row), values}, map};
}

void PictureInput::read(std::span<const uint8_t> bytes, const std::string& place,
                        std::byte* row) const {
  ImageReader reader(bytes, place, limits_);
  const bool is_direct = preparation_.colours == Colours::rgb && !preparation_.standardise;
  if (is_direct) return resize(reader, target(map_, row));
  thread_local Image view;
  view.reset(size());
  resize(reader, PixelTarget(view.pixels));
  thread_local Image grey;
  const bool is_grey = preparation_.colours == Colours::grey;
  if (is_grey) make_grey(view, grey);
  if (preparation_.colours == Colours::bgr) {
    for (size_t i = 0; i + 2 < view.pixels.size(); i += 3) {
      std::swap(view.pixels[i], view.pixels[i + 2]);
    }
  }
  write((is_grey ? grey : view).view(), row);
}

void PictureInput::take_pixels(const uint8_t* pixels, std::byte* row) const {
  write({pixels, size(), preparation_.channels()}, row);
}

void PictureInput::resize(ImageReader& reader, const PixelTarget& to) const {
  thread_local Image scratch;
  if (preparation_.fit == PicturePreparation::Fit::crop) {
    return read_eval_view(reader, {.size = size(), .short_side = preparation_.short_side}, scratch,
                          to);
  }
  reader.read(scratch);
  resize_bilinear({.image = scratch.view(), .box = real(whole(scratch.size)), .size = size()}, to);
}

void PictureInput::write(const ImageView& picture, std::byte* row) const {
  const ChannelMap map = preparation_.standardise ? standardise(picture) : map_;
  crop_flip(picture, {}, size(), target(map, row));
}

std::vector<std::string> list_pictures(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::string wrong;  // about the first path that has no picture
  bool any = false;
  for (const std::string& path : paths) {
    const std::vector<std::string> below =
        is_folder(path) ? data::files_below(path) : std::vector{path};
    files.insert(files.end(), below.begin(), below.end());
    if (below.empty()) files.push_back(path);
    const bool exists = path_exists(path);
    any = any || (exists && !below.empty());
    if (!wrong.empty() || (exists && !below.empty())) continue;
    wrong = exists
                ? concat("'", path, "': the folder has no files")
                : concat("'", path, "' does not exist; expected pictures or folders of pictures");
  }
  if (!any) throw UsageError(wrong);
  return files;
}

ImageSize input_size(const std::string& file, const SizeChoice& choice) {
  const std::vector<uint8_t> bytes = data::read_file(file);
  const ImageSize own = ImageReader(bytes, file).size();
  const auto rounded = [&](double side) {
    const auto multiples =
        static_cast<int64_t>(std::llround(side / static_cast<double>(choice.multiple)));
    return std::max<int64_t>(multiples, 1) * choice.multiple;
  };
  const auto height = static_cast<double>(own.height);
  const auto width = static_cast<double>(own.width);
  if (choice.height > 0 && choice.width > 0) return {choice.height, choice.width};
  if (choice.height > 0) {
    return {choice.height, rounded(width * static_cast<double>(choice.height) / height)};
  }
  if (choice.width > 0) {
    return {rounded(height * static_cast<double>(choice.width) / width), choice.width};
  }
  return {rounded(height), rounded(width)};
}

bool has_input_size(const std::string& file, const SizeChoice& choice, const ImageSize& size) {
  try {
    return input_size(file, choice) == size;
  } catch (const Error&) {
    return false;
  }
}

void UnreadPictures::add(int64_t index, const std::string& why) {
  const std::scoped_lock lock(mutex_);
  why_[index] = why;
}

std::map<int64_t, std::string> UnreadPictures::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(why_, {});
}

Dataset open_pictures(std::vector<std::string> files, const PicturePreparation& preparation,
                      DType dtype, std::shared_ptr<UnreadPictures> unread) {
  const Field field{"x", dtype, {preparation.height, preparation.width, preparation.channels()}};
  const auto count = std::ssize(files);
  return Dataset::generate(count, {field},
                           [files = std::move(files), input = PictureInput(preparation, dtype),
                            unread = std::move(unread)](const SampleView& sample) {
                             const std::string& file = files[static_cast<size_t>(sample.index())];
                             try {
                               input.read(data::read_file(file), file, sample.data(0));
                             } catch (const Error& error) {
                               unread->add(sample.index(), error.what());
                             }
                           });
}

}  // namespace pando::app
