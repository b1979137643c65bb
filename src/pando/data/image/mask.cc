// SPDX-License-Identifier: MIT
#include "pando/data/image/mask.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/image/jpeg.h"
#include "pando/data/image/png.h"

namespace pando {

namespace {

// The rows or columns of a mask whose classes the rows or columns of the target get.
std::vector<int64_t> nearest_places(double begin, double extent, int64_t count, int64_t size) {
  std::vector<int64_t> places(static_cast<size_t>(count));
  const double step = extent / static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double centre = begin + (static_cast<double>(i) + 0.5) * step;
    places[static_cast<size_t>(i)] =
        std::clamp<int64_t>(static_cast<int64_t>(std::floor(centre)), 0, size - 1);
  }
  return places;
}

void check_view(const MaskView& view, size_t elements) {
  const RealBox& box = view.box;
  const auto height = static_cast<double>(view.mask.size.height);
  const auto width = static_cast<double>(view.mask.size.width);
  const bool inside = box.y >= 0 && box.x >= 0 && box.height > 0 && box.width > 0 &&
                      box.y + box.height <= height + 1e-6 && box.x + box.width <= width + 1e-6;
  if (view.mask.channels != 1 || !inside) {
    throw InvalidArgument("resize mask: expected a mask of one channel with the box inside, got ",
                          view.mask.size, " with ", view.mask.channels, " channels and a box of ",
                          box.height, "x", box.width, " at row ", box.y, ", column ", box.x);
  }
  if (view.size.height < 1 || view.size.width < 1 ||
      elements != static_cast<size_t>(view.size.pixels())) {
    throw InvalidArgument("resize mask: expected a target for ", view.size, " pixels, got ",
                          elements, " elements");
  }
}

}  // namespace

void read_mask(std::span<const uint8_t> bytes, const std::string& place, const DecodeLimits& limits,
               Image& into) {
  if (!data::looks_like_png(bytes)) {
    throw IoError(place, ": a mask has a class number for each pixel: expected a PNG image, got ",
                  data::looks_like_jpeg(bytes) ? "a JPEG image, whose numbers are not exact"
                                               : "another file");
  }
  data::read_png_numbers(bytes, place, limits, into);
}

MaskClasses mask_classes(int32_t last) {
  MaskClasses classes{};
  for (size_t value = 0; value < classes.size(); ++value) {
    classes[value] = static_cast<int32_t>(value);
  }
  classes[kNotLabelledInMasks] = last;
  return classes;
}

void resize_mask(const MaskView& view, const MaskClasses& classes, std::span<int32_t> to) {
  check_view(view, to.size());
  const std::vector<int64_t> rows =
      nearest_places(view.box.y, view.box.height, view.size.height, view.mask.size.height);
  std::vector<int64_t> columns =
      nearest_places(view.box.x, view.box.width, view.size.width, view.mask.size.width);
  if (view.flip) std::ranges::reverse(columns);
  int32_t* at = to.data();
  for (const int64_t row : rows) {
    const uint8_t* from = view.mask.row(row);
    for (const int64_t column : columns) *at++ = classes[from[column]];
  }
}

std::array<uint8_t, 3> class_colour(int32_t label) {
  if (label < 0) return {224, 224, 192};
  // The lowest three bits of the number are the highest bits of red, green and blue, and so on.
  std::array<uint8_t, 3> colour = {0, 0, 0};
  for (int bit = 7; bit >= 0 && label != 0; --bit, label >>= 3) {
    for (size_t c = 0; c < 3; ++c) {
      colour[c] = static_cast<uint8_t>(colour[c] | (label >> c & 1) << bit);
    }
  }
  return colour;
}

Image picture_of_mask(std::span<const int32_t> labels, const ImageSize& size) {
  PANDO_CHECK(labels.size() == static_cast<size_t>(size.pixels()), labels.size(), " ", size);
  Image image(size);
  uint8_t* to = image.pixels.data();
  for (const int32_t label : labels) to = std::ranges::copy(class_colour(label), to).out;
  return image;
}

}  // namespace pando
