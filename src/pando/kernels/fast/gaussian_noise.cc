// Normally distributed noise from the counter-based generator, two numbers from two words (Box and
// Muller).
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/random.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/random_words.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vector_math.h"

namespace pando::kernels {
namespace {

constexpr int kNoiseBlock = 4 * fast::kCounters;

struct NoiseKey {
  float deviation;
  uint64_t sample;
  uint64_t key;
};

// noise[4 i + j] belongs to word j of counter i. The numbers are computed word by word, in vectors.
PANDO_INLINE void fill_noise(const fast::CounterWords& words, float deviation, float* noise) {
  float planes[4][fast::kCounters];
  for (int pair = 0; pair < 2; ++pair) {
    const uint32_t* lengths = words.word[2 * pair];
    const uint32_t* angles = words.word[2 * pair + 1];
    for (int i = 0; i < fast::kCounters; ++i) {
      // From 2^-24 to 1.
      const float unit = fast::unit_float(lengths[i]) + 0x1.0p-24f;
      const float length = deviation * std::sqrt(-2.0f * fast::vector_log(unit));
      const fast::Circle point = fast::vector_circle(fast::unit_float(angles[i]));
      planes[2 * pair][i] = length * point.cosine;
      planes[2 * pair + 1][i] = length * point.sine;
    }
  }
  for (int i = 0; i < fast::kCounters; ++i) {
    for (int j = 0; j < 4; ++j) noise[4 * i + j] = planes[j][i];
  }
}

// Elements [begin, end) of one sample; begin is a multiple of four.
PANDO_MULTIVERSION void add_noise(const float* x, float* y, fast::Range elements,
                                  const NoiseKey& key) {
  fast::CounterWords words;
  float noise[kNoiseBlock];
  for (int64_t e = elements.begin; e < elements.end; e += kNoiseBlock) {
    fast::random_words(static_cast<uint32_t>(e / 4), key.sample, key.key, words);
    fill_noise(words, key.deviation, noise);
    const int64_t count = elements.end - e < kNoiseBlock ? elements.end - e : kNoiseBlock;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[e + i] = x[e + i] + noise[i];
  }
}

}  // namespace

KernelOffer fast_gaussian_noise(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape().front();
  const int64_t count = node.input(0)->shape().elements_from(1);
  const auto deviation = static_cast<float>(ops::number_attribute(node, "stddev"));
  const auto key = static_cast<uint64_t>(ops::int_attribute(node, "key"));
  const int64_t blocks = (count + kNoiseBlock - 1) / kNoiseBlock;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const uint64_t mixed = mix_keys(step.seed, key);
    const fast::Range mine = fast::share(step.part, batch * blocks);
    for (int64_t at = mine.begin; at < mine.end;) {
      const int64_t n = at / blocks;
      const int64_t last = std::min(mine.end, (n + 1) * blocks);
      add_noise(
          args.in(0) + n * count, args.out() + n * count,
          {(at - n * blocks) * kNoiseBlock, std::min((last - n * blocks) * kNoiseBlock, count)},
          {deviation, static_cast<uint64_t>(step.first_sample + n), mixed});
      at = last;
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
