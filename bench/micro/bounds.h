// The shortest time that this machine allows one thread for an op: by its multiply-adds, and by
// the memory that it reads and writes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace pando::bench {

// Processor time of this thread, which other processes hardly disturb.
double thread_seconds();

// Seconds for so many multiply-adds, at the measured peak of one thread.
double multiply_add_seconds(double count);

// Seconds to read and write so many bytes once, measured with memory of these sizes: what fits into
// a cache is read from it.
double memory_seconds(size_t read, size_t written);

// The multiply-adds of a window of `window` taps along one axis, without those outside the source.
int64_t taps_inside(int64_t source, int64_t result, int64_t window, int64_t stride);

}  // namespace pando::bench
