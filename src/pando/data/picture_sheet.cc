// SPDX-License-Identifier: MIT
#include "pando/data/picture_sheet.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/data/contact_sheet.h"

namespace pando {
namespace {

ImageSize tile_of(const Shape& shape, int64_t most_side) {
  const int64_t longest = std::max(shape[0], shape[1]);
  if (longest <= most_side) return {shape[0], shape[1]};
  const auto reduced = [&](int64_t side) {
    return std::max<int64_t>(side * most_side / longest, 1);
  };
  return {reduced(shape[0]), reduced(shape[1])};
}

int64_t shown_channels(const Shape& shape) { return shape[2] >= 3 ? 3 : 1; }

// Each pixel of the tile is the mean of the pixels that it covers.
void draw_tile(const Image& from, const PixelBox& at, Image& sheet) {
  const ImageView view = from.view();
  for (int64_t y = 0; y < at.height; ++y) {
    const int64_t top = y * from.size.height / at.height;
    const int64_t bottom = std::max(top + 1, (y + 1) * from.size.height / at.height);
    uint8_t* to = sheet.row(at.y + y) + at.x * sheet.channels;
    for (int64_t i = 0; i < at.width * sheet.channels; ++i) {
      const int64_t x = i / sheet.channels, channel = i % sheet.channels;
      const int64_t left = x * from.size.width / at.width;
      const int64_t right = std::max(left + 1, (x + 1) * from.size.width / at.width);
      int64_t sum = 0;
      for (int64_t row = top; row < bottom; ++row) {
        for (int64_t column = left; column < right; ++column) {
          sum += view.row(row)[column * view.channels + channel];
        }
      }
      to[i] = static_cast<uint8_t>(sum / ((bottom - top) * (right - left)));
    }
  }
}

}  // namespace

bool is_picture(const Shape& shape, DType dtype) {
  return shape.rank() == 3 && shape.elements() > 0 && (dtype == DType::u8 || dtype == DType::f32);
}

int64_t sheet_capacity(const Shape& shape, const PictureSheetOptions& options) {
  const int64_t bytes = tile_of(shape, options.most_side).pixels() * shown_channels(shape);
  return std::max<int64_t>(options.most_bytes / bytes, 1);
}

PictureSheet picture_sheet(const Shape& shape, int64_t count,
                           const std::function<Tensor(int64_t i)>& sample,
                           const PictureSheetOptions& options) {
  PANDO_CHECK(count > 0 && count <= sheet_capacity(shape, options), count);
  PictureSheet sheet{.tile = tile_of(shape, options.most_side), .columns = 1, .image = {}};
  while (sheet.columns * sheet.columns < count) ++sheet.columns;
  const int64_t rows = (count + sheet.columns - 1) / sheet.columns;
  sheet.image.reset({rows * sheet.tile.height, sheet.columns * sheet.tile.width},
                    shown_channels(shape));
  std::ranges::fill(sheet.image.pixels, uint8_t{0});
  for (int64_t i = 0; i < count; ++i) {
    const Image picture = picture_of(sample(i));
    PANDO_CHECK(picture.channels == sheet.image.channels);
    draw_tile(picture,
              {i / sheet.columns * sheet.tile.height, i % sheet.columns * sheet.tile.width,
               sheet.tile.height, sheet.tile.width},
              sheet.image);
  }
  return sheet;
}

}  // namespace pando
