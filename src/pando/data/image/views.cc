// SPDX-License-Identifier: MIT
#include "pando/data/image/views.h"

#include <algorithm>
#include <cmath>

#include "pando/data/image/resize.h"

namespace pando {

namespace {

// The pixels of an image that a box touches, and one more on every side.
PixelBox with_neighbours(const RealBox& box, const ImageSize& image) {
  const auto begin = [](double edge) {
    return std::max<int64_t>(static_cast<int64_t>(std::floor(edge)) - 1, 0);
  };
  const auto end = [](double edge, int64_t size) {
    return std::min(static_cast<int64_t>(std::ceil(edge)) + 1, size);
  };
  const int64_t y = begin(box.y);
  const int64_t x = begin(box.x);
  return {y, x, end(box.y + box.height, image.height) - y, end(box.x + box.width, image.width) - x};
}

}  // namespace

TrainView choose_train_view(RandomStream random, const ImageSize& image,
                            std::span<const ObjectBox> objects, const TrainViewOptions& options) {
  const PixelBox box = distorted_box(random, image, objects, options.box);
  return {.box = box, .flip = options.flip && random_flip(random)};
}

bool read_train_view(ImageReader& reader, RandomStream random, std::span<const ObjectBox> objects,
                     const TrainViewOptions& options, Image& scratch, const PixelTarget& to) {
  const auto [box, flip] = choose_train_view(random, reader.size(), objects, options);
  const RealBox decoded = reader.read_region(
      {.box = box, .target = options.size, .may_shrink = options.may_shrink}, scratch);
  resize_bilinear({.image = scratch.view(),
                   .box = decoded,
                   .size = options.size,
                   .flip = flip && !options.flip_on_device},
                  to);
  return flip;
}

void read_eval_view(ImageReader& reader, const EvalViewOptions& options, Image& scratch,
                    const PixelTarget& to) {
  RealBox box = central_box(reader.size(), options.short_side, options.size);
  const PixelBox needed = with_neighbours(box, reader.size());
  const RealBox decoded = reader.read_region({.box = needed}, scratch);
  box.y += decoded.y - static_cast<double>(needed.y);
  box.x += decoded.x - static_cast<double>(needed.x);
  resize_bilinear(
      {.image = scratch.view(), .box = box, .size = options.size, .look_beyond_box = true}, to);
}

}  // namespace pando
