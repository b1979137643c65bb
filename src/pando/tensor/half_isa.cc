// Chooses the instruction set of the conversions to and from the 16-bit types.
// SPDX-License-Identifier: MIT
#include "pando/tensor/half_isa.h"

#include <string>
#include <vector>

#include "pando/base/cpu.h"

namespace pando {

namespace {

const HalfIsa& choose() {
  const std::string name = requested_isa();
  for (const HalfIsa* isa : half_isas()) {
    if (isa->name == name) return *isa;
  }
  return name == "sse2" ? *plain_halves() : *half_isas().front();
}

}  // namespace

std::span<const HalfIsa* const> half_isas() {
  static const std::vector<const HalfIsa*> found = [] {
    std::vector<const HalfIsa*> isas;
    if (avx512_halves() != nullptr && cpu_features().avx512) isas.push_back(avx512_halves());
    if (avx2_halves() != nullptr && cpu_features().avx2) isas.push_back(avx2_halves());
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
