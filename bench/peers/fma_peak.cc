// Measures what the machine's cores can compute at most: multiply-adds between registers, on all
// threads at once. Prints GFLOP/s of the best instruction set the processor has.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

namespace {

using Clock = std::chrono::steady_clock;

// Multiply-adds of one call: kRounds times the independent chains of one loop body. Twelve chains
// cover the latency of two pipes and leave registers for the constants.
constexpr int kChains = 12;
constexpr int kRounds = 100000;

__attribute__((target("avx2,fma"))) float burn_avx2() {
  const __m256 factor = _mm256_set1_ps(0.999f);
  const __m256 term = _mm256_set1_ps(0.001f);
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
  }
  __m256 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm256_add_ps(total, sums[i]);
  return _mm256_cvtss_f32(total);
}

__attribute__((target("avx512f"))) float burn_avx512() {
  const __m512 factor = _mm512_set1_ps(0.999f);
  const __m512 term = _mm512_set1_ps(0.001f);
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
  }
  __m512 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

struct Isa {
  const char* name;
  float (*burn)();
  double flop_per_call;
};

// Pins the calling thread to the index-th processor that the process may use.
void pin_to(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

double measure_gflops(const Isa& isa, int threads, double seconds) {
  std::atomic<int> waiting{threads};
  std::atomic<long> calls{0};
  volatile float sink = 0;
  const auto work = [&](int index) {
    pin_to(index);
    sink = isa.burn();  // wakes the wide units before the clock starts
    waiting.fetch_sub(1);
    while (waiting.load() > 0) std::this_thread::yield();
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    long mine = 0;
    for (; Clock::now() < end; ++mine) sink = isa.burn();
    calls.fetch_add(mine);
  };
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) team.emplace_back(work, i);
  for (std::thread& thread : team) thread.join();
  return static_cast<double>(calls.load()) * isa.flop_per_call / seconds / 1e9;
}

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
  std::vector<Isa> isas;
  if (__builtin_cpu_supports("avx512f")) {
    isas.push_back({"avx512", burn_avx512, 2.0 * 16 * kChains * kRounds});
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    isas.push_back({"avx2", burn_avx2, 2.0 * 8 * kChains * kRounds});
  }
  if (isas.empty()) {
    std::fprintf(stderr,
                 "fma_peak: this processor has no AVX2 with FMA; no peak is known for it\n");
    return 1;
  }
  std::string best_name;
  double best = 0;
  for (const Isa& isa : isas) {
    const double gflops = measure_gflops(isa, threads, seconds / static_cast<double>(isas.size()));
    if (gflops > best) best = gflops, best_name = isa.name;
  }
  std::printf("%s %.1f\n", best_name.c_str(), best);
  return 0;
}
