// Layers about the axes of a sample: permutation, slices, reductions, softmax, products of
// matrices.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "pando/nn/layers/one_op.h"

namespace pando {

namespace nn {

namespace {

// The number of an axis, counted with the batch; a negative one counts from the end. The batch
// itself is refused.
int64_t sample_axis(const std::string& place, const char* option, int64_t axis, int rank) {
  const int64_t positive = axis < 0 ? axis + rank : axis;
  if (positive >= 1 && positive < rank) return positive;
  throw InvalidArgument(place, ": ", option, ": expected an axis from 1 to ", rank - 1, " or from ",
                        1 - rank, " to -1, got ", axis);
}

std::string place_of(const LayerDefinition& layer, const GraphBuilder& builder) {
  return concat(layer.class_name(), " '", builder.layer_name(), "'");
}

// Keras' Permute, whose dims are those of a sample from 1 on, and Transpose, whose perm has the
// batch first, are the same op.
class PermuteLayer : public LayerDefinition {
 public:
  PermuteLayer(std::string class_name, std::string stem, std::vector<int64_t> perm)
      : class_name_(std::move(class_name)), stem_(std::move(stem)), perm_(std::move(perm)) {}
  std::string class_name() const override { return class_name_; }
  std::string stem() const override { return stem_; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    return builder.append("transpose", {inputs[0]}, {{"perm", perm_}})->output();
  }

 private:
  std::string class_name_;
  std::string stem_;
  std::vector<int64_t> perm_;
};

class SliceLayer : public LayerDefinition {
 public:
  explicit SliceLayer(SliceOptions options) : options_(std::move(options)) {
    const size_t count = options_.starts.size();
    const auto fits = [&](const std::vector<int64_t>& list) {
      return list.empty() || list.size() == count;
    };
    if (options_.ends.size() != count || !fits(options_.axes) || !fits(options_.steps)) {
      throw InvalidArgument("Slice: expected starts and ends, axes and steps of equal length, got ",
                            count, ", ", options_.ends.size(), ", ", options_.axes.size(), " and ",
                            options_.steps.size(), " numbers");
    }
    for (const int64_t step : options_.steps) check_positive("Slice", "steps", step);
  }
  std::string class_name() const override { return "Slice"; }
  std::string stem() const override { return "slice"; }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const Shape& x = inputs[0]->shape();
    ir::Ints begin(x.dims().size(), 0);
    ir::Ints size = x.dims();
    ir::Ints strides(x.dims().size(), 1);
    const std::string place = place_of(*this, builder);
    for (size_t i = 0; i < options_.starts.size(); ++i) {
      const int64_t given = options_.axes.empty() ? static_cast<int64_t>(i) + 1 : options_.axes[i];
      const int64_t axis = sample_axis(place, "axes", given, x.rank());
      const auto at = static_cast<size_t>(axis);
      const int64_t extent = x[static_cast<int>(axis)];
      const auto clamped = [&](int64_t bound) {
        return std::clamp<int64_t>(bound < 0 ? bound + extent : bound, 0, extent);
      };
      begin[at] = clamped(options_.starts[i]);
      strides[at] = options_.steps.empty() ? 1 : options_.steps[i];
      size[at] = (clamped(options_.ends[i]) - begin[at] + strides[at] - 1) / strides[at];
      if (size[at] < 1) {
        throw InvalidArgument(place, ": expected elements of axis ", axis, " of ", x,
                              ", got none from ", options_.starts[i], " to ", options_.ends[i]);
      }
    }
    return builder
        .append("slice", {inputs[0]}, {{"begin", begin}, {"size", size}, {"strides", strides}})
        ->output();
  }

 private:
  SliceOptions options_;
};

class ReduceLayer : public LayerDefinition {
 public:
  explicit ReduceLayer(ReduceOptions options) : options_(std::move(options)) {
    const std::vector<std::string> known = {"sum", "mean", "max", "min"};
    if (std::find(known.begin(), known.end(), options_.function) == known.end()) {
      throw InvalidArgument("Reduce: ", unknown_name_message("function", options_.function, known));
    }
  }
  std::string class_name() const override { return "Reduce"; }
  std::string stem() const override { return "reduce"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const int rank = inputs[0]->shape().rank();
    ir::Ints axes;
    for (const int axis : options_.axes) {
      axes.push_back(sample_axis(place_of(*this, builder), "axes", axis, rank));
    }
    for (int axis = 1; options_.axes.empty() && axis < rank; ++axis) axes.push_back(axis);
    std::sort(axes.begin(), axes.end());
    return builder
        .append("reduce_" + options_.function, {inputs[0]},
                {{"axes", axes}, {"keepdims", int64_t{options_.keepdims ? 1 : 0}}})
        ->output();
  }

 private:
  ReduceOptions options_;
};

// The op works on the last axis; another one is exchanged with it before and after.
class SoftmaxLayer : public LayerDefinition {
 public:
  explicit SoftmaxLayer(SoftmaxOptions options) : options_(std::move(options)) {}
  std::string class_name() const override { return "Softmax"; }
  std::string stem() const override { return "softmax"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const int rank = inputs[0]->shape().rank();
    const int64_t axis = sample_axis(place_of(*this, builder), "axis", options_.axis, rank);
    ir::Ints perm;
    for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
    std::swap(perm[static_cast<size_t>(axis)], perm.back());
    const bool last = axis == rank - 1;
    ir::Value* x = inputs[0];
    if (!last) x = builder.append("transpose", {x}, {{"perm", perm}})->output();
    x = builder.append("softmax", {x})->output();
    return last ? x : builder.append("transpose", {x}, {{"perm", perm}})->output();
  }

 private:
  SoftmaxOptions options_;
};

}  // namespace

}  // namespace nn

Layer Permute(PermuteOptions options) {
  std::vector<int64_t> perm = {0};
  perm.insert(perm.end(), options.dims.begin(), options.dims.end());
  return Layer(std::make_shared<nn::PermuteLayer>("Permute", "permute", std::move(perm)),
               std::move(options.name));
}
Layer Transpose(TransposeOptions options) {
  return Layer(
      std::make_shared<nn::PermuteLayer>("Transpose", "transpose", std::move(options.perm)),
      std::move(options.name));
}
Layer Slice(SliceOptions options) { return nn::make_layer<nn::SliceLayer>(std::move(options)); }
Layer Reduce(ReduceOptions options) { return nn::make_layer<nn::ReduceLayer>(std::move(options)); }
Layer Softmax(SoftmaxOptions options) {
  return nn::make_layer<nn::SoftmaxLayer>(std::move(options));
}

Layer MatMul(MatMulOptions options) {
  const auto flag = [](bool value) { return int64_t{value ? 1 : 0}; };
  return nn::make_layer<nn::OneOpLayer>(
      nn::OneOp{.class_name = "MatMul",
                .stem = "mat_mul",
                .op = "matmul",
                .attributes = {{"transpose_a", flag(options.transpose_a)},
                               {"transpose_b", flag(options.transpose_b)}},
                .least_inputs = 2,
                .most_inputs = 2,
                .name = std::move(options.name)});
}

}  // namespace pando
