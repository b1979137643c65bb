// The parts of a bound program that workers run: the calls of a lane, the accumulation of their
// gradients, and the prologue of a weight update.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/base/random.h"
#include "pando/runtime/program/bound_program.h"
#include "pando/runtime/program/gradient_counter.h"

namespace pando::runtime {

namespace {

// Gives a variable's accumulators other rounding noise than the variable itself.
constexpr uint64_t kAccumulators = 0x9e3779b97f4a7c15;

float* floats(std::byte* bytes) { return reinterpret_cast<float*>(bytes); }

}  // namespace

void BoundProgram::run_call(const BoundCall& call, const SliceVisit& visit) const {
  // A sum over no samples is zero, whatever the network computed of the zeros it was fed.
  const bool empty = visit.step.valid == 0 && !call.sum_bytes.empty();
  if (empty || !call.runs) {
    for (size_t i = 0; i < call.sum_bytes.size(); ++i) {
      std::memset(call.args.outputs[i], 0, call.sum_bytes[i]);
    }
    return;
  }
  if (!call.split) return call.kernel->run(call.args, visit.step);
  kernels::StepArgs part = visit.step;
  part.part = {visit.lane % slices(), slices()};
  call.kernel->run(call.args, part);
}

std::string BoundProgram::node_text(int call) const {
  const ir::Node& node = *program_.runnable(call).node;
  constexpr std::string_view kBackward = "/grad";
  std::string_view layer = node.name();
  const bool backward = layer.ends_with(kBackward);
  if (backward) layer.remove_suffix(kBackward.size());
  return concat(node.op(), backward ? ", backward of layer '" : " of layer '", layer, "'");
}

ExecutionPlace BoundProgram::place_of(const SliceVisit& visit) const {
  return {.update = visit.update,
          .micro_batch = visit.micro_batch,
          .replica = placement_.first_replica() + replica_of(visit.lane),
          .instance = placement_.instance(),
          .f16 = in_f16()};
}

void BoundProgram::run_watched(int index, const SliceVisit& visit) const {
  clear_fp_exceptions();
  run_call(calls_[static_cast<size_t>(visit.lane)][static_cast<size_t>(index)], visit);
  if (raised_fp_exceptions() == 0) return;
  throw_fp_exception(node_text(index), place_of(visit));
}

void BoundProgram::run_segment(const compiler::Segment& segment, const SliceVisit& visit) {
  const std::vector<BoundCall>& calls = calls_[static_cast<size_t>(visit.lane)];
  int64_t begin = visit.track == nullptr ? 0 : visit.track->now();
  for (const int index : segment.order) {
    const BoundCall& call = calls[static_cast<size_t>(index)];
    if (placement_.stop_at_fp_exceptions) {
      run_watched(index, visit);
    } else {
      run_call(call, visit);
    }
    if (call.bucket >= 0) finish_bucket(call.bucket, visit);
    if (poll_) poll_();
    if (visit.track == nullptr) continue;
    const compiler::Section& section = program_.sections()[static_cast<size_t>(visit.section)];
    const int64_t end = visit.track->now();
    visit.track->add({.begin = begin,
                      .end = end,
                      .name = call.name,
                      .micro_batch = visit.micro_batch,
                      .replica = replica_of(visit.lane),
                      .stage = static_cast<int16_t>(program_.pipelined() ? section.stage : -1),
                      .backward = section.backward});
    begin = end;
  }
}

// Handles 16-bit gradients one by one: how each is rounded depends on its variable, its samples and
// its part, not on the other gradients of a stage.
void BoundProgram::mix_bucket(size_t index, const SliceVisit& visit) const {
  const compiler::Bucket& bucket = program_.memory().buckets[index];
  const compiler::Place place{compiler::Region::gradients, bucket.stage, bucket.begin};
  const compiler::Operand operand{place, nullptr};
  std::byte* total = address(operand, visit.lane, 0);
  std::byte* values = address(operand, visit.lane, visit.micro_batch);
  if (gradient_type_ == DType::f32) {
    const auto count = static_cast<int64_t>((bucket.end - bucket.begin) / sizeof(float));
    return mix_into(floats(total), floats(values), count, visit.mix);
  }
  const HalfOptions& half = program_.options().half;
  HalfRounding rounding{.stochastic = half.stochastic_rounding == StochasticRounding::on,
                        .nan_on_overflow = half.nan_on_overflow};
  const uint64_t samples = mix_keys(static_cast<uint64_t>(visit.step.first_sample),
                                    static_cast<uint64_t>(visit.lane % slices()));
  for (const BucketGradient& gradient : gradients_[index]) {
    rounding.key = mix_keys(mix_keys(visit.step.seed, gradient.key ^ kAccumulators), samples);
    mix_stored({gradient_type_, total + gradient.offset},
               {gradient_type_, values + gradient.offset}, gradient.elements, visit.mix, rounding);
  }
}

// The first micro-batch writes its gradients to the place to which later ones add theirs.
void BoundProgram::finish_bucket(int index, const SliceVisit& visit) {
  if (visit.counter != nullptr) visit.counter->count(index, visit.lane, visit.micro_batch);
  if (visit.micro_batch > 0) {
    if (placement_.stop_at_fp_exceptions) clear_fp_exceptions();
    mix_bucket(static_cast<size_t>(index), visit);
    if (placement_.stop_at_fp_exceptions && raised_fp_exceptions() != 0) {
      throw_fp_exception(concat("accumulated gradients of bucket ", index), place_of(visit));
    }
  }
  if (!visit.last) return;
  const int done = buckets_done_[static_cast<size_t>(index)].fetch_add(1) + 1;
  if (done == lanes() && bucket_hook_) bucket_hook_(index);
}

void BoundProgram::begin_update() {
  for (std::atomic<int>& count : buckets_done_) count = 0;
}

void BoundProgram::accumulate_moments(const SliceVisit& visit) const {
  if (visit.micro_batch == 0) return;
  const int stage = program_.sections()[static_cast<size_t>(visit.section)].stage;
  for (const compiler::Operand& operand : moments_) {
    if (operand.place.stage != stage) continue;
    merge_moments(floats(address(operand, visit.lane, 0)),
                  floats(address(operand, visit.lane, visit.micro_batch)),
                  (operand.value->shape().elements() - 1) / 2);
  }
}

void BoundProgram::run_prologue(const compiler::Segment& segment, int worker,
                                const kernels::StepArgs& step) const {
  if (worker >= packers_) return;
  for (const int index : segment.calls) {
    if (placement_.stop_at_fp_exceptions) clear_fp_exceptions();
    run_packer(index, worker, step);
    if (placement_.stop_at_fp_exceptions && raised_fp_exceptions() != 0) {
      throw_fp_exception(
          node_text(index),
          {.update = step.first_sample, .instance = placement_.instance(), .f16 = in_f16()});
    }
  }
}

void BoundProgram::run_packer(int index, int worker, const kernels::StepArgs& step) const {
  const BoundCall& bound = calls_[0][static_cast<size_t>(index)];
  kernels::KernelArgs args = bound.args;
  args.scratch = scratch_of(worker);
  if (!bound.kernel->splits()) {
    if (index % packers_ == worker) bound.kernel->run(args, step);
    return;
  }
  kernels::StepArgs part = step;
  part.part = {worker, packers_};
  bound.kernel->run(args, part);
}

}  // namespace pando::runtime
