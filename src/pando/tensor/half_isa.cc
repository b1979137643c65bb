// Chooses the instruction set of the conversions to and from the 16-bit types.
// SPDX-License-Identifier: MIT
#include "pando/tensor/half_isa.h"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace pando {

namespace {

#if defined(__x86_64__)
// Every processor with AVX2 has F16C, and clang does not know its name.
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

const HalfIsa& choose() {
  const char* wanted = std::getenv("PANDO_ISA");
  const std::string_view name = wanted == nullptr ? "" : wanted;
  for (const HalfIsa* isa : half_isas()) {
    if (isa->name == name) return *isa;
  }
  return name == "sse2" ? *plain_halves() : *half_isas().front();
}

}  // namespace

std::span<const HalfIsa* const> half_isas() {
  static const std::vector<const HalfIsa*> found = [] {
    std::vector<const HalfIsa*> isas;
    if (avx512_halves() != nullptr && has_avx512()) isas.push_back(avx512_halves());
    if (avx2_halves() != nullptr && has_avx2()) isas.push_back(avx2_halves());
    isas.push_back(plain_halves());
    return isas;
  }();
  return found;
}

const HalfIsa& chosen_half_isa() {
  static const HalfIsa& chosen = choose();
  return chosen;
}

}  // namespace pando
