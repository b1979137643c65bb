// SPDX-License-Identifier: MIT
#include "pando/runtime/outfeed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pando/base/error.h"

namespace pando::runtime {

Outfeed::Outfeed(const BoundProgram& bound)
    : bound_(bound), totals_(static_cast<size_t>(bound.lanes())) {
  const compiler::Program& program = bound.program();
  for (const ir::Output& output : program.graph().outputs()) {
    const compiler::Operand operand = program.operand(output.value);
    if (output.role == ir::OutputRole::loss) losses_.push_back(operand);
    const Shape& shape = output.value->shape();
    if (output.role == ir::OutputRole::result) {
      results_.push_back(operand);
      result_row_bytes_.push_back(operand.value->bytes() /
                                  static_cast<size_t>(bound.slice_batch()));
    }
    if (output.role != ir::OutputRole::metric) continue;
    metrics_.push_back(operand);
    widths_.push_back(static_cast<size_t>(shape.elements_from(1)));
    sums_ += widths_.back();
  }
}

void Outfeed::begin(size_t kept_steps, std::vector<std::byte*> results) {
  for (LaneTotals& lane : totals_) {
    lane = {};
    lane.sums.metrics.assign(sums_, 0);
  }
  kept_ = kept_steps;
  steps_.assign(kept_ * totals_.size() * (2 + sums_), 0);
  PANDO_CHECK(results.empty() || results.size() == results_.size());
  results_to_ = std::move(results);
}

double Outfeed::sum_of(const compiler::Operand& operand, const LaneStep& at, size_t column,
                       size_t width) const {
  const auto* values =
      reinterpret_cast<const float*>(bound_.address(operand, at.lane, at.micro_batch));
  double sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(at.samples); ++i) {
    sum += static_cast<double>(values[i * width + column]);
  }
  return sum;
}

void Outfeed::add(const LaneStep& at) {
  LaneTotals& lane = totals_[static_cast<size_t>(at.lane)];
  double* kept = steps_.empty() ? nullptr : &steps_[kept_at(at.step, at.lane)];
  lane.sums.samples += at.samples;
  if (kept != nullptr) kept[0] = static_cast<double>(at.samples);
  if (!losses_.empty()) {
    const double loss = sum_of(losses_[0], at);
    lane.sums.loss += loss;
    if (!std::isfinite(loss)) lane.not_finite = true;
    if (kept != nullptr) kept[1] = loss;
  }
  size_t place = 0;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    for (size_t column = 0; column < widths_[i]; ++column, ++place) {
      const double metric = sum_of(metrics_[i], at, column, widths_[i]);
      lane.sums.metrics[place] += metric;
      if (kept != nullptr) kept[2 + place] = metric;
    }
  }
  if (at.samples == 0) return;
  for (size_t i = 0; i < results_to_.size(); ++i) {
    const size_t bytes = result_row_bytes_[i];
    std::memcpy(results_to_[i] + static_cast<size_t>(at.first_row) * bytes,
                bound_.address(results_[i], at.lane, at.micro_batch),
                static_cast<size_t>(at.samples) * bytes);
  }
}

bool Outfeed::not_finite() const {
  return std::any_of(totals_.begin(), totals_.end(),
                     [](const LaneTotals& lane) { return lane.not_finite; });
}

std::vector<Totals> Outfeed::replica_totals() const {
  std::vector<Totals> replicas(static_cast<size_t>(bound_.placement().replicas));
  for (int lane = 0; lane < bound_.lanes(); ++lane) {
    replicas[static_cast<size_t>(bound_.replica_of(lane))].add(
        totals_[static_cast<size_t>(lane)].sums);
  }
  return replicas;
}

size_t Outfeed::kept_at(int64_t step, int lane) const {
  const size_t row = static_cast<size_t>(step) % kept_ * totals_.size() + static_cast<size_t>(lane);
  return row * (2 + sums_);
}

Totals Outfeed::step_values(int64_t step, int replica) const {
  Totals totals;
  totals.metrics.resize(sums_);
  for (int slice = 0; slice < bound_.slices(); ++slice) {
    const double* kept = &steps_[kept_at(step, replica * bound_.slices() + slice)];
    totals.samples += static_cast<int64_t>(kept[0]);
    totals.loss += kept[1];
    for (size_t i = 0; i < sums_; ++i) totals.metrics[i] += kept[2 + i];
  }
  return totals;
}

}  // namespace pando::runtime
