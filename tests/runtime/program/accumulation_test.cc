#include "pando/runtime/program/accumulation.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "pando/tensor/tensor.h"
#include "tests/runtime/normal_floats.h"

namespace pando::runtime {
namespace {

using Floats = std::vector<float>;

TEST(Accumulation, AddsElementByElement) {
  const Floats before = normal_floats(37, 1);
  const Floats more = normal_floats(37, 2);
  Floats total = before;
  add_to(total.data(), more.data(), 36);
  for (size_t i = 0; i < 36; ++i) EXPECT_EQ(total[i], before[i] + more[i]);
  EXPECT_EQ(total[36], before[36]);
}

TEST(Accumulation, MixesByWeights) {
  EXPECT_TRUE(MixWeights().plain());
  EXPECT_FALSE((MixWeights{.keep = 0.5f}).plain());
  EXPECT_FALSE((MixWeights{.take = 0.5f}).plain());
  const Floats before = normal_floats(37, 1);
  const Floats more = normal_floats(37, 2);
  for (const MixWeights weights :
       {MixWeights{}, MixWeights{0.75f, 0.25f}, MixWeights{1, 2}, MixWeights{0.5f, 1}}) {
    Floats total = before;
    mix_into(total.data(), more.data(), 36, weights);
    for (size_t i = 0; i < 36; ++i) {
      EXPECT_FLOAT_EQ(total[i], before[i] * weights.keep + more[i] * weights.take);
    }
    EXPECT_EQ(total[36], before[36]);
  }
}

// Numbers of a stored type, with their memory.
class Numbers {
 public:
  Numbers(DType type, const Floats& values) : tensor_(type, {static_cast<int64_t>(values.size())}) {
    if (type == DType::f32) {
      std::copy(values.begin(), values.end(), tensor_.f32().begin());
    } else {
      round_halves(type, values.data(), stored().halves(), tensor_.elements(), {});
    }
  }
  Stored stored() { return {tensor_.dtype(), tensor_.data()}; }
  Floats values() {
    Floats result(static_cast<size_t>(tensor_.elements()));
    const float* opened = stored().open({0, tensor_.elements()}, result.data());
    return {opened, opened + result.size()};
  }

 private:
  Tensor tensor_;
};

// The result is that of one number after the other in f32, rounded once.
TEST(Accumulation, MixesStoredNumbers) {
  constexpr size_t kCount = 2500;
  const MixWeights weights{0.75f, 0.25f};
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const bool stochastic : {false, true}) {
      Numbers total(type, normal_floats(kCount + 1, 1));
      Numbers more(type, normal_floats(kCount + 1, 2));
      const Floats before = total.values();
      const Floats values = more.values();
      const HalfRounding rounding{.stochastic = stochastic, .key = 7, .first = 100};
      mix_stored(total.stored(), more.stored(), kCount, weights, rounding);
      const Floats after = total.values();
      for (size_t i = 0; i < kCount; ++i) {
        float wanted = before[i];
        mix_into(&wanted, &values[i], 1, weights);
        if (type != DType::f32) {
          const uint16_t half = round_half(type, wanted, rounding, 100 + i);
          widen_halves(type, &half, &wanted, 1);
        }
        ASSERT_EQ(after[i], wanted) << to_string(type) << " " << i;
      }
      EXPECT_EQ(after[kCount], before[kCount]);
    }
  }
}

TEST(Accumulation, SumsStoredLanesInF32) {
  constexpr size_t kCount = 1500;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    std::vector<Numbers> lanes;
    std::vector<Floats> values;
    std::vector<Stored> stored;
    for (uint64_t lane = 0; lane < 3; ++lane) {
      values.push_back(lanes.emplace_back(type, normal_floats(kCount, lane)).values());
    }
    for (Numbers& lane : lanes) stored.push_back(lane.stored());
    for (const Floats& weights : {Floats{}, Floats{0.5f, 0.25f, 2}}) {
      Floats total(kCount + 1, 9);
      sum_lanes(stored, weights, kCount, total.data());
      for (size_t i = 0; i < kCount; ++i) {
        float wanted = 0;
        for (size_t lane = 0; lane < 3; ++lane) {
          wanted += values[lane][i] * (weights.empty() ? 1 : weights[lane]);
        }
        ASSERT_FLOAT_EQ(total[i], wanted) << to_string(type) << " " << i;
      }
      EXPECT_EQ(total[kCount], 9);
      if (type != DType::f32) continue;
      Numbers first(type, values[0]);  // may be the total itself
      std::vector<Stored> in_place = stored;
      in_place[0] = first.stored();
      sum_lanes(in_place, weights, kCount, first.stored().f32());
      total.pop_back();
      EXPECT_EQ(first.values(), total);
    }
  }
}

// Rows of `channels` values; the moments as batch_moments gives them.
Floats moments_of(const Floats& values, size_t channels) {
  Floats moments(2 * channels + 1, 0);
  const size_t rows = values.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    double mean = 0;
    for (size_t i = 0; i < rows; ++i) mean += static_cast<double>(values[i * channels + c]);
    mean /= rows == 0 ? 1 : static_cast<double>(rows);
    double sum = 0;
    for (size_t i = 0; i < rows; ++i) {
      const double away = static_cast<double>(values[i * channels + c]) - mean;
      sum += away * away;
    }
    moments[c] = static_cast<float>(mean);
    moments[channels + c] = static_cast<float>(sum);
  }
  moments.back() = static_cast<float>(rows);
  return moments;
}

TEST(Accumulation, MergedMomentsAreThoseOfBothSets) {
  constexpr size_t kChannels = 3;
  for (const size_t first : {0, 1, 5, 40}) {
    for (const size_t second : {0, 1, 7}) {
      Floats values = normal_floats(first * kChannels, 3);
      Floats more = normal_floats(second * kChannels, 4);
      for (float& x : more) x = 2 * x + 5;  // another mean, so that it matters
      Floats total = moments_of(values, kChannels);
      merge_moments(total.data(), moments_of(more, kChannels).data(), kChannels);
      values.insert(values.end(), more.begin(), more.end());
      const Floats wanted = moments_of(values, kChannels);
      for (size_t i = 0; i < total.size(); ++i) {
        EXPECT_NEAR(total[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i])))
            << first << " and " << second << " values, " << i;
      }
    }
  }
}

// Uninitialised memory may hold anything.
TEST(Accumulation, MomentsOfNothingAreNotRead) {
  Floats total = {99, 98, 0};
  merge_moments(total.data(), Floats{2, 3, 4}.data(), 1);
  EXPECT_EQ(total, (Floats{2, 3, 4}));
  merge_moments(total.data(), Floats{99, 98, 0}.data(), 1);
  EXPECT_EQ(total, (Floats{2, 3, 4}));
}

}  // namespace
}  // namespace pando::runtime
