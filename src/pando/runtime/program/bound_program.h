// A program bound to memory: one arena per device, the model's variables and the workers that will
// run it. Every address is known before the first step, or follows from the micro-batch's number.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "pando/compiler/program.h"
#include "pando/data/batch_plan.h"
#include "pando/profile/trace.h"
#include "pando/runtime/machine/arena.h"
#include "pando/runtime/machine/fp_exceptions.h"
#include "pando/runtime/machine/worker_team.h"
#include "pando/runtime/program/accumulation.h"
#include "pando/runtime/program/device_memory.h"
#include "pando/runtime/program/placement.h"
#include "pando/runtime/program/statistics_exchange.h"
#include "pando/runtime/program/variables.h"

namespace pando::runtime {

class GradientCounter;

// One visit of a slice at a section.
struct SliceVisit {
  int section = 0;
  int lane = 0;
  int micro_batch = 0;                 // within its weight update
  int64_t update = -1;                 // weight updates before; -1: without weight updates
  bool last = false;                   // micro-batch of the weight update
  MixWeights mix;                      // of its gradients
  GradientCounter* counter = nullptr;  // what counts its gradients; may be null
  kernels::StepArgs step;
  profile::TraceTrack* track = nullptr;  // where ops are recorded; may be null
};

// A gradient within the memory of its bucket.
struct BucketGradient {
  size_t offset = 0;  // bytes from the beginning of the bucket
  int64_t elements = 0;
  uint64_t key = 0;  // of the variable's name
};

// A lane is one slice of one replica: lane r * slices + s is slice s of replica r. In each stage it
// belongs to one worker of the stage's device, and methods that take a lane are called by that
// worker. Different lanes may run at once.
class BoundProgram {
 public:
  // Requires: program, variables and team outlive the bound program. Throws InvalidArgument when
  // the team has too few devices for the placement.
  BoundProgram(const compiler::Program& program, VariableStore& variables, WorkerTeam& team,
               Placement placement = {});

  const compiler::Program& program() const { return program_; }
  bool in_f16() const { return program_.options().precision.compute == DType::f16; }
  const Placement& placement() const { return placement_; }
  int slices() const { return program_.slices(); }
  int lanes() const { return placement_.replicas * slices(); }
  int replica_of(int lane) const { return lane / slices(); }
  int device_of(int replica, int stage) const;
  int worker_of(int lane, int stage) const;
  int64_t slice_batch() const { return slice_batch_; }  // samples of one slice, padding included
  int held(int stage) const { return held_[static_cast<size_t>(stage)]; }

  // Casts, folds and packs variables: one segment of the program's prologue. `step` holds the seed
  // and, as its first sample, the number of weight updates before; the rounding of weights depends
  // on both.
  void run_prologue(const compiler::Segment& segment, int worker,
                    const kernels::StepArgs& step = {}) const;
  // Binds a visit's addresses; called before its first segment.
  void prepare(const SliceVisit& visit);
  void run_segment(const compiler::Segment& segment, const SliceVisit& visit);
  // Whether a segment reads statistics of other instances. Then one worker calls gather() before
  // it, after all lanes have done the segments before.
  bool gathers(const compiler::Segment& segment) const {
    return statistics_ != nullptr && statistics_->wanted(segment);
  }
  void gather(const compiler::Segment& segment, int micro_batch);
  // The cost of gather() since the last call.
  ExchangeFigures take_gather_figures() {
    return statistics_ == nullptr ? ExchangeFigures{} : statistics_->take_figures();
  }
  // The stored type of all gradients.
  DType gradient_type() const { return gradient_type_; }
  // The bucket that a gradient lies in.
  size_t bucket_of(const compiler::Place& gradient) const;
  // The gradients of a bucket; what lies between them is zero.
  std::span<const BucketGradient> gradients(size_t bucket) const { return gradients_[bucket]; }
  // Called after the last segment of a forward section: adds its statistics to those of the update.
  void accumulate_moments(const SliceVisit& visit) const;
  // Copies the samples of a lane out of its replica's micro-batch (null: padding only).
  void feed(int lane, int micro_batch, const Batch* batch, int64_t valid) const;

  // First sample and number of real samples of a slice. With parts, slice 0 has them all.
  int64_t slice_first(int slice) const;
  int64_t slice_valid(int slice, int64_t valid) const;
  // The address of a value in a lane.
  std::byte* address(const compiler::Operand& operand, int lane, int micro_batch = 0) const;

  // Gives every call its name in a trace.
  void name_calls(profile::Trace& trace);

  // Called by the worker that completes a bucket of gradients in the last of all lanes, once per
  // weight update: communication between processes begins here.
  using BucketHook = std::function<void(int bucket)>;
  void set_bucket_hook(BucketHook hook) { bucket_hook_ = std::move(hook); }
  // Called by every worker after each kernel.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }
  void begin_update();

 private:
  struct BoundCall {
    const kernels::Kernel* kernel = nullptr;
    kernels::KernelArgs args;
    std::vector<size_t> sum_bytes;  // sizes of the outputs, if they are sums over samples
    bool runs = true;
    bool split = false;
    int bucket = -1;
    int32_t name = 0;
  };
  // An address that changes with the micro-batch.
  struct Moving {
    std::byte** at = nullptr;
    compiler::Operand operand;
    int lane = 0;
  };
  struct alignas(64) Bound {
    int micro_batch = -1;
    std::vector<Moving> moving;
  };

  bool moves(const compiler::Operand& operand) const;
  bool same_addresses(int a, int b) const;
  int gather_first(int lane) const;
  BoundCall bind(const compiler::Call& call, int lane, int section);
  void bind_array(std::byte** array, const std::vector<std::pair<compiler::Operand, int>>& operands,
                  Bound* bound);
  void bind_elsewhere(const compiler::Call& call, std::byte** array, Bound* bound);
  void run_call(const BoundCall& call, const SliceVisit& visit) const;
  std::string node_text(int call) const;
  ExecutionPlace place_of(const SliceVisit& visit) const;
  void run_watched(int index, const SliceVisit& visit) const;
  void run_packer(int index, int worker, const kernels::StepArgs& step) const;
  void finish_bucket(int bucket, const SliceVisit& visit);
  void find_gradients();
  void mix_bucket(size_t index, const SliceVisit& visit) const;
  std::byte* scratch_of(int worker) const;
  Bound& bound(int section, int lane) {
    return bound_[static_cast<size_t>(section) * static_cast<size_t>(lanes()) +
                  static_cast<size_t>(lane)];
  }

  const compiler::Program& program_;
  VariableStore& variables_;
  WorkerTeam& team_;
  Placement placement_;
  int devices_per_replica_ = 1;
  std::vector<int> held_;                              // micro-batches per stage
  std::vector<std::unique_ptr<DeviceMemory>> memory_;  // [device]
  Arena packed_;
  std::unique_ptr<StatisticsExchange> statistics_;  // null: no instance needs statistics of others
  std::vector<compiler::Operand> feeds_;
  std::vector<compiler::Operand> moments_;
  int packers_ = 0;  // workers that pack variables, on the devices in use
  int64_t slice_batch_ = 0;
  std::vector<std::unique_ptr<std::byte*[]>> arrays_;
  std::vector<std::vector<BoundCall>> calls_;  // [lane][call]
  std::vector<Bound> bound_;                   // [section][lane]
  DType gradient_type_ = DType::f32;
  std::vector<std::vector<BucketGradient>> gradients_;  // [bucket]
  std::vector<std::atomic<int>> buckets_done_;
  BucketHook bucket_hook_;
  std::function<void()> poll_;
};

}  // namespace pando::runtime
