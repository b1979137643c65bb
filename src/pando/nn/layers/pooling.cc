// Max and average pooling in two and three dimensions, over windows and, for the maximum, over
// whole samples.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

struct PoolSpec {
  bool max = true;
  ir::Ints pool;
  ir::Ints strides;
  std::string padding;
  ir::Ints pads;
  bool ceil_mode = false;
  std::string name;
};

class PoolLayer : public LayerDefinition {
 public:
  explicit PoolLayer(PoolSpec spec) : spec_(std::move(spec)) {
    for (const int64_t extent : spec_.pool) check_positive(class_name(), "pool", extent);
    for (size_t i = 0; i < spec_.strides.size(); ++i) {
      if (spec_.strides[i] == 0) spec_.strides[i] = spec_.pool[i];
    }
  }
  std::string class_name() const override {
    return concat(spec_.max ? "Max" : "Average", "Pooling", spec_.pool.size(), "D");
  }
  std::string stem() const override {
    return concat(spec_.max ? "max" : "average", "_pooling", spec_.pool.size(), "d");
  }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const ir::Attributes attributes = {{"window", spec_.pool},
                                       {"strides", spec_.strides},
                                       {"padding", spec_.padding},
                                       {"pads", spec_.pads},
                                       {"ceil_mode", int64_t{spec_.ceil_mode}}};
    if (spec_.max) return builder.append("max_pool", {inputs[0]}, attributes, 2)->output();
    return builder.append("avg_pool", {inputs[0]}, attributes)->output();
  }

 private:
  PoolSpec spec_;
};

template <typename Options>
Layer make_pool(bool max, Options options) {
  return make_layer<PoolLayer>(PoolSpec{max, ints(options.pool), ints(options.strides),
                                        options.padding, options.pads, options.ceil_mode,
                                        options.name});
}

struct GlobalMaxSpec {
  size_t axes = 2;
  std::string name;
};

class GlobalMaxLayer : public LayerDefinition {
 public:
  explicit GlobalMaxLayer(GlobalMaxSpec spec) : spec_(std::move(spec)) {}
  std::string class_name() const override { return concat("GlobalMaxPooling", spec_.axes, "D"); }
  std::string stem() const override { return concat("global_max_pooling", spec_.axes, "d"); }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    check_spatial_axes(concat(class_name(), " '", builder.layer_name(), "'"), inputs[0]->shape(),
                       spec_.axes);
    return builder.append("global_max_pool", {inputs[0]}, {}, 2)->output();
  }

 private:
  GlobalMaxSpec spec_;
};

}  // namespace

void check_spatial_axes(const std::string& place, const Shape& x, size_t axes) {
  if (x.rank() == static_cast<int>(axes) + 2) return;
  throw InvalidArgument(place, ": expected ", axes,
                        " spatial axes between batch and channels, got shape ", x);
}

}  // namespace nn

Layer MaxPooling2D(Pool2DOptions options) { return nn::make_pool(true, std::move(options)); }
Layer AveragePooling2D(Pool2DOptions options) { return nn::make_pool(false, std::move(options)); }
Layer MaxPooling3D(Pool3DOptions options) { return nn::make_pool(true, std::move(options)); }
Layer AveragePooling3D(Pool3DOptions options) { return nn::make_pool(false, std::move(options)); }
Layer GlobalMaxPooling2D(NameOption options) {
  return nn::make_layer<nn::GlobalMaxLayer>(nn::GlobalMaxSpec{2, std::move(options.name)});
}
Layer GlobalMaxPooling3D(NameOption options) {
  return nn::make_layer<nn::GlobalMaxLayer>(nn::GlobalMaxSpec{3, std::move(options.name)});
}

}  // namespace pando
