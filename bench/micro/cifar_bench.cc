// CIFAR on one core, in images per second: reading both versions from a file in memory, and
// gathering shuffled batches of 128 as bytes, as f32, standardised, and also mirrored and cropped.
//   micro_cifar
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <benchmark/benchmark.h>

#include "pando/base/random.h"
#include "pando/data/image/augmented.h"
#include "pando/data/sources/arrays.h"
#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/gzip.h"

namespace pando::bench {
namespace {

constexpr int64_t kImages = 50000;  // 150 MB like the training images: larger than the caches
constexpr int64_t kBatch = 128;

void count_images(benchmark::State& state, int64_t per_iteration) {
  state.counters["images"] = benchmark::Counter(
      static_cast<double>(state.iterations() * per_iteration), benchmark::Counter::kIsRate);
}

Dataset images(DType x) {
  std::vector<ArrayField> arrays(2);
  arrays[0] = {.name = "x", .values = Tensor(DType::u8, {kImages, 32, 32, 3})};
  if (x == DType::f32) arrays[0].scale = 1.0f / 255.0f;
  arrays[1] = {.name = "y", .values = Tensor(DType::i32, {kImages})};
  RandomStream random(1);
  for (uint8_t& byte : arrays[0].values.u8()) byte = static_cast<uint8_t>(random.next_word());
  return from_arrays(std::move(arrays));
}

void gather(benchmark::State& state, const Dataset& set) {
  std::vector<Tensor> batch;
  batch.emplace_back(set.fields()[0].dtype, Shape{kBatch, 32, 32, 3});
  batch.emplace_back(DType::i32, Shape{kBatch});
  const std::vector<int64_t> order = random_permutation(kImages, 1);
  size_t at = 0;
  for (auto _ : state) {
    if (at + kBatch > order.size()) at = 0;
    set.gather(std::span(order).subspan(at, kBatch), batch);
    at += kBatch;
    benchmark::ClobberMemory();
  }
  count_images(state, kBatch);
}

void gather_u8(benchmark::State& state) { gather(state, images(DType::u8)); }
void gather_f32(benchmark::State& state) { gather(state, images(DType::f32)); }
void standardise(benchmark::State& state) { gather(state, augment_images(images(DType::u8), {})); }
void augment(benchmark::State& state) {
  gather(state, augment_images(images(DType::u8), {.flip = true, .border = 4}));
}

void read(benchmark::State& state, bool python) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "pando_cifar_bench";
  make_cifar10(folder.string(), {.train = 5, .test = 10000, .python = python});
  const auto path =
      folder / (python ? "cifar-10-batches-py/test_batch" : "cifar-10-batches-bin/test_batch.bin");
  const std::vector<uint8_t> content = data::read_file(path.string());
  std::filesystem::remove_all(folder);
  constexpr auto kKind = data::CifarKind::cifar10;
  for (auto _ : state) {
    benchmark::DoNotOptimize(python ? data::parse_cifar_python(content, "batch", kKind)
                                    : data::parse_cifar_binary(content, "batch", kKind));
  }
  count_images(state, 10000);
}

void read_binary(benchmark::State& state) { read(state, false); }
void read_python(benchmark::State& state) { read(state, true); }

void make_images(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(make_cifar10_images({.train = 1000, .test = 1}));
  }
  count_images(state, 1001);
}

BENCHMARK(gather_u8);
BENCHMARK(gather_f32);
BENCHMARK(standardise);
BENCHMARK(augment);
BENCHMARK(read_binary);
BENCHMARK(read_python);
BENCHMARK(make_images);

}  // namespace
}  // namespace pando::bench

BENCHMARK_MAIN();
