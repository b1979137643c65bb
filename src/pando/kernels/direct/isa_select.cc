// Chooses the instruction set of the direct convolution.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <string>

#include "pando/base/error.h"
#include "pando/kernels/direct/isa_kernels.h"

namespace pando::kernels::direct {
namespace {

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

const IsaKernels& require(bool present, const IsaKernels& kernels) {
  if (!present) {
    throw Unsupported("PANDO_ISA: this CPU has no ", kernels.name,
                      "; unset the variable to use the best instruction set of this CPU");
  }
  return kernels;
}

}  // namespace

const IsaKernels& choose_isa() {
  const char* wanted = std::getenv("PANDO_ISA");
  if (wanted == nullptr || *wanted == '\0') {
    if (has_avx512()) return avx512_kernels();
    return has_avx2() ? avx2_kernels() : sse2_kernels();
  }
  const std::string name = wanted;
  if (name == "avx512") return require(has_avx512(), avx512_kernels());
  if (name == "avx2") return require(has_avx2(), avx2_kernels());
  if (name == "sse2") return sse2_kernels();
  throw InvalidArgument("PANDO_ISA: ",
                        unknown_name_message("instruction set", name, {"avx512", "avx2", "sse2"}));
}

}  // namespace pando::kernels::direct
