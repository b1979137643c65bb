// Prints the peak of the machine's cores: GFLOP/s with the best instruction set.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sched.h>

#include "pando/profile/multiply_add_peak.h"

namespace {

int usable_processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(CPU_COUNT(&allowed), 1);
}

}  // namespace

// Usage: fma_peak [threads [seconds]]. Prints "<isa> <GFLOP/s>" of the faster instruction set.
int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(std::atoi(argv[1]), 1) : usable_processors();
  const double seconds = argc > 2 ? std::max(std::atof(argv[2]), 0.01) : 0.5;
  std::vector<std::string> isas = pando::profile::measurable_isas();
  if (isas.size() > 2) isas.resize(2);  // either of the two widest may be the faster one
  std::string best_name;
  double best = 0;
  for (const std::string& isa : isas) {
    const double share = seconds / static_cast<double>(isas.size());
    const double gflops = pando::profile::multiply_add_peak(isa, threads, share).mean;
    if (gflops > best) best = gflops, best_name = isa;
  }
  std::printf("%s %.1f\n", best_name.c_str(), best);
  return 0;
}
