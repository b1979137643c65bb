// Conversions between element types, in loops that vectorise. The 16-bit types convert as in
// tensor/half.h, bit for bit, but without branches.
// SPDX-License-Identifier: MIT
#include <bit>
#include <cstring>
#include <type_traits>

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/tensor/convert.h"

namespace pando::kernels {
namespace {

using fast::Range;

// Storage of the 16-bit types, as types of their own.
enum class F16 : uint16_t {};
enum class BF16 : uint16_t {};

PANDO_INLINE float to_float(float value) { return value; }
PANDO_INLINE float to_float(uint8_t value) { return static_cast<float>(value); }
PANDO_INLINE float to_float(int32_t value) { return static_cast<float>(value); }
PANDO_INLINE float to_float(BF16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}
PANDO_INLINE float to_float(F16 value) {
  const auto bits = static_cast<uint32_t>(value);
  const uint32_t sign = (bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7fff;
  const uint32_t normal = (magnitude << 13) + 0x38000000;
  const uint32_t special = (magnitude << 13) | 0x7f800000;
  const auto small =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1.0p-24f);
  const uint32_t finite = magnitude < 0x0400 ? small : normal;
  return std::bit_cast<float>(sign | (magnitude >= 0x7c00 ? special : finite));
}

PANDO_INLINE void from_float(float value, float& out) { out = value; }
PANDO_INLINE void from_float(float value, BF16& out) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40;
  out = static_cast<BF16>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}
PANDO_INLINE void from_float(float value, F16& out) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t odd = (magnitude >> 13) & 1;
  const uint32_t normal = (magnitude - 0x38000000 + 0xfff + odd) >> 13;
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  const uint32_t finite = magnitude < 0x38800000 ? small : normal;
  const uint32_t large = magnitude >= 0x477ff000 ? 0x7c00 : finite;
  out = static_cast<F16>(sign | (magnitude > 0x7f800000 ? 0x7e00 : large));
}
PANDO_INLINE void from_float(float value, int32_t& out) { out = f32_to_i32(value); }
PANDO_INLINE void from_float(float value, uint8_t& out) { out = f32_to_u8(value); }

template <typename From, typename To>
PANDO_INLINE void convert(const std::byte* x, std::byte* y, Range r) {
  const auto* __restrict from = reinterpret_cast<const From*>(x);
  auto* __restrict to = reinterpret_cast<To*>(y);
  for (int64_t i = r.begin; i < r.end; ++i) {
    To value;
    from_float(to_float(from[i]), value);
    to[i] = value;
  }
}

// Clones cannot be templates; one function per pair.
#define PANDO_CAST(name, From, To)                                          \
  PANDO_MULTIVERSION void name(const std::byte* x, std::byte* y, Range r) { \
    convert<From, To>(x, y, r);                                             \
  }
PANDO_CAST(f32_to_f16, float, F16)
PANDO_CAST(f32_to_bf16, float, BF16)
PANDO_CAST(f32_to_u8, float, uint8_t)
PANDO_CAST(f32_to_i32, float, int32_t)
PANDO_CAST(f16_to_f32, F16, float)
PANDO_CAST(f16_to_bf16, F16, BF16)
PANDO_CAST(f16_to_u8, F16, uint8_t)
PANDO_CAST(f16_to_i32, F16, int32_t)
PANDO_CAST(bf16_to_f32, BF16, float)
PANDO_CAST(bf16_to_f16, BF16, F16)
PANDO_CAST(bf16_to_u8, BF16, uint8_t)
PANDO_CAST(bf16_to_i32, BF16, int32_t)
PANDO_CAST(u8_to_f32, uint8_t, float)
PANDO_CAST(u8_to_f16, uint8_t, F16)
PANDO_CAST(u8_to_bf16, uint8_t, BF16)
PANDO_CAST(u8_to_i32, uint8_t, int32_t)
PANDO_CAST(i32_to_f32, int32_t, float)
PANDO_CAST(i32_to_f16, int32_t, F16)
PANDO_CAST(i32_to_bf16, int32_t, BF16)
PANDO_CAST(i32_to_u8, int32_t, uint8_t)
#undef PANDO_CAST

using CastLoop = void (*)(const std::byte*, std::byte*, Range);

// By source, then by result, in the order of DType; the same type twice is a copy.
CastLoop cast_loop(DType from, DType to) {
  static constexpr CastLoop kLoops[5][5] = {
      {nullptr, f32_to_f16, f32_to_bf16, f32_to_u8, f32_to_i32},
      {f16_to_f32, nullptr, f16_to_bf16, f16_to_u8, f16_to_i32},
      {bf16_to_f32, bf16_to_f16, nullptr, bf16_to_u8, bf16_to_i32},
      {u8_to_f32, u8_to_f16, u8_to_bf16, nullptr, u8_to_i32},
      {i32_to_f32, i32_to_f16, i32_to_bf16, i32_to_u8, nullptr}};
  return kLoops[static_cast<size_t>(from)][static_cast<size_t>(to)];
}

}  // namespace

KernelOffer fast_cast(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  const DType to = node.output()->type().dtype;
  const CastLoop loop = cast_loop(node.input(0)->type().dtype, to);
  const size_t element = size_of(to);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const Range mine = fast::element_share(step.part, count);
    if (loop != nullptr) return loop(args.inputs[0], args.outputs[0], mine);
    const size_t at = static_cast<size_t>(mine.begin) * element;
    std::memmove(args.outputs[0] + at, args.inputs[0] + at,
                 static_cast<size_t>(mine.size()) * element);
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
