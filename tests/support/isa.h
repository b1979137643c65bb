// Tests that run on every instruction set of this CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

namespace pando::test {

// Sets PANDO_ISA for a scope.
class SetIsa {
 public:
  explicit SetIsa(const char* name) {
    const char* before = std::getenv("PANDO_ISA");
    if (before != nullptr) before_ = before;
    setenv("PANDO_ISA", name, 1);
  }
  ~SetIsa() {
    if (before_.empty()) {
      unsetenv("PANDO_ISA");
    } else {
      setenv("PANDO_ISA", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

inline std::vector<const char*> isas_of_this_cpu() {
  std::vector<const char*> names = {"sse2"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.push_back("avx2");
  if (__builtin_cpu_supports("avx512dq")) names.push_back("avx512");
  return names;
}

}  // namespace pando::test
