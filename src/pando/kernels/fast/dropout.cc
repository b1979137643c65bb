// Dropout with a mask from the counter-based generator: of elements, of channels or of samples.
// SPDX-License-Identifier: MIT
#include "pando/base/multiversion.h"
#include "pando/base/random.h"
#include "pando/kernels/fast/channel_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/random_words.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

constexpr int kWords = 4 * fast::kCounters;

PANDO_INLINE void apply_words(const uint32_t* words, const float* x, float* y, int64_t count,
                              float rate) {
  const float kept = 1.0f - rate;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const float value = x[i] / kept;
    y[i] = fast::unit_float(words[i]) >= rate ? value : 0.0f;
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
  fast::CounterWords counters;
  uint32_t words[kWords];
  for (int64_t e = elements.begin; e < elements.end; e += kWords) {
    fast::random_words(static_cast<uint32_t>(e / 4), mask.sample, mask.key, counters);
    for (int i = 0; i < fast::kCounters; ++i) {
      for (int j = 0; j < 4; ++j) words[4 * i + j] = counters.word[j][i];
    }
    const int64_t count = elements.end - e < kWords ? elements.end - e : kWords;
    if (count == kWords) {
      apply_words(words, x + e, y + e, kWords, rate);
    } else {
      apply_words(words, x + e, y + e, count, rate);
    }
  }
}

// y = x / kept where the row of flags is not 0, else 0; rows of `length` flags follow each other.
PANDO_MULTIVERSION void drop_by_row(const float* x, float* y, int64_t count, const float* flags,
                                    int64_t length, float kept) {
  for (int64_t at = 0; at < count; at += length) {
    const int64_t run = count - at < length ? count - at : length;
#pragma GCC ivdep
    for (int64_t i = 0; i < run; ++i) {
      const float value = x[at + i] / kept;
      y[at + i] = flags[i] != 0 ? value : 0.0f;
    }
  }
}

// What the three kinds of masks share.
struct DropoutNode {
  explicit DropoutNode(const ir::Node& node)
      : rate(static_cast<float>(ops::number_attribute(node, "rate"))),
        key(static_cast<uint64_t>(ops::int_attribute(node, "key"))) {}
  Mask mask(const StepArgs& step, int64_t n) const {
    return {rate, static_cast<uint64_t>(step.first_sample + n), mix_keys(step.seed, key)};
  }
  float rate;
  uint64_t key;
};

// Parts divide blocks within samples, so that a batch of one sample can be divided too.
KernelOffer offer_element_dropout(const ir::Node& node) {
  const DropoutNode dropout(node);
  const int64_t batch = node.input(0)->shape().front();
  const int64_t count = node.input(0)->shape().elements_from(1);
  const int64_t blocks = (count + kWords - 1) / kWords;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range mine = fast::share(step.part, batch * blocks);
    for (int64_t at = mine.begin; at < mine.end;) {
      const int64_t n = at / blocks;
      const int64_t last = std::min(mine.end, (n + 1) * blocks);
      const fast::Range elements{(at - n * blocks) * kWords,
                                 std::min((last - n * blocks) * kWords, count)};
      drop_sample(args.in(0) + n * count, args.out() + n * count, elements, dropout.mask(step, n));
      at = last;
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

// One flag per channel or, with `channels` 1, one per sample. Dropping from a row of ones makes the
// flags.
KernelOffer offer_row_dropout(const ir::Node& node, int64_t channels) {
  const DropoutNode dropout(node);
  const int64_t batch = node.input(0)->shape().front();
  const int64_t pixels = node.input(0)->shape().elements_from(1) / std::max<int64_t>(channels, 1);
  const fast::ChannelRow row = fast::channel_row(channels);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    auto* flags = reinterpret_cast<float*>(args.scratch);
    const fast::Range mine = fast::share(step.part, batch * pixels);
    for (int64_t at = mine.begin; at < mine.end;) {
      const int64_t n = at / pixels;
      const int64_t last = std::min(mine.end, (n + 1) * pixels);
      std::fill_n(flags, channels, 1.0f);
      drop_sample(flags, flags, {0, channels}, dropout.mask(step, n));
      fast::repeat_channels(row, flags);
      drop_by_row(args.in(0) + at * channels, args.out() + at * channels, (last - at) * channels,
                  flags, row.length(), 1.0f - dropout.rate);
      at = last;
    }
  };
  return offer_function(
      "fast", run,
      {.splits = true, .scratch_bytes = static_cast<size_t>(row.length()) * sizeof(float)});
}

}  // namespace

KernelOffer fast_dropout(const ir::Node& node) {
  const std::string mask = ops::text_attribute(node, "mask");
  if (mask == "element") return offer_element_dropout(node);
  return offer_row_dropout(node, mask == "channel" ? node.input(0)->shape().back() : 1);
}

}  // namespace pando::kernels
