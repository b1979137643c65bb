// Pictures and masks seen through an affine map: rotated, sheared, moved. A
// picture and its mask go through the same map.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "pando/data/image/image.h"

namespace pando {

// The pixel whose centre is (x, y) shows what the source has at (a[0] x + a[1] y + a[2],
// a[3] x + a[4] y + a[5]). Pixel i covers [i, i + 1), so its centre is at i + 0.5.
struct AffineMap {
  std::array<double, 6> a = {1, 0, 0, 0, 1, 0};
};

// Maps of an image of this size. A rotation is about the middle, counter-clockwise; a shear moves
// the middle row (column) by nothing and the others by `amount` pixels per row (column).
AffineMap rotation_map(const ImageSize& size, double degrees);
AffineMap shear_x_map(const ImageSize& size, double amount);
AffineMap shear_y_map(const ImageSize& size, double amount);
AffineMap translation_map(double x, double y);  // moves the image right and down

enum class Sampling { nearest, bilinear };

// Writes the image of the same size that the map shows to `to`. What lies outside of the source
// becomes `border`. Throws InvalidArgument for more than 4 channels or sides of 32768 and more.
void warp(const ImageView& from, const AffineMap& map, Sampling sampling,
          const std::array<uint8_t, 4>& border, Image& to);

// The same for a mask of class numbers, [height, width]: each pixel gets the number of the nearest
// one, and -1, not labelled, outside. Requires: both have size.pixels() elements and do not
// overlap.
void warp_mask(std::span<const int32_t> from, const ImageSize& size, const AffineMap& map,
               std::span<int32_t> to);

}  // namespace pando
