// The values that a named parameter of a record (an optimizer, a normalisation) may have.
// SPDX-License-Identifier: MIT
#pragma once

namespace pando {

// fraction: 0 or more and below 1; share: 0 to 1; count: a whole number of 1 or more.
enum class ParameterRange { on_off, count, fraction, share, positive, not_negative, any };

}  // namespace pando
