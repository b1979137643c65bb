// Small layers with several kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tests/support/kernel_case.h"

namespace pando::runtime {

// Convolutions first.
inline const std::vector<test::KernelCase>& cases() {
  static const ir::Attributes same = {{"padding", std::string("same")}};
  static const std::vector<test::KernelCase> all = {
      {"conv", {test::f32({2, 9, 9, 16}), test::f32({3, 3, 16, 16}), test::f32({16})}, same},
      {"conv_input_grad",
       {test::f32({2, 9, 9, 16}), test::f32({3, 3, 16, 16})},
       {{"padding", std::string("same")}, {"input", ir::Ints{9, 9}}}},
      {"conv_filter_grad",
       {test::f32({2, 9, 9, 16}), test::f32({2, 9, 9, 16})},
       {{"padding", std::string("same")}, {"filter", ir::Ints{3, 3}}},
       2},
      {"dense", {test::f32({4, 32}), test::f32({32, 24})}},
      {"dense_filter_grad", {test::f32({4, 32}), test::f32({4, 24})}}};
  return all;
}

}  // namespace pando::runtime
