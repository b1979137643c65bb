// SPDX-License-Identifier: MIT
#include "pando/nn/pipeline_stage.h"

#include "pando/base/error.h"

namespace pando {

namespace {

thread_local int current_stage = -1;

}  // namespace

PipelineStage::PipelineStage(int number) {
  if (number < 0) {
    throw InvalidArgument("PipelineStage: the stage is ", number, ", wanted 0 or more");
  }
  if (current_stage >= 0) {
    throw InvalidArgument("PipelineStage: stage ", number, " begins inside stage ", current_stage,
                          "; scopes do not nest, end that one first");
  }
  current_stage = number;
}

PipelineStage::~PipelineStage() { current_stage = -1; }

int PipelineStage::current() { return current_stage; }

}  // namespace pando
