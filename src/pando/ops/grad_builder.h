// The interface that an op's gradient rule uses: it emits nodes and passes gradients to the op's
// inputs. grad/ implements it and walks the graph.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/ir/graph.h"

namespace pando::ops {

class GradBuilder {
 public:
  virtual ~GradBuilder() = default;
  // Whether the gradient of this value is needed; if not, a rule may skip the work.
  virtual bool wants(const ir::Value* value) const = 0;
  // Appends a node of the backward graph; its types are inferred.
  virtual ir::Node* emit(std::string op, std::vector<ir::Value*> inputs,
                         ir::Attributes attributes = {}, int outputs = 1) = 0;
  // Adds `gradient` to the gradient of `value` (several contributions are summed).
  virtual void add(const ir::Value* value, ir::Value* gradient) = 0;
};

}  // namespace pando::ops
