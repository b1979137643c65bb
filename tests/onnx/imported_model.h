// Models from ONNX files, and files of numbers in the order of ONNX.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/onnx/import.h"
#include "pando/train/model.h"

namespace pando::onnx {

inline Model model_of(const ImportedNetwork& imported) {
  Model model(imported.network);
  std::map<std::string, Tensor> by_name(imported.weights.begin(), imported.weights.end());
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) ADD_FAILURE() << "no weight " << name;
    weights.push_back(found == by_name.end() ? model.get_weight(name) : found->second);
  }
  EXPECT_EQ(weights.size(), imported.weights.size());
  model.set_weights(weights);
  return model;
}

// The elements of a tensor [batch, ...] with its axes in another order: axis i of the result is
// axis perm[i].
inline Tensor with_axes(const Tensor& x, const std::vector<int64_t>& perm) {
  const int rank = x.shape().rank();
  std::vector<int64_t> dims, steps, strides(static_cast<size_t>(rank), 1);
  for (int i = rank - 1; i > 0; --i) {
    strides[static_cast<size_t>(i) - 1] = strides[static_cast<size_t>(i)] * x.shape()[i];
  }
  for (const int64_t axis : perm) {
    dims.push_back(x.shape()[static_cast<int>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  Tensor y(DType::f32, Shape(dims));
  for (size_t i = 0; i < y.f32().size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t place = 0;
    for (size_t axis = dims.size(); axis-- > 0;) {
      place += rest % dims[axis] * steps[axis];
      rest /= dims[axis];
    }
    y.f32()[i] = x.f32()[static_cast<size_t>(place)];
  }
  return y;
}

inline std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return back;
}

// Predicts with inputs and results in the order of the file.
inline Tensor predict_in_file_order(const ImportedNetwork& imported, const Tensor& x) {
  Model model = model_of(imported);
  const Tensor y = model.predict(with_axes(x, imported.input_orders[0]), x.shape()[0]);
  return with_axes(y, inverse(imported.output_orders[0]));
}

}  // namespace pando::onnx
