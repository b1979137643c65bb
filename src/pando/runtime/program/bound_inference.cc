// SPDX-License-Identifier: MIT
#include "pando/runtime/program/bound_inference.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/ops/op.h"

namespace pando::runtime {

namespace {

// Blocks begin on pages of their own, so no two threads write to one cache line.
constexpr size_t kArenaPage = 4096;

size_t whole_pages(size_t bytes) { return (bytes + kArenaPage - 1) / kArenaPage * kArenaPage; }

// The arena of a bound: activations, then the sums of each part, then the scratch memory of each.
struct ArenaLayout {
  explicit ArenaLayout(const compiler::Program& program)
      : sums(whole_pages(program.memory().stages[0].activations)),
        sums_stride(whole_pages(program.memory().stages[0].sums)),
        scratch(sums + static_cast<size_t>(program.slices()) * sums_stride),
        scratch_stride(whole_pages(program.scratch_bytes())),
        bytes(scratch + static_cast<size_t>(program.slices()) * scratch_stride) {}

  size_t sums;
  size_t sums_stride;
  size_t scratch;
  size_t scratch_stride;
  size_t bytes;
};

bool is_part_sum(compiler::Region region) { return region == compiler::Region::sums; }

}  // namespace

int64_t InferenceProgram::samples() const {
  for (const ir::Value* value : program->graph().inputs()) {
    if (value->role() == ir::InputRole::feed) return value->shape()[0];
  }
  throw InternalError("a program of inference needs at least one feed");
}

size_t InferenceProgram::memory_bytes() const { return ArenaLayout(*program).bytes; }

size_t arena_bytes(const std::vector<InferenceProgram>& programs) {
  size_t most = 1;
  for (const InferenceProgram& program : programs) most = std::max(most, program.memory_bytes());
  return most;
}

BoundInference::BoundInference(const std::vector<InferenceProgram>& programs, int spins)
    : parts_(programs.at(0).program->slices()),
      arena_(arena_bytes(programs)),
      barrier_(parts_, spins) {
  for (const InferenceProgram& program : programs) {
    const compiler::Program& compiled = *program.program;
    PANDO_CHECK(compiled.slices() == parts_ && (parts_ == 1 || compiled.in_parts()),
                "a bound needs programs of one slice, or of as many parts as the first one");
    PANDO_CHECK(compiled.stages() == 1 && compiled.sections().size() == 1,
                "a bound needs programs without pipeline stages and gradients");
    bound_.push_back(bind(program));
  }
  arena_.prefault(0, arena_.size());
}

std::byte* BoundInference::address(const InferenceProgram& program,
                                   const compiler::Operand& operand, int part) const {
  const auto index = static_cast<size_t>(part);
  const ArenaLayout layout(*program.program);
  switch (operand.place.region) {
    case compiler::Region::activations: return arena_.data() + operand.place.offset;
    case compiler::Region::sums:
      return arena_.data() + layout.sums + index * layout.sums_stride + operand.place.offset;
    case compiler::Region::packed:
    case compiler::Region::external: return program.weights.at(operand.value);
    default: throw InternalError("inference has no gradients, moments and held activations");
  }
}

BoundInference::Bound BoundInference::bind(const InferenceProgram& program) {
  const compiler::Program& compiled = *program.program;
  Bound bound{.samples = program.samples()};
  for (const ir::Value* value : compiled.graph().inputs()) {
    if (value->role() != ir::InputRole::feed) continue;
    bound.feeds.push_back(address(program, compiled.operand(value), 0));
  }
  for (const ir::Output& output : compiled.graph().outputs()) {
    bound.results.push_back(address(program, compiled.operand(output.value), 0));
  }
  for (int part = 0; part < parts_; ++part) {
    std::vector<BoundCall>& calls = bound.calls.emplace_back();
    for (const compiler::Segment& segment : compiled.sections()[0].segments) {
      for (const int index : segment.calls) {
        calls.push_back(bind_call(program, compiled.calls()[static_cast<size_t>(index)], part));
      }
    }
  }
  return bound;
}

BoundInference::BoundCall BoundInference::bind_call(const InferenceProgram& program,
                                                    const compiler::Call& call, int part) {
  std::vector<std::byte*> inputs;
  for (const compiler::Operand& operand : call.inputs) {
    const int first = call.gathers_slices ? 0 : part;
    const int last = call.gathers_slices ? parts_ - 1 : part;
    for (int i = first; i <= last; ++i) inputs.push_back(address(program, operand, i));
  }
  std::byte** array =
      arrays_.emplace_back(std::make_unique<std::byte*[]>(inputs.size() + call.outputs.size() + 1))
          .get();
  std::ranges::copy(inputs, array);
  std::byte** outputs = array + inputs.size();
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    outputs[i] = address(program, call.outputs[i], part);
  }
  const ArenaLayout layout(*program.program);
  BoundCall bound{.kernel = call.kernel,
                  .args = {.inputs = array,
                           .outputs = outputs,
                           .scratch = arena_.data() + layout.scratch +
                                      static_cast<size_t>(part) * layout.scratch_stride,
                           .num_inputs = static_cast<int>(inputs.size())}};
  if (parts_ == 1) return bound;
  // Each part computes for itself what follows from sums, as in BoundProgram; other work is
  // divided. A kernel that does not split runs once, and the other parts add zeros to its sums.
  const bool batch_sum = ops::has_trait(*call.node, ops::Trait::batch_sum);
  const bool own = is_part_sum(call.outputs[0].place.region) && !batch_sum;
  bound.split = call.kernel->splits() && !own;
  bound.runs = bound.split || own || part == 0;
  if (!bound.runs && batch_sum) {
    for (const ir::Value* value : call.node->outputs())
      bound.zeroed_bytes.push_back(value->bytes());
  }
  return bound;
}

void BoundInference::run(size_t program, int part) {
  const Bound& bound = bound_[program];
  kernels::StepArgs step{.valid = bound.samples, .batch_valid = bound.samples};
  kernels::StepArgs share = step;
  share.part = {part, parts_};
  for (const BoundCall& call : bound.calls[static_cast<size_t>(part)]) {
    for (size_t i = 0; i < call.zeroed_bytes.size(); ++i) {
      std::memset(call.args.outputs[i], 0, call.zeroed_bytes[i]);
    }
    if (call.runs) call.kernel->run(call.args, call.split ? share : step);
    // Any call may read what another part wrote.
    if (parts_ > 1) barrier_.arrive_and_wait();
  }
}

}  // namespace pando::runtime
