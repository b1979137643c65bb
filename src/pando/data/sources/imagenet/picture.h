// Makes pictures of classes for make_imagenet().
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

// For example "red disc", with stripes and background where classes differ in them. Requires:
// 0 <= label < 1000.
std::string picture_class_name(int32_t label);

// A pure function of its arguments. The sides are those of `size`, give or take a quarter; one
// picture in four has height and width exchanged. Requires: 0 <= label < 1000, sides of at least
// 16.
Picture make_picture(int32_t label, const ImageSize& size, uint64_t key);

}  // namespace pando::data
