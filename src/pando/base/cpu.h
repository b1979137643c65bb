// What this processor can do, asked once.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando {

// The instruction sets that we have code for.
struct CpuFeatures {
  bool sse42 = false;
  bool avx2 = false;         // with FMA and F16C, which every processor with AVX2 has
  bool avx512 = false;       // F, VL, BW and DQ
  bool avx512_bf16 = false;  // products of bf16 numbers
};

const CpuFeatures& cpu_features();

// The instruction set that the environment variable PANDO_ISA names; empty: the best.
std::string requested_isa();

// The one that PANDO_ISA names, or the best of this processor: avx512, avx2 or sse2.
std::string isa_name();

}  // namespace pando
