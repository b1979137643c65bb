// Borders, resizing and shapes.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {
namespace {

// Before and after each axis: n, [n, m] or [[n, m], [o, p]].
std::vector<std::array<int64_t, 2>> borders_of(const LayerPlace& place, const char* key,
                                               size_t axes) {
  std::vector<std::array<int64_t, 2>> borders;
  const Json& value = place.config().at(key);
  if (!value.is_array()) {
    borders.assign(axes, {value.get<int64_t>(), value.get<int64_t>()});
  } else {
    if (value.items().size() != axes) {
      throw IoError(key, ": expected ", axes, " items, got ", value.dump());
    }
    for (const Json& item : value.items()) {
      if (item.is_array()) {
        borders.push_back(item.get<std::array<int64_t, 2>>());
      } else {
        borders.push_back({item.get<int64_t>(), item.get<int64_t>()});
      }
    }
  }
  for (const auto& border : borders) {
    for (const int64_t count : border) {
      if (count >= 0 && count <= kMostExtent) continue;
      throw IoError(key, ": expected 0 to ", kMostExtent, ", got ", count);
    }
  }
  return borders;
}

MadeLayer make_padding2d(const LayerPlace& place) {
  const auto borders = borders_of(place, "padding", 2);
  return {ZeroPadding2D({.top_bottom = borders[0], .left_right = borders[1], .name = place.name})};
}
MadeLayer make_padding3d(const LayerPlace& place) {
  const auto borders = borders_of(place, "padding", 3);
  return {ZeroPadding3D(
      {.depth = borders[0], .height = borders[1], .width = borders[2], .name = place.name})};
}
MadeLayer make_cropping2d(const LayerPlace& place) {
  const auto borders = borders_of(place, "cropping", 2);
  return {Cropping2D({.top_bottom = borders[0], .left_right = borders[1], .name = place.name})};
}
MadeLayer make_cropping3d(const LayerPlace& place) {
  const auto borders = borders_of(place, "cropping", 3);
  return {Cropping3D(
      {.depth = borders[0], .height = borders[1], .width = borders[2], .name = place.name})};
}

std::string interpolation_of(const LayerPlace& place, const char* missing) {
  const auto interpolation = place.get<std::string>("interpolation", missing);
  if (interpolation != "nearest" && interpolation != "bilinear") {
    refuse_option(place, "interpolation", "\"nearest\" or \"bilinear\"");
  }
  return interpolation;
}

template <size_t axes>
std::array<int64_t, axes> factors_of(const LayerPlace& place) {
  const Shape& x = place.sample(static_cast<int>(axes) + 1);
  const auto size = place.extents<axes>("size", 2);
  for (size_t i = 0; i < axes; ++i) {
    if (size[i] >= 1 && size[i] <= kMostExtent / x[static_cast<int>(i)]) continue;
    throw IoError("size: expected at least 1 and results of at most ", kMostExtent, ", got ",
                  size[i]);
  }
  return size;
}

MadeLayer make_upsampling2d(const LayerPlace& place) {
  return {UpSampling2D({.size = factors_of<2>(place),
                        .interpolation = interpolation_of(place, "nearest"),
                        .name = place.name})};
}
MadeLayer make_upsampling3d(const LayerPlace& place) {
  return {UpSampling3D({.size = factors_of<3>(place), .name = place.name})};
}

MadeLayer make_resizing(const LayerPlace& place) {
  place.only("crop_to_aspect_ratio", false);
  place.only("pad_to_aspect_ratio", false);
  place.only("antialias", false);
  const auto height = place.config().get<int64_t>("height");
  const auto width = place.config().get<int64_t>("width");
  for (const int64_t extent : {height, width}) {
    if (extent >= 1 && extent <= kMostExtent) continue;
    throw IoError("height and width: expected 1 to ", kMostExtent, ", got ", extent);
  }
  return {Resizing({.height = height,
                    .width = width,
                    .interpolation = interpolation_of(place, "bilinear"),
                    .name = place.name})};
}

MadeLayer make_flatten(const LayerPlace& place) { return {Flatten({place.name})}; }

MadeLayer make_reshape(const LayerPlace& place) {
  const auto target = place.config().get<std::vector<int64_t>>("target_shape");
  return {Reshape({.shape = whole_shape(place, target), .name = place.name})};
}

MadeLayer make_permute(const LayerPlace& place) {
  return {Permute({.dims = place.config().get<std::vector<int64_t>>("dims"), .name = place.name})};
}

}  // namespace

Shape whole_shape(const LayerPlace& place, std::vector<int64_t> target) {
  const int64_t elements = place.inputs[0].elements();
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& extent : target) {
    if (extent == -1 && open == nullptr) {
      open = &extent;
    } else if (extent < 1 || extent > elements / known) {
      throw InvalidArgument(place.label(), ": cannot give ", place.inputs[0], " the shape ",
                            ir::to_text(ir::Ints(target)));
    } else {
      known *= extent;
    }
  }
  if (open != nullptr) *open = elements / known;
  return Shape(std::move(target));
}

std::vector<LayerImport> shape_imports() {
  return {{"ZeroPadding2D", make_padding2d},   {"ZeroPadding3D", make_padding3d},
          {"Cropping2D", make_cropping2d},     {"Cropping3D", make_cropping3d},
          {"UpSampling2D", make_upsampling2d}, {"UpSampling3D", make_upsampling3d},
          {"Resizing", make_resizing},         {"Flatten", make_flatten},
          {"Reshape", make_reshape},           {"Permute", make_permute}};
}

}  // namespace pando::keras
