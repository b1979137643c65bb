// The error of a training that diverged.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/base/error.h"

namespace pando {

// Thrown when a loss is not a finite number; the step it belongs to has changed no weights.
class NonFiniteLoss : public Error {
 public:
  explicit NonFiniteLoss(const std::string& message)
      : Error(ErrorKind::invalid_argument, message) {}
};

}  // namespace pando
