// Speed of the conversions between f32 and the 16-bit types with every instruction set of this
// processor, on 16384 numbers and one thread. Counts the bytes read and written:
//   micro_half --benchmark_filter=avx2
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "pando/base/random.h"
#include "pando/base/strings.h"
#include "pando/tensor/half_isa.h"

namespace pando::bench {
namespace {

constexpr size_t kCount = 16384;
constexpr int64_t kBytes = kCount * (sizeof(float) + sizeof(uint16_t));

void round(benchmark::State& state, const HalfIsa& isa, DType type, bool stochastic) {
  RandomStream random(1);
  std::vector<float> from(kCount);
  for (float& value : from) value = random.next_normal();
  std::vector<uint16_t> to(kCount);
  for (auto _ : state) {
    round_halves(isa, type, from, to.data(), {.stochastic = stochastic, .key = 1});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}

void widen(benchmark::State& state, const HalfIsa& isa, DType type) {
  std::vector<uint16_t> from(kCount);
  for (size_t i = 0; i < kCount; ++i) from[i] = static_cast<uint16_t>(i);
  std::vector<float> to(kCount);
  for (auto _ : state) {
    widen_halves(isa, type, from, to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}

void register_all() {
  for (const HalfIsa* isa : half_isas()) {
    for (const DType type : {DType::f16, DType::bf16}) {
      const auto add = [&](const char* what, auto run) {
        benchmark::RegisterBenchmark(concat(isa->name, "/", to_string(type), "/", what).c_str(),
                                     run);
      };
      add("nearest", [=](auto& state) { round(state, *isa, type, false); });
      add("stochastic", [=](auto& state) { round(state, *isa, type, true); });
      add("widen", [=](auto& state) { widen(state, *isa, type); });
    }
  }
}

}  // namespace
}  // namespace pando::bench

int main(int argc, char** argv) {
  pando::bench::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
