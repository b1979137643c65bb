// SPDX-License-Identifier: MIT
#include "pando/runtime/program/gradient_counter.h"

#include <algorithm>
#include <bit>

#include "pando/base/error.h"
#include "pando/base/multiversion.h"
#include "pando/runtime/program/bound_program.h"
#include "pando/tensor/half.h"

namespace pando::runtime {

namespace {

// The bits of positive numbers are ordered like the numbers, with infinity and NaN above all
// others, so magnitudes are compared as integers. An edge is the largest magnitude that is not
// beyond it.
constexpr int32_t kMagnitude = 0x7fffffff;
constexpr int16_t kHalfMagnitude = 0x7fff;
constexpr int64_t kBlock = 8192;  // its counts fit into 16 bits

PANDO_MULTIVERSION int64_t beyond_f32(const float* values, int64_t count, int32_t edge) {
  int64_t beyond = 0;
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t end = std::min(at + kBlock, count);
    int32_t in_block = 0;
    for (int64_t i = at; i < end; ++i) {
      in_block += (std::bit_cast<int32_t>(values[i]) & kMagnitude) > edge ? 1 : 0;
    }
    beyond += in_block;
  }
  return beyond;
}

PANDO_MULTIVERSION int64_t beyond_half(const int16_t* values, int64_t count, int16_t edge) {
  int64_t beyond = 0;
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t end = std::min(at + kBlock, count);
    int16_t in_block = 0;
    for (int64_t i = at; i < end; ++i) {
      const auto magnitude = static_cast<int16_t>(values[i] & kHalfMagnitude);
      in_block = static_cast<int16_t>(in_block + (magnitude > edge ? 1 : 0));
    }
    beyond += in_block;
  }
  return beyond;
}

// The bits of the largest finite number that is not above the edge.
int16_t half_edge(DType type, float edge) {
  const auto value_of = [&](int bits) {
    const auto half = static_cast<uint16_t>(bits);
    return type == DType::f16 ? from_f16(half) : from_bf16(half);
  };
  int low = 0;                                      // not above
  int high = type == DType::f16 ? 0x7c00 : 0x7f80;  // infinity
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value_of(middle) <= edge ? low : high) = middle;
  }
  return static_cast<int16_t>(low);
}

}  // namespace

int64_t count_beyond(DType type, const std::byte* values, int64_t count, float edge) {
  if (type == DType::f32) {
    return beyond_f32(reinterpret_cast<const float*>(values), count, std::bit_cast<int32_t>(edge));
  }
  PANDO_CHECK(type == DType::f16 || type == DType::bf16, "gradients of type ", to_string(type));
  return beyond_half(reinterpret_cast<const int16_t*>(values), count, half_edge(type, edge));
}

GradientCounter::GradientCounter(const BoundProgram& bound)
    : bound_(bound),
      half_(bound.program().options().precision.half()),
      counts_(static_cast<size_t>(bound.program().stages()) * static_cast<size_t>(bound.lanes())) {}

void GradientCounter::begin_update(float edge) {
  edge_ = edge;
  std::fill(counts_.begin(), counts_.end(), Counts{});
}

void GradientCounter::count(int bucket, int lane, int micro_batch) {
  if (!half_) return;
  const compiler::Bucket& plan = bound_.program().memory().buckets[static_cast<size_t>(bucket)];
  const compiler::Operand first{{compiler::Region::gradients, plan.stage, plan.begin}, nullptr};
  const std::byte* values = bound_.address(first, lane, micro_batch);
  const size_t row = static_cast<size_t>(plan.stage) * static_cast<size_t>(bound_.lanes());
  Counts& counts = counts_[row + static_cast<size_t>(lane)];
  for (const BucketGradient& gradient : bound_.gradients(static_cast<size_t>(bucket))) {
    const int64_t beyond =
        count_beyond(bound_.gradient_type(), values + gradient.offset, gradient.elements, edge_);
    counts.beyond += beyond;
    counts.below += gradient.elements - beyond;
  }
}

GradientCounts GradientCounter::total() const {
  GradientCounts total = {};
  for (const Counts& counts : counts_) {
    total[0] += static_cast<double>(counts.below);
    total[1] += static_cast<double>(counts.beyond);
  }
  return total;
}

}  // namespace pando::runtime
