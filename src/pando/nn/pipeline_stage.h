// The scope that assigns layers to a pipeline stage while a network is described.
// SPDX-License-Identifier: MIT
#pragma once

namespace pando {

// Within the scope, layers that this thread creates or calls belong to the stage:
//   { PipelineStage stage(0); x = Conv2D({.filters = 32})(x); }
// A layer that is created in one scope and called in another belongs, for that call, to the stage
// of the call. Throws InvalidArgument for a scope inside another, and for a negative number.
class [[nodiscard]] PipelineStage {
 public:
  explicit PipelineStage(int number);
  ~PipelineStage();
  PipelineStage(const PipelineStage&) = delete;
  PipelineStage& operator=(const PipelineStage&) = delete;

  // The stage of this thread's scope; -1 outside of all scopes.
  static int current();
};

}  // namespace pando
