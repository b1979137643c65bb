// What an op's gradient rule may do: emit nodes and hand gradients to its inputs. The graph walk
// behind it lives in grad/.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/ir/graph.h"

namespace pando::ops {

class GradBuilder {
 public:
  virtual ~GradBuilder() = default;
  // Whether anybody needs the gradient of this value; a rule may skip work where not.
  virtual bool wants(const ir::Value* value) const = 0;
  // Appends a node of the backward graph; its types are inferred.
  virtual ir::Node* emit(std::string op, std::vector<ir::Value*> inputs,
                         ir::Attributes attributes = {}, int outputs = 1) = 0;
  // Adds `gradient` to the gradient of `value` (several contributions are summed).
  virtual void add(const ir::Value* value, ir::Value* gradient) = 0;
};

}  // namespace pando::ops
