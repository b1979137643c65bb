// Options of all functions that read model files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pando/train/model.h"

namespace pando {

struct LoadModelOptions {
  // Extents that the file leaves open, by their names in the file ("height") or as "input:2", axis
  // 2 of an input with the batch as axis 0. The batch stays free.
  std::map<std::string, int64_t> extents = {};
  // Height and width of pictures where the file leaves them open and `extents` does not name them;
  // 0: those of the file's facts.
  int64_t height = 0;
  int64_t width = 0;
  // For heights and widths that all this leaves open; 0: the file is refused then.
  int64_t usual_side = 0;
  // Layers that the file declares not trainable are frozen (Model::set_trainable).
  bool freeze = true;
  ModelOptions model = {};
};

}  // namespace pando
