// SPDX-License-Identifier: MIT
#include "pando/runtime/update/updater.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "pando/base/multiversion.h"
#include "pando/base/random.h"

namespace pando::runtime {

namespace {

PANDO_MULTIVERSION void decay(float* weights, int64_t count, float share) {
  for (int64_t i = 0; i < count; ++i) weights[i] -= share * weights[i];
}

// Uses several independent sums, so that additions do not wait for each other.
PANDO_MULTIVERSION double squares(const float* values, int64_t count) {
  constexpr int64_t kSums = 16;
  double sums[kSums] = {};
  const int64_t whole = count / kSums * kSums;
  for (int64_t i = 0; i < whole; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) {
      const auto value = static_cast<double>(values[i + k]);
      sums[k] += value * value;
    }
  }
  for (int64_t i = whole; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    sums[i - whole] += value * value;
  }
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

int64_t blocks_of(int64_t elements) { return (elements + kStoredBlock - 1) / kStoredBlock; }

Stored stored(Tensor& tensor) { return {tensor.dtype(), tensor.data()}; }

}  // namespace

Updater::Updater(const BoundProgram& bound, VariableStore& variables, const Optimizer& optimizer,
                 int workers, const Exchange* exchange)
    : optimizer_(optimizer),
      half_(bound.program().options().half),
      watches_(bound.placement().stop_at_fp_exceptions),
      instance_(bound.placement().instance()),
      in_f16_(bound.in_f16()),
      workers_(workers) {
  variables.ensure_slots(*optimizer_.rule);
  const size_t slots = optimizer_.rule->slots().size();
  for (int worker = 0; worker < workers; ++worker) {
    slot_spaces_.push_back({.blocks = std::vector<BlockSpace>(slots),
                            .roundings = std::vector<HalfRounding>(slots),
                            .span = {.slots = std::vector<float*>(slots)}});
  }
  for (const ir::Output& output : bound.program().graph().outputs()) {
    if (output.role != ir::OutputRole::gradient) continue;
    const compiler::Operand gradient = bound.program().operand(output.value);
    Trained& trained = add_trained(variables.get(output.name));
    if (exchange != nullptr) {
      trained.gradients.push_back(exchange->total(gradient.place));
      continue;
    }
    for (int lane = 0; lane < bound.lanes(); ++lane) {
      trained.gradients.push_back({output.value->type().dtype, bound.address(gradient, lane)});
    }
  }
}

Updater::Trained& Updater::add_trained(Variable& variable) {
  Trained trained{.name = variable.name,
                  .weights = stored(variable.value),
                  .elements = variable.value.elements(),
                  .scale_or_shift = is_scale_or_shift(variable.name),
                  .first_block = block_sums_.size(),
                  .key = hash_name(variable.name),
                  .rate_factor = optimizer_.rate_factor(variable.name)};
  for (Tensor& slot : variable.slots) trained.slots.push_back(stored(slot));
  if (optimizer_.rule->wants_norms()) {
    block_sums_.resize(block_sums_.size() + static_cast<size_t>(blocks_of(trained.elements)));
  }
  return trained_.emplace_back(std::move(trained));
}

Block Updater::block_of(const Trained& trained, int64_t number) {
  const int64_t at = number * kStoredBlock;
  return {at, std::min(kStoredBlock, trained.elements - at)};
}

// The sum of the lanes' gradients, in order, and of the L2 term, which needs the weights before the
// update. It is in `spaces.total`, unless it is a single gradient without a factor.
const float* Updater::total_gradient(const Trained& trained, Block block,
                                     const LaneFactors& factors, const float* weights,
                                     Spaces& spaces) const {
  const auto l2 = static_cast<float>(optimizer_.regularization.l2);
  const float* first = trained.gradients[0].open(block, spaces.lane);
  if (trained.gradients.size() == 1 && factors.plain() && l2 == 0) return first;
  scale_to(spaces.total, first, block.count, factors.of(0));
  for (size_t lane = 1; lane < trained.gradients.size(); ++lane) {
    mix_into(spaces.total, trained.gradients[lane].open(block, spaces.lane), block.count,
             {.keep = 1, .take = factors.of(lane)});
  }
  if (l2 != 0) mix_into(spaces.total, weights, block.count, {.keep = 1, .take = l2});
  return spaces.total;
}

// The first pass of rules that need norms. Leaves the total in the first lane's memory if that is
// f32, where it loses no precision.
void Updater::sum_part(const Trained& trained, kernels::Part part, const LaneFactors& factors) {
  const int64_t blocks = blocks_of(trained.elements);
  const Stored& kept = trained.gradients[0];
  Spaces spaces;
  for (int64_t number = part.begin(blocks); number < part.end(blocks); ++number) {
    const Block block = block_of(trained, number);
    const float* weights = trained.weights.open(block, spaces.weights);
    const float* gradient = total_gradient(trained, block, factors, weights, spaces);
    if (kept.is_f32() && gradient == spaces.total) {
      std::memcpy(kept.f32() + block.at, gradient,
                  static_cast<size_t>(block.count) * sizeof(float));
    }
    block_sums_[trained.first_block + static_cast<size_t>(number)] = {
        squares(weights, block.count), squares(gradient, block.count)};
  }
}

UpdateNorms Updater::norms_of(const Trained& trained) const {
  UpdateNorms norms;
  for (int64_t block = 0; block < blocks_of(trained.elements); ++block) {
    const BlockSums& sums = block_sums_[trained.first_block + static_cast<size_t>(block)];
    norms.weights += sums.weights;
    norms.gradient += sums.gradient;
  }
  return {std::sqrt(norms.weights), std::sqrt(norms.gradient)};
}

// How to round the weights (`slot` 0) or slot `slot` - 1. All replicas and instances make the same
// update, so it rounds stochastically with replica_identical_only too.
HalfRounding Updater::rounding(const Trained& trained, const UpdateStep& step,
                               uint64_t slot) const {
  const bool stochastic = half_.stochastic_rounding != StochasticRounding::off;
  const uint64_t variable = mix_keys(step.seed, trained.key);
  const uint64_t when = mix_keys(static_cast<uint64_t>(step.iteration), slot);
  return {.stochastic = stochastic,
          .nan_on_overflow = half_.nan_on_overflow,
          .key = mix_keys(variable, when)};
}

void Updater::apply_part(const Trained& trained, kernels::Part part, const UpdateStep& given,
                         const LaneFactors& factors) {
  UpdateStep step = given;
  step.learning_rate *= trained.rate_factor;
  const int64_t blocks = blocks_of(trained.elements);
  const bool summed = optimizer_.rule->wants_norms() && trained.gradients[0].is_f32();
  const auto share =
      static_cast<float>(step.learning_rate * optimizer_.regularization.weight_decay);
  auto& [slot_blocks, slot_roundings, span] = slot_spaces_[static_cast<size_t>(part.index)];
  span.scale_or_shift = trained.scale_or_shift;
  if (optimizer_.rule->wants_norms()) span.norms = norms_of(trained);
  const HalfRounding of_weights = rounding(trained, step, 0);
  for (size_t i = 0; i < trained.slots.size(); ++i) {
    slot_roundings[i] = rounding(trained, step, i + 1);
  }
  Spaces spaces;
  for (int64_t number = part.begin(blocks); number < part.end(blocks); ++number) {
    const Block block = block_of(trained, number);
    span.weights = trained.weights.open(block, spaces.weights);
    span.gradient = summed ? trained.gradients[0].f32() + block.at
                           : total_gradient(trained, block, factors, span.weights, spaces);
    span.count = static_cast<size_t>(block.count);
    for (size_t i = 0; i < trained.slots.size(); ++i) {
      span.slots[i] = trained.slots[i].open(block, slot_blocks[i].values);
    }
    if (share != 0) decay(span.weights, block.count, share);
    optimizer_.rule->apply(span, step);
    trained.weights.close(block, span.weights, of_weights);
    for (size_t i = 0; i < trained.slots.size(); ++i) {
      trained.slots[i].close(block, span.slots[i], slot_roundings[i]);
    }
  }
}

// Checks after each variable, so that the error can name it.
void Updater::stop_at_exceptions(const Trained& trained, const UpdateStep& step) const {
  if (!watches_ || raised_fp_exceptions() == 0) return;
  throw_fp_exception(concat("weight update of '", trained.name, "'"),
                     {.update = step.iteration, .instance = instance_, .f16 = in_f16_});
}

bool Updater::update(int worker, const UpdateStep& step, const std::vector<float>& weights,
                     Barrier& barrier) {
  const kernels::Part part{worker, workers_};
  const LaneFactors factors{weights, step.unscale};
  if (watches_) clear_fp_exceptions();
  if (optimizer_.rule->wants_norms()) {
    for (const Trained& trained : trained_) {
      sum_part(trained, part, factors);
      stop_at_exceptions(trained, step);
    }
    if (!barrier.arrive_and_wait()) return false;
  }
  for (const Trained& trained : trained_) {
    apply_part(trained, part, step, factors);
    stop_at_exceptions(trained, step);
  }
  return true;
}

}  // namespace pando::runtime
