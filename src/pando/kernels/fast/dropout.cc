// Dropout with a mask from the counter-based generator, computed for a block of counters at a time.
// SPDX-License-Identifier: MIT
#include "pando/base/multiversion.h"
#include "pando/base/random.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

constexpr int kCounters = 32;  // more than the compiler unrolls instead of vectorising
constexpr int kWords = 4 * kCounters;

// Philox 4x32-10 (see base/random.h) for `kCounters` successive first counter words: words[4 * i +
// j] is word j of counter first + i.
PANDO_INLINE void random_words(uint32_t first, uint64_t sample, uint64_t key, uint32_t* words) {
  uint32_t c0[kCounters];
  uint32_t c1[kCounters];
  uint32_t c2[kCounters];
  uint32_t c3[kCounters];
  for (int i = 0; i < kCounters; ++i) {
    c0[i] = first + static_cast<uint32_t>(i);
    c1[i] = static_cast<uint32_t>(sample);
    c2[i] = static_cast<uint32_t>(sample >> 32);
    c3[i] = 0;
  }
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kCounters; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c0[i];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<uint32_t>(p1);
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (int i = 0; i < kCounters; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

PANDO_INLINE void apply_words(const uint32_t* words, const float* x, float* y, int64_t count,
                              float rate) {
  const float kept = 1.0f - rate;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    // The same as to_unit_float, but through a signed number, which vectors can convert.
    const float unit = static_cast<float>(static_cast<int32_t>(words[i] >> 8)) * 0x1.0p-24f;
    const float value = x[i] / kept;
    y[i] = unit >= rate ? value : 0.0f;
  }
}

struct Mask {
  float rate;
  uint64_t sample;
  uint64_t key;
};

// Drops elements [begin, end) of one sample; begin is a multiple of four.
PANDO_MULTIVERSION void drop_sample(const float* x, float* y, fast::Range elements,
                                    const Mask& mask) {
  const float rate = mask.rate;
  uint32_t words[kWords];
  for (int64_t e = elements.begin; e < elements.end; e += kWords) {
    random_words(static_cast<uint32_t>(e / 4), mask.sample, mask.key, words);
    const int64_t count = elements.end - e < kWords ? elements.end - e : kWords;
    if (count == kWords) {
      apply_words(words, x + e, y + e, kWords, rate);
    } else {
      apply_words(words, x + e, y + e, count, rate);
    }
  }
}

}  // namespace

KernelOffer fast_dropout(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape().front();
  const int64_t count = node.input(0)->shape().elements_from(1);
  const auto rate = static_cast<float>(ops::number_attribute(node, "rate"));
  const auto key = static_cast<uint64_t>(ops::int_attribute(node, "key"));
  // Parts divide blocks within samples, so that a batch of one sample can be divided too.
  const int64_t blocks = (count + kWords - 1) / kWords;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const uint64_t mixed = mix_keys(step.seed, key);
    const fast::Range mine = fast::share(step.part, batch * blocks);
    for (int64_t at = mine.begin; at < mine.end;) {
      const int64_t n = at / blocks;
      const int64_t last = std::min(mine.end, (n + 1) * blocks);
      const fast::Range elements{(at - n * blocks) * kWords,
                                 std::min((last - n * blocks) * kWords, count)};
      drop_sample(args.in(0) + n * count, args.out() + n * count, elements,
                  {rate, static_cast<uint64_t>(step.first_sample + n), mixed});
      at = last;
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
