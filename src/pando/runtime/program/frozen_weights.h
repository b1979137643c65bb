// Weights as the calls of inference read them: folded, packed, rounded once. Programs for several
// batch sizes, and all workers, share them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "pando/compiler/program.h"
#include "pando/runtime/machine/arena.h"
#include "pando/runtime/program/variables.h"

namespace pando::runtime {

// Where each weight is that the sections of a program read.
using WeightAddresses = std::unordered_map<const ir::Value*, std::byte*>;

// Owns the memory; addresses stay. Filled by one thread, read by any number of them afterwards.
class FrozenWeights {
 public:
  FrozenWeights() = default;
  FrozenWeights(const FrozenWeights&) = delete;
  FrozenWeights& operator=(const FrozenWeights&) = delete;

  // Runs the prologue of a program and keeps what its sections read. Equal bytes are kept only
  // once, because the kernels of an op read the same packed filter at every batch size. Neither
  // program nor variables are needed afterwards. Throws OverMemoryLimit.
  WeightAddresses add(const compiler::Program& program, const VariableStore& variables);
  size_t bytes() const { return bytes_; }

 private:
  std::vector<std::unique_ptr<Arena>> blocks_;
  std::multimap<size_t, std::byte*> by_size_;
  size_t bytes_ = 0;
};

}  // namespace pando::runtime
