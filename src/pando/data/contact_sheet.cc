// SPDX-License-Identifier: MIT
#include "pando/data/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "pando/base/error.h"
#include "pando/data/bitmap_font.h"

namespace pando {

namespace {

constexpr int64_t kGap = 6;                                     // around and between the tiles
constexpr int64_t kCaptionHeight = 2 * data::kGlyphHeight + 4;  // letters are drawn twice as large
static_assert(kCaptionLetterWidth == 2 * (data::kGlyphWidth + 1));
constexpr uint8_t kGround = 32;
constexpr uint8_t kInk = 230;

void check(std::span<const SheetTile> tiles, const ContactSheetOptions& options) {
  if (tiles.empty()) throw InvalidArgument("contact sheet: no tiles");
  if (options.columns < 1) {
    throw InvalidArgument("contact sheet: ", options.columns, " columns, expected at least 1");
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Image& image = tiles[i].image;
    if (image.size.pixels() < 1 || (image.channels != 1 && image.channels != 3)) {
      throw InvalidArgument("contact sheet: picture ", i, " is ", image.size, " with ",
                            image.channels, " channels, expected pixels with 1 or 3");
    }
  }
}

// Every pixel becomes a square with sides of `factor` pixels.
void draw_picture(const Image& picture, int64_t factor, const PixelBox& at, Image& sheet) {
  const ImageView view = picture.view();
  for (int64_t y = 0; y < at.height; ++y) {
    uint8_t* to = sheet.row(at.y + y) + 3 * at.x;
    const uint8_t* from = view.row(y / factor);
    for (int64_t x = 0; x < at.width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        to[3 * x + c] = from[x / factor * view.channels + (view.channels == 3 ? c : 0)];
      }
    }
  }
}

void draw_letter(char letter, int64_t y, int64_t x, Image& sheet) {
  const auto rows = data::glyph_rows(letter);
  for (int64_t dy = 0; dy < 2 * data::kGlyphHeight; ++dy) {
    for (int64_t dx = 0; dx < 2 * data::kGlyphWidth; ++dx) {
      const int row = rows[static_cast<size_t>(dy / 2)];
      if ((row >> (data::kGlyphWidth - 1 - dx / 2) & 1) == 0) continue;
      std::fill_n(sheet.row(y + dy) + 3 * (x + dx), 3, kInk);
    }
  }
}

struct Layout {
  ImageSize tile;  // the largest picture, enlarged
  int64_t factor = 1;
  int64_t columns = 1;
  int64_t rows = 1;

  int64_t y_of(int64_t i) const {
    return kGap + i / columns * (tile.height + kCaptionHeight + kGap);
  }
  int64_t x_of(int64_t i) const { return kGap + i % columns * (tile.width + kGap); }
};

Layout layout_of(std::span<const SheetTile> tiles, const ContactSheetOptions& options) {
  Layout layout;
  for (const SheetTile& tile : tiles) {
    layout.tile.height = std::max(layout.tile.height, tile.image.size.height);
    layout.tile.width = std::max(layout.tile.width, tile.image.size.width);
  }
  layout.factor =
      std::max<int64_t>((options.min_tile + layout.tile.width - 1) / layout.tile.width, 1);
  layout.tile.height *= layout.factor;
  layout.tile.width *= layout.factor;
  const auto count = static_cast<int64_t>(tiles.size());
  layout.columns = std::min(options.columns, count);
  layout.rows = (count + layout.columns - 1) / layout.columns;
  return layout;
}

std::string caption_of(const Tensor& label, std::span<const std::string> classes) {
  int64_t value = 0;
  if (label.dtype() == DType::i32 && label.elements() == 1) {
    value = label.i32()[0];
  } else if (label.dtype() == DType::u8 && label.elements() == 1) {
    value = label.u8()[0];
  } else if (label.dtype() == DType::f32 && label.elements() > 0) {
    const auto values = label.f32();
    value = std::max_element(values.begin(), values.end()) - values.begin();
  } else {
    return {};
  }
  const bool named = value >= 0 && value < static_cast<int64_t>(classes.size());
  return named ? classes[static_cast<size_t>(value)] : std::to_string(value);
}

}  // namespace

Image contact_sheet(std::span<const SheetTile> tiles, const ContactSheetOptions& options) {
  check(tiles, options);
  const Layout layout = layout_of(tiles, options);
  const int64_t height = layout.y_of(layout.rows * layout.columns);
  const int64_t width = kGap + layout.columns * (layout.tile.width + kGap);
  Image sheet({height, width});
  std::fill(sheet.pixels.begin(), sheet.pixels.end(), kGround);
  for (size_t i = 0; i < tiles.size(); ++i) {
    const SheetTile& tile = tiles[i];
    const int64_t y = layout.y_of(static_cast<int64_t>(i));
    const int64_t x = layout.x_of(static_cast<int64_t>(i));
    draw_picture(
        tile.image, layout.factor,
        {y, x, tile.image.size.height * layout.factor, tile.image.size.width * layout.factor},
        sheet);
    const auto letters = static_cast<size_t>(layout.tile.width / kCaptionLetterWidth);
    for (size_t k = 0; k < std::min(letters, tile.caption.size()); ++k) {
      draw_letter(tile.caption[k], y + layout.tile.height + 2,
                  x + static_cast<int64_t>(k) * kCaptionLetterWidth, sheet);
    }
  }
  return sheet;
}

Image picture_of(const Tensor& x) {
  const Shape& shape = x.shape();
  const bool known = x.dtype() == DType::u8 || x.dtype() == DType::f32;
  if (!known || shape.rank() != 3 || x.empty()) {
    throw InvalidArgument("picture of a sample: ", to_string(x.dtype()), shape,
                          ", expected u8 or f32 [height, width, channels]");
  }
  Image image({shape[0], shape[1]}, shape[2] >= 3 ? 3 : 1);
  float least = 0;
  float scale = 1;
  if (x.dtype() == DType::f32) {
    const auto [low, high] = std::minmax_element(x.f32().begin(), x.f32().end());
    least = *low;
    scale = *high > *low ? 255.0f / (*high - *low) : 0.0f;
  }
  const auto channels = static_cast<size_t>(shape[2]);
  const auto shown = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const size_t at = i / shown * channels + i % shown;
    image.pixels[i] = x.dtype() == DType::u8
                          ? x.u8()[at]
                          : static_cast<uint8_t>(std::lround((x.f32()[at] - least) * scale));
  }
  return image;
}

std::vector<SheetTile> tiles_of(const Dataset& dataset, const SampleChoice& samples,
                                std::span<const std::string> classes) {
  std::vector<SheetTile> tiles;
  for (const int64_t index : samples.indices) {
    const Sample sample = dataset.get(index, samples.epoch);
    const bool labelled = sample.fields.size() > 1;
    tiles.push_back(
        {picture_of(sample.x()), labelled ? caption_of(sample.y(), classes) : std::string()});
  }
  return tiles;
}

}  // namespace pando
