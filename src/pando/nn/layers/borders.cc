// Layers that add zeros around the pixels or cut pixels off, and layers that move channels into
// pixels.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

// Elements before the first and after the last of each spatial axis.
struct BorderSpec {
  bool crops = false;
  ir::Ints before;
  ir::Ints after;
  std::string name;
};

class BorderLayer : public LayerDefinition {
 public:
  explicit BorderLayer(BorderSpec spec) : spec_(std::move(spec)) {
    for (const ir::Ints* list : {&spec_.before, &spec_.after}) {
      for (const int64_t count : *list) {
        if (count >= 0) continue;
        throw InvalidArgument(class_name(), ": expected 0 or more pixels, got ", count);
      }
    }
  }
  std::string class_name() const override {
    return concat(spec_.crops ? "Cropping" : "ZeroPadding", spec_.before.size(), "D");
  }
  std::string stem() const override {
    return concat(spec_.crops ? "cropping" : "zero_padding", spec_.before.size(), "d");
  }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const Shape& x = inputs[0]->shape();
    const std::string place = concat(class_name(), " '", builder.layer_name(), "'");
    check_spatial_axes(place, x, spec_.before.size());
    ir::Ints low(x.dims().size(), 0);
    ir::Ints high = low;
    std::copy(spec_.before.begin(), spec_.before.end(), low.begin() + 1);
    std::copy(spec_.after.begin(), spec_.after.end(), high.begin() + 1);
    if (!spec_.crops)
      return builder.append("pad", inputs, {{"low", low}, {"high", high}})->output();
    ir::Ints size = x.dims();
    for (size_t axis = 0; axis < size.size(); ++axis) {
      const bool leaves_some = low[axis] < size[axis] && high[axis] < size[axis] - low[axis];
      size[axis] -= leaves_some ? low[axis] + high[axis] : 0;
      if (leaves_some) continue;
      throw InvalidArgument(place, ": cuts ", low[axis], " and ", high[axis], " elements off axis ",
                            axis, " of ", x, "; at least one must be left");
    }
    return builder.append("slice", inputs, {{"begin", low}, {"size", size}})->output();
  }

 private:
  BorderSpec spec_;
};

BorderSpec border(bool crops, const std::vector<std::array<int64_t, 2>>& axes, std::string name) {
  BorderSpec spec{.crops = crops, .before = {}, .after = {}, .name = std::move(name)};
  for (const auto& [before, after] : axes) {
    spec.before.push_back(before);
    spec.after.push_back(after);
  }
  return spec;
}

struct BoxSpec : DepthToSpaceOptions {
  bool to_space = true;
};

class BoxLayer : public LayerDefinition {
 public:
  explicit BoxLayer(BoxSpec spec) : spec_(std::move(spec)) {
    check_positive(class_name(), "block_size", spec_.block_size);
  }
  std::string class_name() const override {
    return spec_.to_space ? "DepthToSpace" : "SpaceToDepth";
  }
  std::string stem() const override { return spec_.to_space ? "depth_to_space" : "space_to_depth"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    return builder
        .append(spec_.to_space ? "depth_to_space" : "space_to_depth", inputs,
                {{"block", spec_.block_size}, {"mode", spec_.mode}})
        ->output();
  }

 private:
  BoxSpec spec_;
};

}  // namespace

}  // namespace nn

Layer ZeroPadding2D(ZeroPadding2DOptions options) {
  return nn::make_layer<nn::BorderLayer>(
      nn::border(false, {options.top_bottom, options.left_right}, options.name));
}
Layer ZeroPadding3D(ZeroPadding3DOptions options) {
  return nn::make_layer<nn::BorderLayer>(
      nn::border(false, {options.depth, options.height, options.width}, options.name));
}
Layer Cropping2D(Cropping2DOptions options) {
  return nn::make_layer<nn::BorderLayer>(
      nn::border(true, {options.top_bottom, options.left_right}, options.name));
}
Layer Cropping3D(Cropping3DOptions options) {
  return nn::make_layer<nn::BorderLayer>(
      nn::border(true, {options.depth, options.height, options.width}, options.name));
}
Layer DepthToSpace(DepthToSpaceOptions options) {
  return nn::make_layer<nn::BoxLayer>(nn::BoxSpec{std::move(options), true});
}
Layer SpaceToDepth(DepthToSpaceOptions options) {
  return nn::make_layer<nn::BoxLayer>(nn::BoxSpec{std::move(options), false});
}

}  // namespace pando
