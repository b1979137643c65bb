// Many small pictures of the same size side by side in one image without gaps, as pages cut them
// out again. contact_sheet.h makes a sheet for people, with captions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pando/data/image/image.h"
#include "pando/tensor/tensor.h"

namespace pando {

struct PictureSheet {
  ImageSize tile;  // picture i is at row i / columns, column i % columns
  int64_t columns = 1;
  Image image;
};

struct PictureSheetOptions {
  int64_t most_side = 48;        // larger pictures are reduced, their sides by the same factor
  int64_t most_bytes = 1 << 20;  // of the pixels of the sheet
};

// Whether samples of this shape can be shown: [height, width, channels].
bool is_picture(const Shape& shape, DType dtype);

// How many pictures of this shape fit into a sheet. Requires: is_picture().
int64_t sheet_capacity(const Shape& shape, const PictureSheetOptions& options = {});

// The pictures of `count` samples, in order. f32 is scaled as by picture_of() of contact_sheet.h.
// Requires: is_picture(shape), 0 < count <= sheet_capacity(); sample(i) has that shape.
PictureSheet picture_sheet(const Shape& shape, int64_t count,
                           const std::function<Tensor(int64_t i)>& sample,
                           const PictureSheetOptions& options = {});

}  // namespace pando
