// The programs of a predictor: one per batch size, which choose the same kernels and share weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/compiler/pass.h"
#include "pando/data/source.h"
#include "pando/nn/network.h"
#include "pando/runtime/program/bound_inference.h"
#include "pando/runtime/program/variables.h"

namespace pando::train {

struct PredictorPlan {
  Network network;
  std::vector<Field> fields;           // one per input of features
  compiler::ProgramOptions compiling;  // all but the division
  bool test_time_flip = false;         // test_time_flip.h
};

// 1, 2, 4, ... up to `most`.
std::vector<int64_t> powers_of_two(int64_t most);

// One program for each of 1, 2, 4, ... up to `most` samples, as far as their values fit into the
// cache of a worker: beyond that, larger batches are slower. With several `parts`, every call is
// cut into as many.
std::vector<runtime::InferenceProgram> make_predictor_programs(
    const PredictorPlan& plan, int64_t most, int parts, const runtime::VariableStore& variables,
    runtime::FrozenWeights& weights);

}  // namespace pando::train
