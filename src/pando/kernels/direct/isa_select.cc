// Chooses the instruction set of the direct convolution.
// SPDX-License-Identifier: MIT
#include <string>

#include "pando/base/cpu.h"
#include "pando/base/error.h"
#include "pando/kernels/direct/isa_kernels.h"

namespace pando::kernels::direct {
namespace {

const IsaKernels& require(bool present, const IsaKernels& kernels) {
  if (!present) {
    throw Unsupported("PANDO_ISA: this CPU has no ", kernels.name,
                      "; unset the variable to use the best instruction set of this CPU");
  }
  return kernels;
}

}  // namespace

const IsaKernels& choose_isa() {
  const CpuFeatures& cpu = cpu_features();
  const std::string name = isa_name();
  if (name == "avx512") return require(cpu.avx512, avx512_kernels());
  if (name == "avx2") return require(cpu.avx2, avx2_kernels());
  if (name == "sse2") return sse2_kernels();
  throw InvalidArgument("PANDO_ISA: ",
                        unknown_name_message("instruction set", name, {"avx512", "avx2", "sse2"}));
}

}  // namespace pando::kernels::direct
