// Speed of reading record files on one core: the checksum alone, with data inside and outside the
// cache; whole files from the page cache, plain and compressed, with every crc checked; decoding of
// examples; volumes of CosmoFlow:
//   micro_records
// SPDX-License-Identifier: MIT
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "pando/base/random.h"
#include "pando/data/sources/cosmoflow.h"
#include "pando/data/sources/tfrecord_source.h"
#include "pando/data/tfrecord/crc32c.h"
#include "tests/support/temp_folder.h"

namespace pando::bench {
namespace {

constexpr size_t kFileBytes = size_t{256} << 20;

using Scratch = testing_support::TempFolder;

std::vector<uint8_t> random_bytes(size_t count) {
  RandomStream random(1);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next_word());
  return bytes;
}

void checksum(benchmark::State& state, uint32_t (*crc)(std::span<const uint8_t>, uint32_t)) {
  const std::vector<uint8_t> bytes = random_bytes(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(crc(bytes, 0));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// Writes examples with one byte string, like those of image files.
void write_file(const std::string& path, size_t record_bytes, size_t file_bytes,
                Compression compression) {
  const std::vector<uint8_t> payload =
      ExampleBuilder().bytes("image/encoded", random_bytes(record_bytes)).encode();
  RecordWriter writer(path, {.compression = compression, .level = 1});
  for (size_t done = 0; done < file_bytes; done += payload.size()) writer.write(payload);
  writer.finish();
}

void read_file(benchmark::State& state, Compression compression) {
  const Scratch scratch;
  const std::string path = scratch.path("file");
  const bool plain = compression == Compression::none;
  write_file(path, static_cast<size_t>(state.range(0)), plain ? kFileBytes : kFileBytes / 8,
             compression);
  int64_t bytes = 0;
  for (auto _ : state) {
    RecordReader reader(path);
    while (const auto record = reader.next()) benchmark::DoNotOptimize(record->data());
    bytes += static_cast<int64_t>(reader.next_offset());
  }
  state.SetBytesProcessed(bytes);
}

// Reads and decodes batches of 32 records in random order.
void gather_random(benchmark::State& state) {
  const Scratch scratch;
  const std::string path = scratch.path("file");
  write_file(path, static_cast<size_t>(state.range(0)), kFileBytes, Compression::none);
  const Dataset data =
      open_tfrecords({path}, {.fields = {{"bytes", DType::i32, {}}},
                              .decode =
                                  [](const Example& example, const SampleView& sample) {
                                    sample.i32(0)[0] =
                                        static_cast<int32_t>(example.bytes("image/encoded").size());
                                  }})
          .data;
  RandomStream random(2);
  std::vector<int64_t> indices(32);
  std::vector<Tensor> batch = {Tensor(DType::i32, {32})};
  for (auto _ : state) {
    for (int64_t& index : indices) {
      index = static_cast<int64_t>(random.next_below(static_cast<uint64_t>(data.size())));
    }
    data.gather(indices, batch);
  }
  state.SetBytesProcessed(state.iterations() * 32 * state.range(0));
}

void decode_example(benchmark::State& state) {
  const std::vector<uint8_t> record = ExampleBuilder()
                                          .bytes("image/encoded", random_bytes(110'000))
                                          .ints("image/class/label", {17})
                                          .text("image/class/text", "spider")
                                          .floats("image/object/bbox/xmin", {0.1f, 0.2f})
                                          .floats("image/object/bbox/ymin", {0.1f, 0.2f})
                                          .floats("image/object/bbox/xmax", {0.8f, 0.9f})
                                          .floats("image/object/bbox/ymax", {0.8f, 0.9f})
                                          .encode();
  for (auto _ : state) {
    const Example example(record);
    benchmark::DoNotOptimize(example.integer("image/class/label"));
  }
}

void read_cosmoflow(benchmark::State& state, Compression compression) {
  const Scratch scratch;
  const Shape shape = {128, 128, 128, 4};
  make_cosmoflow(scratch.path("set"),
                 {.train = 2, .validation = 0, .shape = shape, .compression = compression});
  const Dataset data = open_cosmoflow(scratch.path("set/train")).data;
  std::vector<Tensor> batch = {Tensor(DType::f32, {1, 128, 128, 128, 4}),
                               Tensor(DType::f32, {1, 4})};
  int64_t sample = 0;
  for (auto _ : state) {
    data.gather(std::vector<int64_t>{sample}, batch);
    sample = 1 - sample;
  }
  state.SetBytesProcessed(state.iterations() * 2 * shape.elements());
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(checksum, instruction, data::crc32c)
    ->Arg(64)
    ->Arg(4096)
    ->Arg(1 << 17)
    ->Arg(1 << 26);
BENCHMARK_CAPTURE(checksum, table, data::crc32c_by_table)->Arg(1 << 17);
BENCHMARK_CAPTURE(read_file, plain, Compression::none)->Arg(1000)->Arg(110'000)->Arg(16 << 20);
BENCHMARK_CAPTURE(read_file, gzip, Compression::gzip)->Arg(110'000);
BENCHMARK_CAPTURE(read_file, zlib, Compression::zlib)->Arg(110'000);
BENCHMARK(gather_random)->Arg(1000)->Arg(110'000);
BENCHMARK(decode_example);
BENCHMARK_CAPTURE(read_cosmoflow, plain, Compression::none)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_cosmoflow, gzip, Compression::gzip)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pando::bench

BENCHMARK_MAIN();
