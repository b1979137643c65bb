// SPDX-License-Identifier: MIT
#include "pando/app/exit_code.h"

namespace pando::app {

int exit_code_of(const std::exception& error) {
  if (dynamic_cast<const NonFiniteLoss*>(&error) != nullptr) return kNonFiniteLoss;
  const auto* ours = dynamic_cast<const Error*>(&error);
  return ours != nullptr && ours->kind() == ErrorKind::invalid_argument ? kUsage : kFailed;
}

}  // namespace pando::app
