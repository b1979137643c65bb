// The curves of runs as JSON for the charts of a page (src/pando/pages/scripts/curves.js).
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pando/app/html/run_record.h"
#include "pando/base/json.h"

namespace pando::app {

// A longer curve is cut into buckets of equally many points, each with its minimum and maximum.
inline constexpr size_t kMostCurvePoints = 1000;

// The places of the points to keep, in order: the first and the last, and of each bucket the least
// and the largest value. Values that are not finite count as gaps.
std::vector<size_t> thinned(std::span<const double> values, size_t most = kMostCurvePoints);

// [{title, unit, log, zero, curves: [{run, name, x: {step, epoch, seconds}, y}]}]: loss, metric,
// learning rate, throughput, loss-scaling factor, memory, one unit per chart. Charts without values
// are left out.
Json curve_charts(std::span<const RunRecord> runs);

}  // namespace pando::app
