// The networks of the zoo as their entries describe them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/zoo/zoo.h"

namespace pando {

inline Network by_name(const std::string& name) {
  const ZooEntry& entry = zoo_entry(name);
  return entry.build(entry.input_shape, entry.outputs);
}

}  // namespace pando
