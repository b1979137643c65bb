// SPDX-License-Identifier: MIT
#include "pando/nn/pipeline_stage.h"

#include "pando/base/error.h"

namespace pando {

namespace {

thread_local int current_stage = -1;

}  // namespace

PipelineStage::PipelineStage(int number) {
  if (number < 0) {
    throw InvalidArgument("PipelineStage: stage: expected 0 or more, got ", number);
  }
  if (current_stage >= 0) {
    throw InvalidArgument("PipelineStage: stage ", number, " begins inside stage ", current_stage,
                          "; scopes cannot be nested, end the outer one first");
  }
  current_stage = number;
}

PipelineStage::~PipelineStage() { current_stage = -1; }

int PipelineStage::current() { return current_stage; }

}  // namespace pando
