// SPDX-License-Identifier: MIT
#include "pando/runtime/updater.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/base/multiversion.h"

namespace pando::runtime {

namespace {

// Gradients are summed in blocks that stay in the first-level cache until they are applied.
constexpr int64_t kBlock = 1024;
// Parts begin at multiples of this, so that two workers never write to one cache line.
constexpr int64_t kGrain = 16;

PANDO_MULTIVERSION void add_to(float* __restrict total, const float* __restrict values,
                               int64_t count) {
  for (int64_t i = 0; i < count; ++i) total[i] += values[i];
}

PANDO_MULTIVERSION void move_towards(float* __restrict value, const float* __restrict statistic,
                                     int64_t count, float momentum) {
  for (int64_t i = 0; i < count; ++i) {
    value[i] = value[i] * momentum + statistic[i] * (1 - momentum);
  }
}

float* floats(std::byte* bytes) { return reinterpret_cast<float*>(bytes); }

}  // namespace

Updater::Updater(const Instance& instance, VariableStore& variables, const UpdateRule& rule)
    : rule_(rule), workers_(instance.workers()) {
  variables.ensure_slots(rule.slot_names().size());
  for (const ir::Output& output : instance.program().graph().outputs()) {
    const compiler::Region region = instance.program().operand(output.value).place.region;
    if (output.role == ir::OutputRole::gradient) {
      PANDO_CHECK(region == compiler::Region::sums, "the gradient of '", output.name,
                  "' is no sum over samples, so slices cannot share it out");
      Variable& variable = variables.get(output.name);
      Trained trained{.weights = variable.value.f32().data(),
                      .elements = variable.value.elements()};
      for (size_t i = 0; i < variable.slots.size(); ++i) {
        trained.slots[i] = variable.slots[i].f32().data();
      }
      for (int slice = 0; slice < instance.slices(); ++slice) {
        trained.gradients.push_back(floats(instance.address(output.value, slice)));
      }
      trained_.push_back(std::move(trained));
    } else if (output.role == ir::OutputRole::statistic) {
      Variable& variable = variables.get(output.name);
      moving_.push_back({.value = variable.value.f32().data(),
                         .statistic = floats(instance.address(output.value, 0)),
                         .momentum = static_cast<float>(variable.moving_momentum),
                         .elements = variable.value.elements()});
    }
  }
}

void Updater::update_part(const Trained& trained, kernels::Part part,
                          const UpdateStep& step) const {
  const int64_t grains = (trained.elements + kGrain - 1) / kGrain;
  const int64_t end = std::min(part.end(grains) * kGrain, trained.elements);
  alignas(64) float total[kBlock];
  for (int64_t at = part.begin(grains) * kGrain; at < end; at += kBlock) {
    const int64_t count = std::min(kBlock, end - at);
    const float* gradient = trained.gradients[0] + at;
    if (trained.gradients.size() > 1) {
      std::memcpy(total, gradient, static_cast<size_t>(count) * sizeof(float));
      for (size_t slice = 1; slice < trained.gradients.size(); ++slice) {
        add_to(total, trained.gradients[slice] + at, count);
      }
      gradient = total;
    }
    UpdateSpan span{
        .weights = trained.weights + at, .gradient = gradient, .count = static_cast<size_t>(count)};
    for (size_t i = 0; i < span.slots.size(); ++i) {
      span.slots[i] = trained.slots[i] == nullptr ? nullptr : trained.slots[i] + at;
    }
    rule_.apply(span, step);
  }
}

void Updater::update(int worker, const UpdateStep& step) const {
  for (const Trained& trained : trained_) update_part(trained, {worker, workers_}, step);
  for (size_t i = static_cast<size_t>(worker); i < moving_.size();
       i += static_cast<size_t>(workers_)) {
    move_towards(moving_[i].value, moving_[i].statistic, moving_[i].elements, moving_[i].momentum);
  }
}

}  // namespace pando::runtime
