// The results of a load as text, JSON and SVG.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/request/load.h"

namespace pando::request {

// How many latencies lie in each of about twenty classes, each 1.2 to 2 times as wide as the one
// before it.
struct LatencyClass {
  double from = 0;  // seconds
  double to = 0;
  int64_t count = 0;
};
std::vector<LatencyClass> histogram_of(const LoadResult& result);

// The average, the least and the most of the latencies of one connection, in seconds.
std::string first_latency_text(const std::vector<double>& latencies);
std::string percentile_text(const LoadResult& result);
std::string histogram_text(const LoadResult& result);
std::string error_text(const LoadResult& result);
std::string histogram_svg(const LoadResult& result);
std::string result_json(const LoadResult& result, int64_t batch);

}  // namespace pando::request
