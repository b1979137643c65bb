// SPDX-License-Identifier: MIT
#include "pando/compiler/pipeline.h"

#include <chrono>

#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ir/text.h"
#include "pando/ir/verifier.h"

namespace pando::compiler {

PassPipeline default_pipeline() {
  PassPipeline pipeline;
  pipeline.add<InferShapes>();
  pipeline.add<FusePad>();
  pipeline
      .add<FoldBatchNorm>();     // before the fusions: only then a sum or activation follows a conv
  pipeline.add<FoldScale>();     // after fold-batch-norm, which takes filters that are variables
  pipeline.add<FuseResidual>();  // before fuse-post-ops: the activation comes after the sum
  pipeline.add<FusePostOps>();   // the fusions below look for ops with activations
  pipeline.add<FusePoolGrad>();  // before fuse-conv-pool: frees the convolution's full result
  pipeline.add<FuseConvPool>();
  pipeline.add<FuseConvPoolGrad>();  // after fuse-pool-grad, which gives it the activation
  pipeline.add<FuseBatchNormGrad>();
  pipeline.add<EraseDead>();       // after fusion, which leaves nodes behind
  pipeline.add<LowerPrecision>();  // after fusion: values inside a fused op are not rounded
  pipeline.add<SelectKernels>();   // after fusion: a fused op has one kernel, not two
  pipeline.add<SplitStages>();     // after select-kernels: recompute copies the final nodes
  pipeline.add<Recompute>();
  pipeline.add<RepeatNorms>();  // after the fusions: only what backward still reads is repeated
  pipeline.add<TileSamples>();  // after all that adds or moves nodes: chains are nodes in a row
  pipeline.add<PlanMemory>();   // last: sizes are final only after select-kernels
  return pipeline;
}

void PassPipeline::check_disabled(const std::set<std::string>& names) const {
  std::vector<std::string> known;
  for (const auto& pass : passes_) {
    if (!pass->required()) known.emplace_back(pass->name());
  }
  for (const std::string& name : names) {
    bool found = false;
    for (const auto& pass : passes_) {
      if (pass->name() != name) continue;
      found = true;
      if (pass->required()) {
        throw InvalidArgument("pass '", name, "' cannot be disabled: every program needs it; ",
                              "optional passes: ", join(known, ", "));
      }
    }
    if (!found) throw InvalidArgument(unknown_name_message("pass", name, known));
  }
}

std::vector<PassRecord> PassPipeline::run(CompileState& state) const {
  check_disabled(state.options.disabled_passes);
  std::vector<PassRecord> records;
  for (const auto& pass : passes_) {
    PassRecord record{.name = std::string(pass->name())};
    record.disabled = state.options.disabled_passes.contains(record.name);
    if (!record.disabled) {
      const auto start = std::chrono::steady_clock::now();
      record.changed = pass->run(state);
      record.seconds = seconds_since(start);
      try {
        ir::verify(state.graph);
      } catch (const Error& error) {
        throw InternalError("after pass ", record.name, ": ", error.what());
      }
      if (record.changed && state.options.dump) state.options.dump(record.name, state.graph);
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace pando::compiler
