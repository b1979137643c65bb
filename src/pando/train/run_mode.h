// What a model is run for.
// SPDX-License-Identifier: MIT
#pragma once

namespace pando {

enum class RunMode { train, evaluate, predict };

constexpr const char* to_string(RunMode mode) {
  switch (mode) {
    case RunMode::train: return "train";
    case RunMode::evaluate: return "evaluate";
    case RunMode::predict: return "predict";
  }
  return "?";
}

}  // namespace pando
