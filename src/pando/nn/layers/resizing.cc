// Layers that change the spatial extents by the op resize.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

struct ResizeSpec : ResizeOptions {
  std::string class_name = "Resize";
  std::string stem = "resize";
};

class ResizeLayer : public LayerDefinition {
 public:
  explicit ResizeLayer(ResizeSpec spec) : spec_(std::move(spec)) {
    if (spec_.size.empty() == spec_.scales.empty()) {
      throw InvalidArgument(spec_.class_name, ": expected size or scales, got ",
                            spec_.size.empty() ? "neither" : "both");
    }
    for (const int64_t extent : spec_.size) check_positive(spec_.class_name, "size", extent);
    for (const double scale : spec_.scales) {
      if (scale > 0) continue;
      throw InvalidArgument(spec_.class_name, ": scales: expected more than 0, got ", scale);
    }
  }
  std::string class_name() const override { return spec_.class_name; }
  std::string stem() const override { return spec_.stem; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const Shape& x = inputs[0]->shape();
    check_spatial_axes(concat(class_name(), " '", builder.layer_name(), "'"), x,
                       spec_.size.size() + spec_.scales.size());
    ir::Ints size = spec_.size;
    for (size_t axis = 0; axis < spec_.scales.size(); ++axis) {
      const auto extent = static_cast<double>(x[static_cast<int>(axis) + 1]);
      // The op refuses far smaller extents; larger ones do not fit into int64_t.
      size.push_back(
          static_cast<int64_t>(std::min(std::floor(extent * spec_.scales[axis]), 0x1p62)));
    }
    return builder
        .append("resize", inputs,
                {{"size", size},
                 {"scales", ir::Numbers(spec_.scales)},
                 {"mode", spec_.mode},
                 {"coordinates", spec_.coordinates},
                 {"nearest", spec_.nearest_mode}})
        ->output();
  }

 private:
  ResizeSpec spec_;
};

// Keras' nearest pixel of a resized picture is the one below the middle of the new pixel, which is
// round_prefer_ceil of the position that half_pixel counts from the middle of the first.
ResizeSpec keras_resize(std::string class_name, std::string stem,
                        const std::string& interpolation) {
  if (interpolation != "nearest" && interpolation != "bilinear") {
    throw InvalidArgument(class_name,
                          ": interpolation: expected \"nearest\" or \"bilinear\", got \"",
                          interpolation, "\"");
  }
  ResizeSpec spec;
  spec.class_name = std::move(class_name);
  spec.stem = std::move(stem);
  spec.mode = interpolation == "bilinear" ? "linear" : "nearest";
  spec.nearest_mode = "round_prefer_ceil";
  return spec;
}

template <typename Array>
std::vector<double> factors(const std::string& class_name, const Array& size) {
  for (const int64_t factor : size) check_positive(class_name, "size", factor);
  return {size.begin(), size.end()};
}

}  // namespace

}  // namespace nn

Layer UpSampling2D(UpSampling2DOptions options) {
  nn::ResizeSpec spec = nn::keras_resize("UpSampling2D", "up_sampling2d", options.interpolation);
  spec.scales = nn::factors(spec.class_name, options.size);
  spec.name = options.name;
  return nn::make_layer<nn::ResizeLayer>(std::move(spec));
}

Layer UpSampling3D(UpSampling3DOptions options) {
  nn::ResizeSpec spec = nn::keras_resize("UpSampling3D", "up_sampling3d", "nearest");
  spec.scales = nn::factors(spec.class_name, options.size);
  spec.name = options.name;
  return nn::make_layer<nn::ResizeLayer>(std::move(spec));
}

Layer Resizing(ResizingOptions options) {
  nn::ResizeSpec spec = nn::keras_resize("Resizing", "resizing", options.interpolation);
  spec.size = {options.height, options.width};
  spec.name = options.name;
  return nn::make_layer<nn::ResizeLayer>(std::move(spec));
}

Layer Resize(ResizeOptions options) {
  return nn::make_layer<nn::ResizeLayer>(nn::ResizeSpec{std::move(options)});
}

}  // namespace pando
