// The scope that assigns layers to a pipeline stage while a network is described.
// SPDX-License-Identifier: MIT
#pragma once

namespace pando {

// Until it ends, layers that this thread makes or calls belong to the stage:
//   { PipelineStage stage(0); x = Conv2D({.filters = 32})(x); }
// A layer made in one scope and called in another belongs, for that call, to the stage of the call.
// Scopes do not nest. Throws InvalidArgument for that, and for a negative number.
class [[nodiscard]] PipelineStage {
 public:
  explicit PipelineStage(int number);
  ~PipelineStage();
  PipelineStage(const PipelineStage&) = delete;
  PipelineStage& operator=(const PipelineStage&) = delete;

  // The stage of this thread's scope; -1 outside of any.
  static int current();
};

}  // namespace pando
