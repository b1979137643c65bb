// The conversions of half_isa.h for every processor, in plain loops.
// SPDX-License-Identifier: MIT
#include <bit>

#include "pando/tensor/half_blocks_impl.h"

namespace pando {
namespace {

struct Plain {
  using V = uint32_t;
  static constexpr int kLanes = 1;

  static V all(uint32_t value) { return value; }
  static V ascending() { return 0; }
  static V load(const float* from) { return std::bit_cast<uint32_t>(*from); }
  static void store(V x, float* to) { *to = std::bit_cast<float>(x); }
  static V load_halves(const uint16_t* from) { return *from; }
  static V larger(V a, V b) { return a > b ? a : b; }
  static bool any_above(V a, uint32_t bound) { return a > bound; }
  static void store_upper(V a, V b, uint16_t* to) {
    to[0] = static_cast<uint16_t>(a >> 16);
    to[1] = static_cast<uint16_t>(b >> 16);
  }
  // Computes the same as half.cc and half_rounding.cc, but without branches, so that compilers
  // vectorise the loops.
  static void store_f16(V x, uint16_t* to) {
    const V magnitude = x & 0x7fffffff;
    const V normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    const V small = std::bit_cast<V>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
    const V half = magnitude < 0x38800000 ? small : normal;
    *to = static_cast<uint16_t>(((x >> 16) & 0x8000) | half);
  }
  static void store_noisy_f16(V x, V noise, uint16_t* to) {
    const V magnitude = x & 0x7fffffff;
    const V small = std::bit_cast<V>(std::bit_cast<float>(magnitude) + 0x1p-14f) - 0x38800000;
    const V exact = magnitude < 0x38800000 ? small : magnitude - 0x38000000;
    *to = static_cast<uint16_t>(((x >> 16) & 0x8000) | ((exact + noise) >> 13));
  }
  static void widen_f16(const uint16_t* from, float* to) {
    const V magnitude = *from & 0x7fff;
    const V normal = (magnitude << 13) + 0x38000000;
    const V quiet = magnitude > 0x7c00 ? 0x7fc00000 : 0x7f800000;
    const auto small = std::bit_cast<V>(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f);
    const V finite = magnitude < 0x0400 ? small : normal;
    const V sign = (*from & 0x8000U) << 16;
    *to = std::bit_cast<float>(sign | (magnitude >= 0x7c00 ? (magnitude << 13) | quiet : finite));
  }
};

constexpr HalfIsa kPlain = HalfBlocks<Plain>::table("plain");

}  // namespace

const HalfIsa* plain_halves() { return &kPlain; }

}  // namespace pando
