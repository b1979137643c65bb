// Tests that run on every instruction set of this CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace pando::test {

// Sets PANDO_ISA for a scope.
class SetIsa {
 public:
  explicit SetIsa(const char* name) {
    if (const char* before = std::getenv("PANDO_ISA")) before_ = before;
    setenv("PANDO_ISA", name, 1);
  }
  ~SetIsa() {
    if (before_) {
      setenv("PANDO_ISA", before_->c_str(), 1);
    } else {
      unsetenv("PANDO_ISA");
    }
  }

 private:
  std::optional<std::string> before_;
};

inline std::vector<const char*> isas_of_this_cpu() {
  std::vector<const char*> names = {"sse2"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.push_back("avx2");
  if (__builtin_cpu_supports("avx512dq")) names.push_back("avx512");
  return names;
}

}  // namespace pando::test
