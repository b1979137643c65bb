// SPDX-License-Identifier: MIT
#include "bench/micro/bounds.h"

#include <algorithm>
#include <vector>

#include <time.h>

#include "pando/base/multiversion.h"
#include "pando/profile/multiply_add_peak.h"

namespace pando::bench {
namespace {

// Loads from any alignment, because vectors of the standard library keep only that of their
// elements.
using Line = float __attribute__((vector_size(64), aligned(4), may_alias));
constexpr size_t kLineFloats = 16;

// Four sums, so that no addition waits for the one before.
PANDO_MULTIVERSION float read_all(const Line* from, size_t lines) {
  Line sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= lines; i += 4) {
    for (size_t n = 0; n < 4; ++n) sums[n] += from[i + n];
  }
  for (; i < lines; ++i) sums[0] += from[i];
  const Line total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return total[0];
}

PANDO_MULTIVERSION void write_all(Line* to, size_t lines, float value) {
  const Line line = Line{} + value;
  for (size_t i = 0; i < lines; ++i) to[i] = line;
}

// Reads and writes by turns, piece by piece, as a kernel does.
float touch_once(const std::vector<float>& from, std::vector<float>& to) {
  constexpr size_t kPieces = 64;
  float sum = 0;
  const auto begin = [](const std::vector<float>& floats, size_t piece) {
    return floats.size() / kLineFloats * piece / kPieces;
  };
  for (size_t piece = 0; piece < kPieces; ++piece) {
    const size_t in = begin(from, piece);
    const size_t out = begin(to, piece);
    sum += read_all(reinterpret_cast<const Line*>(from.data()) + in, begin(from, piece + 1) - in);
    write_all(reinterpret_cast<Line*>(to.data()) + out, begin(to, piece + 1) - out, sum);
  }
  return sum;
}

}  // namespace

double thread_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double multiply_add_seconds(double count) {
  static const double peak =
      profile::multiply_add_peak(profile::measurable_isas().front(), 1, 0.2).best * 1e9;
  return 2 * count / peak;
}

double memory_seconds(size_t read, size_t written) {
  const std::vector<float> from(read / sizeof(float));
  std::vector<float> to(written / sizeof(float));
  double best = 1;
  volatile float kept = 0;
  for (int round = 0; round < 30; ++round) {
    const double start = thread_seconds();
    kept = kept + touch_once(from, to);
    best = std::min(best, thread_seconds() - start);
  }
  return best;
}

int64_t taps_inside(int64_t source, int64_t result, int64_t window, int64_t stride) {
  const int64_t pad = std::max<int64_t>((result - 1) * stride + window - source, 0) / 2;
  int64_t count = 0;
  for (int64_t o = 0; o < result; ++o) {
    for (int64_t k = 0; k < window; ++k) {
      const int64_t at = o * stride - pad + k;
      count += at >= 0 && at < source ? 1 : 0;
    }
  }
  return count;
}

}  // namespace pando::bench
