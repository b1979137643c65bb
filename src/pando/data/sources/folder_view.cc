// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "pando/data/sources/folder_view_impl.h"
#include "pando/data/sources/gzip.h"

namespace pando::data {

namespace {

constexpr size_t kFlipField = 2;

bool tells_flips(const ImageFolderOptions& options) {
  return options.random_views && options.flip_on_device;
}

}  // namespace

void check_views(const ImageFolderOptions& options, const char* place) {
  if (options.dtype != DType::f32 && options.dtype != DType::u8) {
    throw InvalidArgument(place, ": type ", to_string(options.dtype), ", expected f32 or u8");
  }
  if (options.size.height < 1 || options.size.width < 1) {
    throw InvalidArgument(place, ": size ", options.size, ", expected at least 1x1");
  }
  check_changes(options.augmentation.changes, place);
  if (options.flip_on_device && options.augmentation.changes.any()) {
    throw InvalidArgument(
        place,
        ": flip_on_device: expected false, because pictures are mirrored before they "
        "are changed");
  }
  if (!(options.random_views && options.augmentation.random_box) &&
      options.short_side < std::max(options.size.height, options.size.width)) {
    throw InvalidArgument(place, ": short side ", options.short_side,
                          ", expected at least the size ", options.size);
  }
  if (options.workers < 1) {
    throw InvalidArgument(place, ": ", options.workers, " workers, expected at least 1");
  }
}

std::vector<Field> view_fields(const ImageFolderOptions& options, Field labels) {
  std::vector<Field> fields = {{"x", options.dtype, {options.size.height, options.size.width, 3}},
                               std::move(labels)};
  if (tells_flips(options)) fields.push_back({"flip", DType::u8, {}});
  return fields;
}

TrainViewOptions train_view_options(const ImageFolderOptions& options) {
  return {.size = options.size,
          .box = options.box,
          .flip = options.augmentation.flip,
          .flip_on_device = options.flip_on_device,
          .short_side = options.augmentation.random_box ? 0 : options.short_side};
}

RandomStream view_random(const ImageFolderOptions& options, const SampleView& sample) {
  return sample_random(options.seed, sample.epoch(), sample.index());
}

PictureChanges view_changes(const ImageFolderOptions& options, const SampleView& sample) {
  return draw_changes(options.augmentation.changes, {options.seed, sample.epoch(), sample.index()},
                      options.size);
}

void read_view(ImageReader& reader, const ImageFolderOptions& options, const SampleView& sample,
               Image& scratch, std::span<const ObjectBox> objects) {
  const PixelTarget to = options.dtype == DType::u8 ? PixelTarget(sample.u8(0))
                                                    : PixelTarget(sample.f32(0), options.map);
  if (options.random_views) {
    TrainViewOptions how = train_view_options(options);
    const PictureChanges changes = view_changes(options, sample);
    how.changes = &changes;
    const bool flip =
        read_train_view(reader, view_random(options, sample), objects, how, scratch, to);
    if (tells_flips(options)) sample.u8(kFlipField)[0] = flip ? 1 : 0;
  } else {
    read_eval_view(reader, {.size = options.size, .short_side = options.short_side}, scratch, to);
  }
}

void read_view(const std::string& path, const ImageFolderOptions& options, const SampleView& sample,
               Image& scratch) {
  const std::vector<uint8_t> bytes = read_file(path);
  ImageReader reader(bytes, path, options.limits);
  read_view(reader, options, sample, scratch);
}

}  // namespace pando::data
