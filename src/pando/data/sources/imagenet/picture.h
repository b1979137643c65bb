// One made picture of a class: what make_imagenet() writes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/data/image/geometry.h"

namespace pando::data {

struct Picture {
  Image image;
  ObjectBox object;
};

// "red disc", with stripes and ground where classes differ in them. Requires: 0 <= label < 1000.
std::string picture_class_name(int32_t label);

// A pure function of its arguments. The sides are those of `size`, give or take a quarter; one
// picture of four stands upright. Requires: 0 <= label < 1000, sides of at least 16.
Picture make_picture(int32_t label, const ImageSize& size, uint64_t key);

}  // namespace pando::data
