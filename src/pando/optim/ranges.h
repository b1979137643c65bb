// Range checks of optimizer options, most of which are used as 32-bit floats.
// SPDX-License-Identifier: MIT
#pragma once

#include <limits>

#include "pando/base/error.h"
#include "pando/optim/schedule.h"

namespace pando::optim {

inline void require_positive(const char* optimizer, const char* option, double value) {
  using Float = std::numeric_limits<float>;
  if (!(value >= Float::min() && value <= Float::max())) {
    throw InvalidArgument(optimizer, ": ", option, ": expected a number above 0, from ",
                          Float::min(), " to ", Float::max(), ", got ", value);
  }
}

inline void require_not_negative(const char* optimizer, const char* option, double value) {
  if (!(value >= 0 && value <= std::numeric_limits<float>::max())) {
    throw InvalidArgument(optimizer, ": ", option, ": expected 0 or more, at most ",
                          std::numeric_limits<float>::max(), ", got ", value);
  }
}

// Checks only the first value of a rate that is a function.
inline void require_rate(const char* optimizer, const LearningRate& rate) {
  require_not_negative(optimizer, "learning_rate", rate.at(0));
}

inline void require_fraction(const char* optimizer, const char* option, double value) {
  if (!(value >= 0 && value < 1)) {
    throw InvalidArgument(optimizer, ": ", option, ": expected 0 or more and below 1, got ", value);
  }
}

}  // namespace pando::optim
