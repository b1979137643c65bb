// SPDX-License-Identifier: MIT
#include "pando/profile/multiply_add_peak.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include "pando/base/cpu.h"
#include "pando/base/error.h"
#include "pando/base/threads.h"

namespace pando::profile {

namespace {

using Clock = std::chrono::steady_clock;

// Multiply-adds of one call: kRounds times the independent chains of one loop body. Twelve chains
// cover the latency of two pipes and leave registers for the constants.
constexpr int kChains = 12;
constexpr int kRounds = 100000;

float burn_sse2() {
  const __m128 factor = _mm_set1_ps(0.999f);
  const __m128 term = _mm_set1_ps(0.001f);
  __m128 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm_set1_ps(static_cast<float>(i));
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm_add_ps(_mm_mul_ps(sums[i], factor), term);
  }
  __m128 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm_add_ps(total, sums[i]);
  return _mm_cvtss_f32(total);
}

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
  int lanes;
  bool present;
};

std::array<Isa, 3> isas() {
  return {{{"avx512", burn_avx512, 16, cpu_features().avx512},
           {"avx2", burn_avx2, 8, cpu_features().avx2},
           {"sse2", burn_sse2, 4, true}}};
}

// Pins the calling thread to the index-th processor that the process may use, if there is one.
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

MultiplyAddRate measure(const Isa& isa, int threads, double seconds) {
  constexpr double kWindow = 1e-3;
  const double flops = 2.0 * isa.lanes * kChains * kRounds;  // of one call
  std::atomic<int> waiting{threads};
  std::atomic<double> mean{0};
  std::atomic<double> best{0};
  const auto work = [&](int index) {
    pin_to(index);
    isa.burn();  // wakes the wide units before the clock starts
    waiting.fetch_sub(1);
    while (waiting.load() > 0) std::this_thread::yield();
    double passed = 0;
    double calls = 0;
    double fastest = 0;
    while (passed < seconds || calls == 0) {
      const auto begin = Clock::now();
      std::chrono::duration<double> window(0);
      int done = 0;
      for (; window.count() < kWindow; ++done) {
        isa.burn();
        window = Clock::now() - begin;
      }
      passed += window.count();
      calls += done;
      fastest = std::max(fastest, done / window.count());
    }
    mean.fetch_add(flops * calls / passed * 1e-9);
    best.fetch_add(flops * fastest * 1e-9);
  };
  run_together(threads, work);
  return {.mean = mean.load(), .best = best.load()};
}

}  // namespace

std::vector<std::string> measurable_isas() {
  std::vector<std::string> names;
  for (const Isa& isa : isas()) {
    if (isa.present) names.emplace_back(isa.name);
  }
  return names;
}

MultiplyAddRate multiply_add_peak(std::string_view isa, int threads, double seconds) {
  PANDO_CHECK(threads >= 1, threads);
  for (const Isa& known : isas()) {
    if (known.present && known.name == isa) return measure(known, threads, seconds);
  }
  throw InvalidArgument("multiply-add peak: ",
                        unknown_name_message("instruction set", isa, measurable_isas()));
}

}  // namespace pando::profile
