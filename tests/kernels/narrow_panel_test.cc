// Panels of one vector against chains of multiply-adds, bit by bit: rows in runs of many lengths,
// with and without tables of results.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/kernels/direct/isa_kernels.h"
#include "tests/support/close_floats.h"
#include "tests/support/isa.h"

namespace pando::kernels::direct {
namespace {

using test::Floats;
using test::isas_of_this_cpu;
using test::SetIsa;
using test::test_values;

struct Case {
  int64_t rows, run, k_count;
  bool gaps_in_y, accumulate, whole;
};

// Rows of x lie at a distance of 3 floats, and 7 floats lie between runs.
class Panel {
 public:
  Panel(const Case& c, const IsaKernels& isa) : case_(c) {
    const auto lanes = int64_t{isa.lanes};
    channels_ = c.whole ? lanes : lanes - 1;
    for (int64_t i = 0; i < c.rows; ++i) {
      x_row_.push_back(static_cast<int32_t>(3 * i + i / c.run * 7));
      y_row_.push_back(static_cast<int32_t>(2 * i + i / c.run));
    }
    for (int64_t k = 0; k < c.k_count; ++k) offset_.push_back(static_cast<int32_t>(k * 5 % 11 + k));
    const auto floats = [](int64_t count, int seed) {
      Floats values = test_values(static_cast<size_t>(count), seed);
      for (float& value : values) value *= 0.3f;  // so that every sum is rounded
      return values;
    };
    x_ = floats(x_row_.back() + c.k_count + 11, 1);
    w_ = floats(c.k_count * lanes, 2);
    bias_ = floats(channels_, 3);
    residual_ = floats((row_of_y(c.rows - 1) + 1) * channels_, 4);
    y_ = floats(static_cast<int64_t>(residual_.size()), 5);
    args_.x = x_.data();
    args_.row_offset = x_row_.data();
    args_.rows = c.rows;
    args_.k_offset = offset_.data();
    args_.k_count = c.k_count;
    args_.w = w_.data();
    args_.w_stride = lanes;
    args_.y_row = c.gaps_in_y ? y_row_.data() : nullptr;
    args_.y_stride = args_.last_lanes = channels_;
    args_.accumulate = c.accumulate;
    args_.bias = bias_.data();
    args_.residual = residual_.data();
    args_.activation = Activation::relu;
  }

  Floats result(const IsaKernels& isa, bool finish) const {
    Floats y = y_;
    PanelArgs args = args_;
    args.y = y.data();
    args.finish = finish;
    isa.panel[0](args);
    return y;
  }

  Floats expected(bool fused, bool finish) const {
    Floats y = y_;
    for (int64_t i = 0; i < case_.rows; ++i) {
      for (int64_t c = 0; c < channels_; ++c) {
        const auto at = static_cast<size_t>(row_of_y(i) * channels_ + c);
        float sum = case_.accumulate ? y[at] : 0.0f;
        for (int64_t k = 0; k < case_.k_count; ++k) {
          const float x = x_[static_cast<size_t>(x_row_[static_cast<size_t>(i)] +
                                                 offset_[static_cast<size_t>(k)])];
          const float w = w_[static_cast<size_t>(k * args_.w_stride + c)];
          sum = fused ? std::fma(x, w, sum) : sum + x * w;
        }
        if (finish) sum = std::max(sum + bias_[static_cast<size_t>(c)] + residual_[at], 0.0f);
        y[at] = sum;
      }
    }
    return y;
  }

 private:
  int64_t row_of_y(int64_t i) const { return case_.gaps_in_y ? y_row_[static_cast<size_t>(i)] : i; }

  Case case_;
  int64_t channels_ = 0;
  std::vector<int32_t> x_row_, y_row_, offset_;
  Floats x_, w_, bias_, residual_, y_;
  PanelArgs args_;
};

void compare(const Case& c, const IsaKernels& isa) {
  const Panel panel(c, isa);
  const bool fused = std::string(isa.name) != "sse2";
  for (const bool finish : {false, true}) {
    ASSERT_EQ(panel.result(isa, finish), panel.expected(fused, finish))
        << isa.name << ", rows " << c.rows << " in runs of " << c.run << ", k " << c.k_count
        << ", gaps in y " << c.gaps_in_y << ", accumulate " << c.accumulate << ", whole " << c.whole
        << ", finish " << finish;
  }
}

TEST(NarrowPanel, IsAChainOfMultiplyAddsForEveryNumberOfRows) {
  for (const char* name : isas_of_this_cpu()) {
    const SetIsa scope(name);
    const IsaKernels& isa = choose_isa();
    for (int64_t rows = 1; rows <= 40; ++rows) {
      for (const int64_t run : {1, 2, 5, 8, 9, 13, 16, 18, 23, 40}) {
        for (const bool gaps : {false, true}) compare({rows, run, 3, gaps, true, true}, isa);
      }
    }
  }
}

TEST(NarrowPanel, IsAChainOfMultiplyAddsForEveryK) {
  for (const char* name : isas_of_this_cpu()) {
    const SetIsa scope(name);
    const IsaKernels& isa = choose_isa();
    std::vector<int64_t> counts = {64, 65, 130};
    for (int64_t k = 0; k <= 40; ++k) counts.push_back(k);
    for (const int64_t k : counts) {
      for (const bool accumulate : {false, true}) {
        for (const bool whole : {false, true}) compare({37, 31, k, true, accumulate, whole}, isa);
      }
    }
  }
}

}  // namespace
}  // namespace pando::kernels::direct
