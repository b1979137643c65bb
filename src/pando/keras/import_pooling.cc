// Pooling over windows and over whole samples.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {
namespace {

template <size_t axes, typename Options>
MadeLayer make_pool(const LayerPlace& place, Layer (*make)(Options)) {
  place.sample(static_cast<int>(axes) + 1);
  Options options;
  options.pool = place.extents<axes>("pool_size", 2);
  options.strides = place.extents<axes>("strides", 0);
  options.padding = place.get<std::string>("padding", "valid");
  if (options.padding != "valid" && options.padding != "same") {
    refuse_option(place, "padding", "\"valid\" or \"same\"");
  }
  options.name = place.name;
  return {make(std::move(options))};
}

MadeLayer make_max2d(const LayerPlace& place) { return make_pool<2>(place, MaxPooling2D); }
MadeLayer make_max3d(const LayerPlace& place) { return make_pool<3>(place, MaxPooling3D); }
MadeLayer make_average2d(const LayerPlace& place) { return make_pool<2>(place, AveragePooling2D); }
MadeLayer make_average3d(const LayerPlace& place) { return make_pool<3>(place, AveragePooling3D); }

// The axes stay with an extent of 1 if the layer asks for it.
MadeLayer make_global(const LayerPlace& place, int axes, bool max) {
  const Shape& x = place.sample(axes + 1);
  const bool keep = place.get("keepdims", false);
  ir::Ints shape;
  if (keep) shape.assign(static_cast<size_t>(axes), 1);
  shape.push_back(x.back());
  if (!keep && axes > 1) {
    const NameOption name{place.name};
    if (axes == 2) return {max ? GlobalMaxPooling2D(name) : GlobalAveragePooling2D(name)};
    return {max ? GlobalMaxPooling3D(name) : GlobalAveragePooling3D(name)};
  }
  ComposedSpec spec{.class_name = place.layer.class_name, .stem = "global_pooling"};
  spec.build = [=](nn::GraphBuilder& builder, const std::vector<ir::Value*>& inputs) {
    ir::Value* picture = inputs[0];
    if (axes == 1) {  // a line is a picture of one row
      const Shape& line = picture->shape();
      picture = builder.append("reshape", {picture}, {{"shape", ir::Ints{1, line[1], line[2]}}})
                    ->output();
    }
    ir::Value* y = max ? builder.append("global_max_pool", {picture}, {}, 2)->output()
                       : builder.append("global_avg_pool", {picture})->output();
    return keep ? builder.append("reshape", {y}, {{"shape", shape}})->output() : y;
  };
  return {composed(std::move(spec), place.name)};
}

MadeLayer make_global_max1d(const LayerPlace& place) { return make_global(place, 1, true); }
MadeLayer make_global_max2d(const LayerPlace& place) { return make_global(place, 2, true); }
MadeLayer make_global_max3d(const LayerPlace& place) { return make_global(place, 3, true); }
MadeLayer make_global_average1d(const LayerPlace& place) { return make_global(place, 1, false); }
MadeLayer make_global_average2d(const LayerPlace& place) { return make_global(place, 2, false); }
MadeLayer make_global_average3d(const LayerPlace& place) { return make_global(place, 3, false); }

}  // namespace

std::vector<LayerImport> pooling_imports() {
  return {{"MaxPooling2D", make_max2d},
          {"MaxPooling3D", make_max3d},
          {"AveragePooling2D", make_average2d},
          {"AveragePooling3D", make_average3d},
          {"GlobalMaxPooling1D", make_global_max1d},
          {"GlobalMaxPooling2D", make_global_max2d},
          {"GlobalMaxPooling3D", make_global_max3d},
          {"GlobalAveragePooling1D", make_global_average1d},
          {"GlobalAveragePooling2D", make_global_average2d},
          {"GlobalAveragePooling3D", make_global_average3d}};
}

}  // namespace pando::keras
