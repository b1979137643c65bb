// SPDX-License-Identifier: MIT
#include "pando/app/run/picture_input.h"

#include <algorithm>
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

class PictureInput {
 public:
  PictureInput(const PicturePreparation& preparation, DType dtype)
      : preparation_(preparation), dtype_(dtype), map_(linear_map(preparation)) {}

  void read(const std::string& path, const SampleView& to) const {
    const std::vector<uint8_t> bytes = data::read_file(path);
    ImageReader reader(bytes, path);
    const bool is_direct = preparation_.colours == Colours::rgb && !preparation_.standardise;
    if (is_direct) return resize(reader, target(map_, to));
    thread_local Image view;
    view.reset(size());
    resize(reader, PixelTarget(view.pixels));
    write(view, to);
  }

 private:
  ImageSize size() const { return {preparation_.height, preparation_.width}; }

  PixelTarget target(const ChannelMap& map, const SampleView& to) const {
    return dtype_ == DType::u8 ? PixelTarget(to.u8(0)) : PixelTarget(to.f32(0), map);
  }

  void resize(ImageReader& reader, const PixelTarget& to) const {
    thread_local Image scratch;
    if (preparation_.fit == PicturePreparation::Fit::crop) {
      return read_eval_view(reader, {.size = size(), .short_side = preparation_.short_side},
                            scratch, to);
    }
    reader.read(scratch);
    resize_bilinear({.image = scratch.view(), .box = real(whole(scratch.size)), .size = size()},
                    to);
  }

  void write(Image& view, const SampleView& to) const {
    thread_local Image grey;
    const bool is_grey = preparation_.colours == Colours::grey;
    if (is_grey) make_grey(view, grey);
    if (preparation_.colours == Colours::bgr) {
      for (size_t i = 0; i + 2 < view.pixels.size(); i += 3) {
        std::swap(view.pixels[i], view.pixels[i + 2]);
      }
    }
    const Image& picture = is_grey ? grey : view;
    const ChannelMap map = preparation_.standardise ? standardise(picture.view()) : map_;
    crop_flip(picture.view(), {}, size(), target(map, to));
  }

  PicturePreparation preparation_;
  DType dtype_;
  ChannelMap map_;
};

}  // namespace

std::vector<std::string> list_pictures(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!path_exists(path)) {
      throw UsageError("'", path, "' does not exist; expected pictures or folders of pictures");
    }
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    const std::vector<std::string> below = data::files_below(path);
    if (below.empty()) throw UsageError("'", path, "': the folder has no files");
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
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
  if (dtype == DType::u8 && changes_values(preparation)) {
    throw InvalidArgument(
        "pictures: the network takes bytes, so their values cannot be scaled; expected scale 1, "
        "mean 0 and std 1 (--preprocessing none)");
  }
  const Field field{"x", dtype, {preparation.height, preparation.width, preparation.channels()}};
  const auto count = std::ssize(files);
  return Dataset::generate(count, {field},
                           [files = std::move(files), input = PictureInput(preparation, dtype),
                            unread = std::move(unread)](const SampleView& sample) {
                             try {
                               input.read(files[static_cast<size_t>(sample.index())], sample);
                             } catch (const Error& error) {
                               unread->add(sample.index(), error.what());
                             }
                           });
}

}  // namespace pando::app
