// The passes of the compiler. The source of each rewrite shows the graph before -> after.
// SPDX-License-Identifier: MIT
#pragma once

#include <unordered_set>

#include "pando/compiler/pass.h"

namespace pando::compiler {

class InferShapes : public Pass {
 public:
  std::string_view name() const override { return "infer-shapes"; }
  std::string_view purpose() const override { return "checks every node and types its results"; }
  bool required() const override { return true; }
  bool run(CompileState& state) const override;
};

class FoldBatchNorm : public Pass {
 public:
  std::string_view name() const override { return "fold-batch-norm"; }
  std::string_view purpose() const override {
    return "in inference, folds batch norm into the filter and bias of the conv or dense before it";
  }
  bool run(CompileState& state) const override;
};

class FoldScale : public Pass {
 public:
  std::string_view name() const override { return "fold-scale"; }
  std::string_view purpose() const override {
    return "in inference, folds factors and offsets into the filter and bias beside them";
  }
  bool run(CompileState& state) const override;
};

class FusePad : public Pass {
 public:
  std::string_view name() const override { return "fuse-pad"; }
  std::string_view purpose() const override {
    return "in inference, makes zeros around a conv's input padding of the conv";
  }
  bool run(CompileState& state) const override;
};

class FuseResidual : public Pass {
 public:
  std::string_view name() const override { return "fuse-residual"; }
  std::string_view purpose() const override {
    return "in inference, adds a residual inside the conv before the sum";
  }
  bool run(CompileState& state) const override;
};

class FusePostOps : public Pass {
 public:
  std::string_view name() const override { return "fuse-post-ops"; }
  std::string_view purpose() const override {
    return "moves relu and leaky relu into the conv, dense, batch norm or add before it";
  }
  bool run(CompileState& state) const override;
};

class FusePoolGrad : public Pass {
 public:
  std::string_view name() const override { return "fuse-pool-grad"; }
  std::string_view purpose() const override {
    return "takes the gradient of an activation before max pooling from the pooled values";
  }
  bool run(CompileState& state) const override;
};

class FuseConvPool : public Pass {
 public:
  std::string_view name() const override { return "fuse-conv-pool"; }
  std::string_view purpose() const override {
    return "pools a convolution's rows while they are in the cache";
  }
  bool run(CompileState& state) const override;
};

class FuseConvPoolGrad : public Pass {
 public:
  std::string_view name() const override { return "fuse-conv-pool-grad"; }
  std::string_view purpose() const override {
    return "computes the gradients of pooling and convolution in one op, if pooling keeps one "
           "value "
           "of many";
  }
  bool run(CompileState& state) const override;
};

class FuseBatchNormGrad : public Pass {
 public:
  std::string_view name() const override { return "fuse-batch-norm-grad"; }
  std::string_view purpose() const override {
    return "applies the mask of relu inside the gradient of batch norm";
  }
  bool run(CompileState& state) const override;
};

class EraseDead : public Pass {
 public:
  std::string_view name() const override { return "erase-dead"; }
  std::string_view purpose() const override { return "removes nodes whose results are unused"; }
  bool run(CompileState& state) const override;
};

class LowerPrecision : public Pass {
 public:
  std::string_view name() const override { return "lower-precision"; }
  std::string_view purpose() const override {
    return "stores values in 16 bits and adds casts where values stay in 32 bits";
  }
  bool required() const override { return true; }
  bool run(CompileState& state) const override;
};

class SelectKernels : public Pass {
 public:
  std::string_view name() const override { return "select-kernels"; }
  std::string_view purpose() const override {
    return "chooses the kernel of every node and packs the variables that the kernel needs packed";
  }
  bool required() const override { return true; }
  bool run(CompileState& state) const override;
};

class SplitStages : public Pass {
 public:
  std::string_view name() const override { return "split-stages"; }
  std::string_view purpose() const override {
    return "orders the nodes of a pipeline by stage, forward and then backward";
  }
  bool required() const override { return true; }
  bool run(CompileState& state) const override;
};

class Recompute : public Pass {
 public:
  std::string_view name() const override { return "recompute"; }
  std::string_view purpose() const override {
    return "computes activations again in backward instead of keeping them";
  }
  bool run(CompileState& state) const override;
};

class RepeatNorms : public Pass {
 public:
  std::string_view name() const override { return "repeat-norms"; }
  std::string_view purpose() const override {
    return "computes results of batch norm again in backward, which keeps their inputs anyway";
  }
  bool run(CompileState& state) const override;
};

class TileSamples : public Pass {
 public:
  std::string_view name() const override { return "tile-samples"; }
  std::string_view purpose() const override {
    return "in training, runs chains of ops on a few samples at a time, which stay in the cache";
  }
  bool run(CompileState& state) const override;
};

class PlanMemory : public Pass {
 public:
  std::string_view name() const override { return "plan-memory"; }
  std::string_view purpose() const override {
    return "gives every value a place in memory; values with disjoint lifetimes share memory";
  }
  bool run(CompileState& state) const override;
};

// The nodes that depend on the loss seed; all others are forward nodes.
std::unordered_set<const ir::Node*> backward_nodes(const ir::Graph& graph);

// The nodes that run once per weight update, in steps: a node reads only what earlier steps made.
std::vector<std::vector<const ir::Node*>> prologue_steps(const ir::Graph& graph);

// Gives every value its own memory. Used when plan-memory is switched off.
MemoryPlan plan_without_sharing(const CompileState& state);

}  // namespace pando::compiler
