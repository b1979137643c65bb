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

// What is decoded of an image, and the part of it that becomes the view.
ResizeRequest decode_middle(ImageReader& reader, const EvalViewOptions& options, Image& scratch) {
  RealBox box = central_box(reader.size(), options.short_side, options.size);
  const PixelBox needed = with_neighbours(box, reader.size());
  const RealBox decoded = reader.read_region({.box = needed}, scratch);
  box.y += decoded.y - static_cast<double>(needed.y);
  box.x += decoded.x - static_cast<double>(needed.x);
  return {.image = scratch.view(), .box = box, .size = options.size, .look_beyond_box = true};
}

}  // namespace

TrainView choose_train_view(RandomStream random, const ImageSize& image,
                            std::span<const ObjectBox> objects, const TrainViewOptions& options) {
  TrainView view;
  if (options.short_side == 0) view.box = distorted_box(random, image, objects, options.box);
  view.flip = options.flip && random_flip(random);
  return view;
}

bool read_train_view(ImageReader& reader, RandomStream random, std::span<const ObjectBox> objects,
                     const TrainViewOptions& options, Image& scratch, const PixelTarget& to) {
  const TrainView chosen = choose_train_view(random, reader.size(), objects, options);
  ResizeRequest request{.size = options.size};
  if (options.short_side > 0) {
    request =
        decode_middle(reader, {.size = options.size, .short_side = options.short_side}, scratch);
  } else {
    request.box = reader.read_region(
        {.box = chosen.box, .target = options.size, .may_shrink = options.may_shrink}, scratch);
    request.image = scratch.view();
  }
  request.flip = chosen.flip && !options.flip_on_device;
  if (options.changes == nullptr || options.changes->empty()) {
    resize_bilinear(request, to);
    return chosen.flip;
  }
  thread_local Image view;  // keeps its memory from image to image
  view.reset(options.size);
  resize_bilinear(request, PixelTarget(view.pixels));
  change_picture(*options.changes, view);
  crop_flip(view.view(), {}, options.size, to);
  return chosen.flip;
}

void read_eval_view(ImageReader& reader, const EvalViewOptions& options, Image& scratch,
                    const PixelTarget& to) {
  resize_bilinear(decode_middle(reader, options, scratch), to);
}

}  // namespace pando
