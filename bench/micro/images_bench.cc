// Images per second that one core prepares for a batch: CIFAR-sized images are mirrored and
// cropped, photographs are decoded, cropped and resized to 224x224:
//   micro_images [--images=DIRECTORY]
// The photographs are the files of the directory; by default 16 of 500x375 are generated.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "pando/base/random.h"
#include "pando/data/image/augmented.h"
#include "pando/data/image/jpeg.h"
#include "pando/data/image/views.h"
#include "pando/data/sources/gzip.h"

namespace pando::bench {
namespace {

constexpr ImageSize kCifar = {32, 32};
constexpr ImageSize kView = {224, 224};
constexpr int64_t kBatch = 64;

using File = std::vector<uint8_t>;

std::vector<File>& photographs() {
  static std::vector<File> files;
  return files;
}

// Waves of every length; longer waves are stronger, as in photographs.
File make_photograph(uint64_t seed) {
  Image image(ImageSize{375, 500});
  RandomStream random(seed);
  std::vector<double> values(image.pixels.size(), 128.0);
  for (double length = 200; length > 2; length *= 0.7) {
    const double angle = 6.28 * random.next_uniform();
    const double fy = std::sin(angle) * 6.28 / length;
    const double fx = std::cos(angle) * 6.28 / length;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto y = static_cast<double>(i / 3 / 500);
      const auto x = static_cast<double>(i / 3 % 500);
      values[i] += (4 + length / 8) * std::sin(fy * y + fx * x + static_cast<double>(i % 3));
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const double noise = 8 * random.next_uniform();
    image.pixels[i] = static_cast<uint8_t>(std::clamp(values[i] + noise, 0.0, 255.0));
  }
  return encode_jpeg(image.view(), {.quality = 92});
}

void count_images(benchmark::State& state) {
  state.counters["images/s"] = benchmark::Counter(static_cast<double>(state.iterations() * kBatch),
                                                  benchmark::Counter::kIsRate);
}

// Calls `write(image, random, row)` for the samples of batch after batch.
template <typename Value, typename Write>
void run_cifar(benchmark::State& state, const Write& write) {
  std::vector<Image> images(512, Image(kCifar));
  RandomStream random(1);
  for (Image& image : images) {
    for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(random.next_word());
  }
  const size_t row = images[0].pixels.size();
  std::vector<Value> batch(kBatch * row);
  int64_t index = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < kBatch; ++i, ++index) {
      const ImageView image = images[static_cast<size_t>(index) % images.size()].view();
      write(image, sample_random(1, 0, index), std::span(batch).subspan(i * row, row));
    }
    benchmark::ClobberMemory();
  }
  count_images(state);
}

void cifar_standardise_crop_flip(benchmark::State& state) {
  run_cifar<float>(state, [](const ImageView& image, RandomStream random, std::span<float> to) {
    crop_flip(image, random_crop_flip(random, kCifar, kCifar, 4), kCifar,
              PixelTarget(to, standardise(image)));
  });
}

void cifar_normalise_crop_flip(benchmark::State& state) {
  const ChannelMap map = normalise_imagenet();
  run_cifar<float>(state, [&](const ImageView& image, RandomStream random, std::span<float> to) {
    crop_flip(image, random_crop_flip(random, kCifar, kCifar, 4), kCifar, PixelTarget(to, map));
  });
}

void cifar_crop_flip_bytes(benchmark::State& state) {
  run_cifar<uint8_t>(state, [](const ImageView& image, RandomStream random, std::span<uint8_t> to) {
    crop_flip(image, random_crop_flip(random, kCifar, kCifar, 4), kCifar, PixelTarget(to));
  });
}

void cifar_standardise(benchmark::State& state) {
  run_cifar<float>(state, [](const ImageView& image, const RandomStream&, std::span<float> to) {
    crop_flip(image, {}, kCifar, PixelTarget(to, standardise(image)));
  });
}

// The same images as a data set: shuffled and gathered into batches.
void cifar_stream(benchmark::State& state) {
  Tensor x(DType::u8, {50000, 32, 32, 3});
  RandomStream random(1);
  for (uint8_t& value : x.u8()) value = static_cast<uint8_t>(random.next_word());
  const Dataset images = Dataset::from_tensors(std::move(x), Tensor(DType::i32, {50000}));
  const Dataset augmented = augment_images(images, {.flip = true, .border = 4});
  BatchStream stream = augmented.shuffle().batch(kBatch).repeat();
  Batch batch;
  for (auto _ : state) {
    stream.next(batch);
    benchmark::ClobberMemory();
  }
  count_images(state);
}

template <typename Read>
void run_photographs(benchmark::State& state, const Read& read) {
  std::vector<float> view(static_cast<size_t>(kView.pixels() * 3));
  const PixelTarget to(view, normalise_imagenet());
  Image scratch;
  int64_t index = 0;
  for (auto _ : state) {
    for (int64_t i = 0; i < kBatch; ++i, ++index) {
      const File& file = photographs()[static_cast<size_t>(index) % photographs().size()];
      ImageReader reader(file, "photograph");
      read(reader, sample_random(1, 0, index), scratch, to);
    }
    benchmark::ClobberMemory();
  }
  count_images(state);
}

void jpeg_train_view(benchmark::State& state) {
  run_photographs(state, [](ImageReader& reader, const RandomStream& random, Image& scratch,
                            const PixelTarget& to) {
    read_train_view(reader, random, {}, {.size = kView}, scratch, to);
  });
}

void jpeg_eval_view(benchmark::State& state) {
  run_photographs(
      state, [](ImageReader& reader, const RandomStream&, Image& scratch, const PixelTarget& to) {
        read_eval_view(reader, {.size = kView}, scratch, to);
      });
}

void jpeg_decode_whole(benchmark::State& state) {
  run_photographs(state, [](ImageReader& reader, const RandomStream&, Image& scratch,
                            const PixelTarget&) { reader.read(scratch); });
}

BENCHMARK(cifar_standardise_crop_flip);
BENCHMARK(cifar_normalise_crop_flip);
BENCHMARK(cifar_crop_flip_bytes);
BENCHMARK(cifar_standardise);
BENCHMARK(cifar_stream);
BENCHMARK(jpeg_train_view);
BENCHMARK(jpeg_eval_view);
BENCHMARK(jpeg_decode_whole);

void load_photographs(const std::string& directory) {
  if (directory.empty()) {
    for (uint64_t seed = 0; seed < 16; ++seed) photographs().push_back(make_photograph(seed));
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    photographs().push_back(data::read_file(entry.path().string()));
  }
}

}  // namespace
}  // namespace pando::bench

int main(int argc, char** argv) {
  std::string directory;
  constexpr const char* kFlag = "--images=";
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    if (std::strncmp(argv[i], kFlag, std::strlen(kFlag)) == 0) {
      directory = argv[i] + std::strlen(kFlag);
    } else {
      argv[kept++] = argv[i];
    }
  }
  pando::bench::load_photographs(directory);
  benchmark::Initialize(&kept, argv);
  if (benchmark::ReportUnrecognizedArguments(kept, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
