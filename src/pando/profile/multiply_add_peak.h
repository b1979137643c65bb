// Measures the peak speed of the cores: multiply-adds of f32 between registers, on all threads at
// once.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::profile {

// The instruction sets with which this processor can be measured, the widest first; "avx512",
// "avx2" (with FMA), "sse2".
std::vector<std::string> measurable_isas();

// GFLOP/s of all threads together.
struct MultiplyAddRate {
  double mean = 0;  // over the whole time
  double best = 0;  // sum of each thread's best millisecond, which other processes hardly disturb
};

// Measures `threads` threads for `seconds`. Each thread is pinned to its own processor while there
// are enough. Throws InvalidArgument for an instruction set that this processor lacks. Requires:
// threads >= 1.
MultiplyAddRate multiply_add_peak(std::string_view isa, int threads, double seconds);

}  // namespace pando::profile
