// The only list of kernels: for each op its candidates in order of preference.
// SPDX-License-Identifier: MIT
#include <map>

#include "pando/base/error.h"
#include "pando/kernels/kernel.h"
#include "pando/kernels/reference/reference.h"

namespace pando::kernels {

const std::vector<Candidate>& candidates(std::string_view op) {
  static const std::map<std::string, std::vector<Candidate>, std::less<>> catalog = {
      {"relu", {{"reference", reference_relu}}},
      {"relu_grad", {{"reference", reference_relu_grad}}},
  };
  const auto found = catalog.find(op);
  if (found == catalog.end()) throw InvalidArgument("op '", op, "' has no kernels");
  return found->second;
}

}  // namespace pando::kernels
