// SPDX-License-Identifier: MIT
#include "pando/kernels/half/tile_sums.h"

#include "pando/base/multiversion.h"

namespace pando::kernels::half {

namespace {

PANDO_MULTIVERSION void add(float* __restrict total, const float* __restrict newest,
                            int64_t count) {
  for (int64_t i = 0; i < count; ++i) total[i] += newest[i];
}

// Merges moments: the mean of each channel, then the sum of squared deviations of each channel,
// then the number of values.
PANDO_MULTIVERSION void merge(float* __restrict total, const float* __restrict newest,
                              int64_t channels) {
  const float count = total[2 * channels];
  const float more = newest[2 * channels];
  const float all = count + more;
  if (all == 0) return;
  const float share = more / all;
  for (int64_t c = 0; c < channels; ++c) {
    const float away = newest[c] - total[c];
    total[c] += away * share;
    total[channels + c] += newest[channels + c] + away * away * count * share;
  }
  total[2 * channels] = all;
}

}  // namespace

void add_tile(Share share, float* total, const float* newest, int64_t elements) {
  if (share == Share::moments) return merge(total, newest, (elements - 1) / 2);
  add(total, newest, elements);
}

}  // namespace pando::kernels::half
