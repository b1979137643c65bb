// The error of a command line or configuration file.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/base/error.h"

namespace pando {

// A wrong flag, value or configuration key; the message names it.
class UsageError : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

}  // namespace pando
