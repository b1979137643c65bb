// Tests that run on every instruction set of this CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tests/support/kept_environment.h"

namespace pando::test {

// Sets PANDO_ISA for a scope.
struct SetIsa : testing_support::KeptEnvironment {
  explicit SetIsa(const char* name) : KeptEnvironment("PANDO_ISA", name) {}
};

inline std::vector<const char*> isas_of_this_cpu() {
  std::vector<const char*> names = {"sse2"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.push_back("avx2");
  if (__builtin_cpu_supports("avx512dq")) names.push_back("avx512");
  return names;
}

}  // namespace pando::test
