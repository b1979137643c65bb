// Max and average pooling in two and three dimensions.
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
    const ir::Attributes attributes = {
        {"window", spec_.pool}, {"strides", spec_.strides}, {"padding", spec_.padding}};
    if (spec_.max) return builder.append("max_pool", {inputs[0]}, attributes, 2)->output();
    return builder.append("avg_pool", {inputs[0]}, attributes)->output();
  }

 private:
  PoolSpec spec_;
};

template <typename Options>
Layer make_pool(bool max, Options options) {
  return make_layer<PoolLayer>(
      PoolSpec{max, ints(options.pool), ints(options.strides), options.padding, options.name});
}

}  // namespace

}  // namespace nn

Layer MaxPooling2D(Pool2DOptions options) { return nn::make_pool(true, std::move(options)); }
Layer AveragePooling2D(Pool2DOptions options) { return nn::make_pool(false, std::move(options)); }
Layer MaxPooling3D(Pool3DOptions options) { return nn::make_pool(true, std::move(options)); }
Layer AveragePooling3D(Pool3DOptions options) { return nn::make_pool(false, std::move(options)); }

}  // namespace pando
