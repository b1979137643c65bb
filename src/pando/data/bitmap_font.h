// Capital letters, digits and a few signs of 5x7 pixels, to write captions into images.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace pando::data {

inline constexpr int64_t kGlyphHeight = 7;
inline constexpr int64_t kGlyphWidth = 5;

// The rows of a character from top to bottom; bit 4 is the leftmost pixel. Small letters look like
// capitals; a character that the font lacks is a filled box.
std::array<uint8_t, kGlyphHeight> glyph_rows(char character);

}  // namespace pando::data
