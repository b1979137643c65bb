#include "pando/data/contact_sheet.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "pando/data/bitmap_font.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

Image flat(const ImageSize& size, uint8_t value, int64_t channels = 3) {
  Image image(size, channels);
  std::fill(image.pixels.begin(), image.pixels.end(), value);
  return image;
}

TEST(BitmapFont, HasADifferentGlyphForEveryCharacter) {
  const std::string characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -_.,:/()";
  std::set<std::array<uint8_t, data::kGlyphHeight>> glyphs;
  for (const char character : characters) {
    const auto glyph = data::glyph_rows(character);
    for (const uint8_t row : glyph) EXPECT_LT(row, 32);
    glyphs.insert(glyph);
  }
  glyphs.insert(data::glyph_rows('~'));  // an unknown character
  EXPECT_EQ(glyphs.size(), characters.size() + 1);
  EXPECT_EQ(data::glyph_rows('q'), data::glyph_rows('Q'));
}

TEST(ContactSheet, PutsTilesInReadingOrder) {
  const std::vector<SheetTile> tiles = {
      {flat({2, 3}, 100), ""}, {flat({2, 3}, 150, 1), ""}, {flat({2, 3}, 200), ""}};
  const Image sheet = contact_sheet(tiles, {.columns = 2, .min_tile = 3});
  EXPECT_EQ(sheet.size, (ImageSize{2 * (6 + 2 + 18) + 6, 2 * (6 + 3) + 6}));
  const auto at = [&](int64_t y, int64_t x) { return sheet.view().row(y)[3 * x]; };
  EXPECT_EQ(at(6, 6), 100);
  EXPECT_EQ(at(7, 8), 100);
  EXPECT_EQ(at(6, 15), 150);
  EXPECT_EQ(at(32, 6), 200);
  EXPECT_EQ(at(5, 6), 32);  // the background
  EXPECT_EQ(at(6, 9), 32);
  EXPECT_EQ(at(32, 15), 32);  // no fourth tile
}

TEST(ContactSheet, EnlargesSmallPicturesAndWritesCaptions) {
  const std::vector<SheetTile> tiles = {{flat({32, 32}, 0), "1"}};
  const Image sheet = contact_sheet(tiles);
  EXPECT_EQ(sheet.size, (ImageSize{6 + 96 + 18 + 6, 6 + 96 + 6}));
  // The digit 1 from row 104 on: its stem is column 2 of 5, each two pixels wide.
  const auto at = [&](int64_t y, int64_t x) { return sheet.view().row(y)[3 * x + 1]; };
  EXPECT_EQ(at(101, 101), 0);
  EXPECT_EQ(at(104, 10), 230);
  EXPECT_EQ(at(104, 11), 230);
  EXPECT_EQ(at(104, 9), 32);
  EXPECT_EQ(at(117, 8), 230);  // its foot
  EXPECT_EQ(at(118, 8), 32);
}

TEST(ContactSheet, CutsLongCaptions) {
  const std::vector<SheetTile> tiles = {{flat({96, 96}, 0), std::string(200, 'W')},
                                        {flat({96, 96}, 0), ""}};
  const Image sheet = contact_sheet(tiles);
  for (int64_t y = 104; y < 120; ++y) {
    for (int64_t x = 102; x < sheet.size.width; ++x) {
      ASSERT_EQ(sheet.view().row(y)[3 * x], 32) << y << ", " << x;
    }
  }
}

TEST(ContactSheet, ChecksItsArguments) {
  EXPECT_SAYS(error_of([] { contact_sheet({}); }), "sheet", "tiles");
  const std::vector<SheetTile> good = {{flat({1, 1}, 0), ""}};
  EXPECT_SAYS(error_of([&] { contact_sheet(good, {.columns = 0}); }), "sheet", "0 columns",
              "at least 1");
  const std::vector<SheetTile> bad = {{flat({1, 1}, 0, 2), ""}};
  EXPECT_SAYS(error_of([&] { contact_sheet(bad); }), "sheet", "picture 0", "1x1", "2 channels",
              "1 or 3");
}

TEST(PictureOf, StretchesFloatsAndKeepsBytes) {
  const Image stretched = picture_of(Tensor::of_f32({1, 3, 1}, {-1, 0, 3}));
  EXPECT_EQ(stretched.channels, 1);
  EXPECT_EQ(stretched.pixels, (Bytes{0, 64, 255}));
  EXPECT_EQ(picture_of(Tensor::of_f32({1, 2, 1}, {5, 5})).pixels, (Bytes{0, 0}));
  Tensor bytes(DType::u8, {1, 2, 4});
  for (size_t i = 0; i < 8; ++i) bytes.u8()[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(picture_of(bytes).pixels, (Bytes{0, 1, 2, 4, 5, 6}));
  EXPECT_SAYS(error_of([] {
                picture_of(Tensor(DType::f32, {4, 4}));
              }),
              "f32[4,4]", "u8 or f32", "[height");
}

TEST(TilesOf, NamesTheLabels) {
  const Dataset numbered =
      Dataset::from_tensors(Tensor(DType::f32, {3, 2, 2, 1}), Tensor::of_i32({3}, {0, 1, 7}));
  const std::vector<std::string> classes = {"cat", "dog"};
  const std::vector<int64_t> indices = {2, 1};
  const std::vector<SheetTile> tiles = tiles_of(numbered, {.indices = indices}, classes);
  ASSERT_EQ(tiles.size(), 2u);
  EXPECT_EQ(tiles[0].caption, "7");
  EXPECT_EQ(tiles[1].caption, "dog");
  const Dataset coded = one_hot(numbered, 8);
  EXPECT_EQ(tiles_of(coded, {.indices = indices})[0].caption, "7");
  const Dataset plain = Dataset::from_tensors(Tensor(DType::f32, {3, 2, 2, 1}));
  EXPECT_EQ(tiles_of(plain, {.indices = indices})[0].caption, "");
}

}  // namespace
}  // namespace pando
