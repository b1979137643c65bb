// SPDX-License-Identifier: MIT
#include "pando/runtime/update/moving_statistics.h"

#include <algorithm>

#include "pando/base/error.h"

namespace pando::runtime {

namespace {

// Chan, Golub and LeVeque's formula for one channel of two sets of values.
struct Joined {
  double count = 0;
  double mean = 0;
  double sum = 0;  // of squared deviations

  void add(double more, double mean_of_more, double sum_of_more) {
    if (more == 0) return;
    const double away = mean_of_more - mean;
    sum += sum_of_more + away * away * count * more / (count + more);
    count += more;
    mean += away * more / count;
  }
};

}  // namespace

MovingStatistics::MovingStatistics(const BoundProgram& bound, VariableStore& variables) {
  for (const ir::Output& output : bound.program().graph().outputs()) {
    if (output.role != ir::OutputRole::statistic) continue;
    Variable& variable = variables.get(output.name);
    Moments& moments = moments_of(bound, bound.program().operand(output.value));
    PANDO_CHECK(moments.channels == variable.value.elements(), "the statistic of '", variable.name,
                "' holds no moments of ", variable.value.elements(), " channels");
    moments.moving.push_back({.value = variable.value.f32().data(),
                              .variance = variable.follows_variance,
                              .momentum = static_cast<float>(variable.moving_momentum)});
  }
}

// The moments of a value are kept once, no matter how many statistics follow them.
MovingStatistics::Moments& MovingStatistics::moments_of(const BoundProgram& bound,
                                                        const compiler::Operand& operand) {
  for (Moments& known : moments_) {
    if (known.value == operand.value) return known;
  }
  const int64_t numbers = operand.value->shape().elements();
  Moments moments{.value = operand.value, .channels = (numbers - 1) / 2, .at = block_size_};
  for (int lane = 0; lane < bound.lanes(); ++lane) {
    moments.lanes.push_back(reinterpret_cast<const float*>(bound.address(operand, lane)));
  }
  block_size_ += static_cast<size_t>(numbers);
  return moments_.emplace_back(std::move(moments));
}

void MovingStatistics::join_lanes(kernels::Part part, std::span<double> block) const {
  const auto count = static_cast<int64_t>(moments_.size());
  for (int64_t i = part.begin(count); i < part.end(count); ++i) {
    const Moments& moments = moments_[static_cast<size_t>(i)];
    const int64_t channels = moments.channels;
    double* to = block.data() + moments.at;
    Joined joined;
    for (int64_t c = 0; c < channels; ++c) {
      joined = {};
      for (const float* lane : moments.lanes) {
        joined.add(static_cast<double>(lane[2 * channels]), static_cast<double>(lane[c]),
                   static_cast<double>(lane[channels + c]));
      }
      to[c] = joined.mean;
      to[channels + c] = joined.sum;
    }
    to[2 * channels] = joined.count;
  }
}

void MovingStatistics::move(const Moments& moments, const Moving& moving,
                            std::span<const double> blocks) const {
  const int64_t channels = moments.channels;
  for (int64_t c = 0; c < channels; ++c) {
    Joined joined;
    for (size_t at = moments.at; at < blocks.size(); at += block_size_) {
      const double* block = blocks.data() + at;
      joined.add(block[2 * channels], block[c], block[channels + c]);
    }
    if (joined.count == 0) continue;
    const auto statistic = static_cast<float>(
        moving.variance ? joined.sum / std::max(joined.count - 1, 1.0) : joined.mean);
    moving.value[c] = moving.value[c] * moving.momentum + statistic * (1 - moving.momentum);
  }
}

void MovingStatistics::move(kernels::Part part, std::span<const double> blocks) const {
  const auto count = static_cast<int64_t>(moments_.size());
  for (int64_t i = part.begin(count); i < part.end(count); ++i) {
    const Moments& moments = moments_[static_cast<size_t>(i)];
    for (const Moving& moving : moments.moving) move(moments, moving, blocks);
  }
}

}  // namespace pando::runtime
