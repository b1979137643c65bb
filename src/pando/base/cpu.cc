// SPDX-License-Identifier: MIT
#include "pando/base/cpu.h"

#include <cstdlib>

namespace pando {

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = [] {
    CpuFeatures found;
#if defined(__x86_64__)
    found.sse42 = __builtin_cpu_supports("sse4.2") != 0;
    found.avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    found.avx512 =
        __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0;
    found.avx512_bf16 = found.avx512 && __builtin_cpu_supports("avx512bf16") != 0;
#endif
    return found;
  }();
  return features;
}

std::string requested_isa() {
  const char* name = std::getenv("PANDO_ISA");
  return name == nullptr ? "" : name;
}

std::string isa_name() {
  const std::string requested = requested_isa();
  if (!requested.empty()) return requested;
  if (cpu_features().avx512) return "avx512";
  return cpu_features().avx2 ? "avx2" : "sse2";
}

}  // namespace pando
