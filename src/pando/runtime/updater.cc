// SPDX-License-Identifier: MIT
#include "pando/runtime/updater.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "pando/base/error.h"
#include "pando/base/multiversion.h"

namespace pando::runtime {

namespace {

// Gradients are summed in blocks that stay in the first-level cache until they are applied. Workers
// take whole blocks, so sums over a variable do not depend on the number of workers.
constexpr int64_t kBlock = 1024;

PANDO_MULTIVERSION void scale_to(float* __restrict total, const float* __restrict values,
                                 int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) total[i] = values[i] * factor;
}

PANDO_MULTIVERSION void decay(float* weights, int64_t count, float share) {
  for (int64_t i = 0; i < count; ++i) weights[i] -= share * weights[i];
}

// In several sums, none of which waits for another.
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

float* floats(std::byte* bytes) { return reinterpret_cast<float*>(bytes); }

int64_t blocks_of(int64_t elements) { return (elements + kBlock - 1) / kBlock; }

}  // namespace

Updater::Updater(const Instance& instance, VariableStore& variables, const Optimizer& optimizer,
                 int workers)
    : rule_(optimizer.rule), regularization_(optimizer.regularization), workers_(workers) {
  variables.ensure_slots(rule_->slot_names().size());
  for (const ir::Output& output : instance.program().graph().outputs()) {
    const compiler::Operand operand = instance.program().operand(output.value);
    if (output.role == ir::OutputRole::gradient) {
      add_trained(instance, variables.get(output.name), operand);
    }
  }
}

void Updater::add_trained(const Instance& instance, Variable& variable,
                          const compiler::Operand& gradient) {
  Trained trained{.weights = variable.value.f32().data(),
                  .elements = variable.value.elements(),
                  .scale_or_shift = is_scale_or_shift(variable.name)};
  for (size_t i = 0; i < variable.slots.size(); ++i) {
    trained.slots[i] = variable.slots[i].f32().data();
  }
  // With other instances the exchange leaves the sums of all lanes in the first one's memory.
  const int lanes = instance.placement().instances() > 1 ? 1 : instance.lanes();
  for (int lane = 0; lane < lanes; ++lane) {
    trained.gradients.push_back(floats(instance.address(gradient, lane)));
  }
  trained.first_block = block_sums_.size();
  if (rule_->wants_norms()) {
    block_sums_.resize(block_sums_.size() + static_cast<size_t>(blocks_of(trained.elements)));
  }
  trained_.push_back(std::move(trained));
}

Updater::Block Updater::block_of(const Trained& trained, int64_t number) {
  const int64_t at = number * kBlock;
  return {at, std::min(kBlock, trained.elements - at)};
}

// The lanes' gradients in order and the L2 term, which wants the weights of before the update,
// added up in `total` unless there is but one of them.
const float* Updater::total_gradient(const Trained& trained, Block block,
                                     const std::vector<float>& weights, float* total) const {
  const auto [at, count] = block;
  const auto l2 = static_cast<float>(regularization_.l2);
  const float* first = trained.gradients[0] + at;
  if (trained.gradients.size() == 1 && weights.empty() && l2 == 0) return first;
  const auto weight = [&](size_t lane) { return weights.empty() ? 1.0f : weights[lane]; };
  scale_to(total, first, count, weight(0));
  for (size_t lane = 1; lane < trained.gradients.size(); ++lane) {
    mix_into(total, trained.gradients[lane] + at, count, {.keep = 1, .take = weight(lane)});
  }
  if (l2 != 0) mix_into(total, trained.weights + at, count, {.keep = 1, .take = l2});
  return total;
}

// The first pass of rules that want norms: leaves the total in the first lane's memory.
void Updater::sum_part(const Trained& trained, kernels::Part part,
                       const std::vector<float>& weights) {
  const int64_t blocks = blocks_of(trained.elements);
  alignas(64) float total[kBlock];
  for (int64_t number = part.begin(blocks); number < part.end(blocks); ++number) {
    const auto [at, count] = block_of(trained, number);
    const float* gradient = total_gradient(trained, {at, count}, weights, total);
    if (gradient == total) {
      std::memcpy(trained.gradients[0] + at, total, static_cast<size_t>(count) * sizeof(float));
    }
    block_sums_[trained.first_block + static_cast<size_t>(number)] = {
        squares(trained.weights + at, count), squares(gradient, count)};
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

void Updater::apply_part(const Trained& trained, kernels::Part part, const UpdateStep& step,
                         const std::vector<float>& weights) const {
  const int64_t blocks = blocks_of(trained.elements);
  const bool summed = rule_->wants_norms();
  const auto share = static_cast<float>(step.learning_rate * regularization_.weight_decay);
  UpdateSpan span{.scale_or_shift = trained.scale_or_shift};
  if (summed) span.norms = norms_of(trained);
  alignas(64) float total[kBlock];
  for (int64_t number = part.begin(blocks); number < part.end(blocks); ++number) {
    const auto [at, count] = block_of(trained, number);
    span.weights = trained.weights + at;
    span.gradient =
        summed ? trained.gradients[0] + at : total_gradient(trained, {at, count}, weights, total);
    span.count = static_cast<size_t>(count);
    for (size_t i = 0; i < span.slots.size(); ++i) {
      span.slots[i] = trained.slots[i] == nullptr ? nullptr : trained.slots[i] + at;
    }
    if (share != 0) decay(span.weights, count, share);
    rule_->apply(span, step);
  }
}

bool Updater::update(int worker, const UpdateStep& step, const std::vector<float>& weights,
                     Barrier& barrier) {
  const kernels::Part part{worker, workers_};
  if (rule_->wants_norms()) {
    for (const Trained& trained : trained_) sum_part(trained, part, weights);
    if (!barrier.arrive_and_wait()) return false;
  }
  for (const Trained& trained : trained_) apply_part(trained, part, step, weights);
  return true;
}

}  // namespace pando::runtime
