// Measures how fast the cores move data between them and the memory, on all threads at once.
// SPDX-License-Identifier: MIT
#pragma once

namespace pando::profile {

// GB/s of all threads together, read and written: the fastest of several rounds, in each of which
// every thread copies a part of its own. The parts together are larger than the last cache, as far
// as 256 MiB suffice for that. 0 if the system refuses the memory. Takes at least `seconds`. Throws
// ResourceError if the system refuses threads. Requires: threads >= 1.
double memory_rate(int threads, double seconds);

}  // namespace pando::profile
