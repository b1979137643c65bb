// SPDX-License-Identifier: MIT
#include "pando/data/image/mixed.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

constexpr int64_t kSamples = 31;
constexpr int64_t kClasses = 5;
constexpr ImageSize kSide = {6, 8};

// Every pixel of sample i is i; its label is i % kClasses.
Dataset flat_pictures(DType dtype = DType::f32) {
  Tensor x(dtype, {kSamples, kSide.height, kSide.width, 2});
  Tensor y(DType::i32, {kSamples});
  for (int64_t i = 0; i < kSamples; ++i) {
    for (int64_t k = 0; k < kSide.pixels() * 2; ++k) {
      const auto at = static_cast<size_t>(i * kSide.pixels() * 2 + k);
      if (dtype == DType::f32) {
        x.f32()[at] = static_cast<float>(i);
      } else {
        x.u8()[at] = static_cast<uint8_t>(i);
      }
    }
    y.i32()[static_cast<size_t>(i)] = static_cast<int32_t>(i % kClasses);
  }
  return Dataset::from_tensors(std::move(x), std::move(y));
}

std::vector<float> values_of(const Tensor& tensor) {
  const Tensor values = cast(tensor, DType::f32);
  return {values.f32().begin(), values.f32().end()};
}

void expect_label(const Sample& sample, int64_t own, int64_t other, double share) {
  const std::vector<float> label = values_of(sample.y());
  ASSERT_EQ(std::ssize(label), kClasses);
  for (int64_t c = 0; c < kClasses; ++c) {
    double wanted = own % kClasses == c ? share : 0;
    if (other % kClasses == c) wanted += 1 - share;
    EXPECT_NEAR(label[static_cast<size_t>(c)], wanted, 1e-6);
  }
}

TEST(MixSamples, MixUpBlendsValuesAndLabels) {
  for (const bool neighbours : {false, true}) {
    const MixOptions options = {.mixup = 0.4, .seed = 3, .with_neighbour = neighbours};
    const Dataset mixed = mix_samples(flat_pictures(), kClasses, options);
    EXPECT_EQ(to_string(mixed.fields()), "x f32[6,8,2], y f32[5]");
    for (int64_t i = 0; i < kSamples; ++i) {
      const data::MixChoice choice = data::draw_mix(options, {3, 2, i}, kSamples, kSide);
      EXPECT_FALSE(choice.pastes);
      const Sample sample = mixed.get(i, 2);
      const double wanted = choice.share * static_cast<double>(i) +
                            (1 - choice.share) * static_cast<double>(choice.partner);
      for (const float value : values_of(sample.x())) ASSERT_NEAR(value, wanted, 1e-4);
      expect_label(sample, i, choice.partner, choice.share);
    }
  }
}

TEST(MixSamples, CutMixPastesABoxAndCountsItsArea) {
  const MixOptions options = {.cutmix = 1, .seed = 5};
  const Dataset mixed = mix_samples(flat_pictures(DType::u8), kClasses, options);
  EXPECT_EQ(to_string(mixed.fields()), "x u8[6,8,2], y f32[5]");
  int pasted_in_all = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    const data::MixChoice choice = data::draw_mix(options, {5, 0, i}, kSamples, kSide);
    const Sample sample = mixed.get(i);
    const std::vector<float> values = values_of(sample.x());
    int pasted = 0;
    for (int64_t y = 0; y < kSide.height; ++y) {
      for (int64_t x = 0; x < kSide.width; ++x) {
        const bool inside = y >= choice.box.y && y < choice.box.y + choice.box.height &&
                            x >= choice.box.x && x < choice.box.x + choice.box.width;
        const auto wanted = static_cast<float>(inside ? choice.partner : i);
        for (int64_t c = 0; c < 2; ++c) {
          ASSERT_EQ(values[static_cast<size_t>((y * kSide.width + x) * 2 + c)], wanted);
        }
        pasted += inside ? 1 : 0;
      }
    }
    pasted_in_all += pasted;
    expect_label(sample, i, choice.partner, 1 - pasted / static_cast<double>(kSide.pixels()));
  }
  EXPECT_GT(pasted_in_all, 0);
}

TEST(MixSamples, BytesAreRounded) {
  const MixOptions options = {.mixup = 1, .seed = 1};
  const Dataset mixed = mix_samples(flat_pictures(DType::u8), kClasses, options);
  for (int64_t i = 0; i < kSamples; ++i) {
    const data::MixChoice choice = data::draw_mix(options, {1, 0, i}, kSamples, kSide);
    const double exact = choice.share * static_cast<double>(i) +
                         (1 - choice.share) * static_cast<double>(choice.partner);
    EXPECT_NEAR(mixed.get(i).x().u8()[0], exact, 0.5 + 1e-4);
  }
}

// However the samples are divided into batches, also when a pair is cut apart.
TEST(MixSamples, AreTheSameInAnyBatch) {
  for (const bool neighbours : {false, true}) {
    const MixOptions options = {.mixup = 0.5, .cutmix = 1, .seed = 7, .with_neighbour = neighbours};
    const Dataset mixed = mix_samples(flat_pictures().shuffle({.seed = 2}), kClasses, options);
    std::vector<float> alone;
    for (int64_t i = 0; i < kSamples; ++i) {
      const Sample sample = mixed.get(i);
      for (const Tensor& field : sample.fields) {
        const std::vector<float> values = values_of(field);
        alone.insert(alone.end(), values.begin(), values.end());
      }
    }
    for (const int64_t size : {2, 3, 8, 31}) {
      std::vector<float> together;
      BatchStream stream = mixed.batch(size);
      while (const auto batch = stream.next()) {
        for (int64_t row = 0; row < batch->valid; ++row) {
          for (const Tensor& field : batch->fields) {
            const int64_t each = field.shape().elements_from(1);
            const auto values =
                field.f32().subspan(static_cast<size_t>(row * each), static_cast<size_t>(each));
            together.insert(together.end(), values.begin(), values.end());
          }
        }
      }
      EXPECT_EQ(together, alone) << "batches of " << size;
    }
  }
}

// A source that counts how many samples it is asked for.
class CountingSource : public DataSource {
 public:
  explicit CountingSource(SourcePtr inner)
      : DataSource(inner->fields(), inner->size()), inner_(std::move(inner)) {}
  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    gathered += std::ssize(indices);
    inner_->gather(epoch, indices, rows);
  }
  mutable int64_t gathered = 0;

 private:
  SourcePtr inner_;
};

TEST(MixSamples, NeighboursAreReadOnce) {
  const auto counting = std::make_shared<CountingSource>(flat_pictures().source());
  const Dataset mixed =
      mix_samples(Dataset(counting), kClasses, {.mixup = 0.2, .seed = 1, .with_neighbour = true});
  BatchStream stream = mixed.batch(8);
  while (stream.next()) {
  }
  EXPECT_EQ(counting->gathered, kSamples + 1);  // the last one has no neighbour in its batch
}

TEST(MixSamples, KeepsOtherFieldsAndBlendsSharesOfClasses) {
  const Dataset shares = one_hot(flat_pictures(), kClasses)
                             .add_field({"sample_weight", DType::f32, {}}, [](const SampleView& s) {
                               s.f32(0)[0] = static_cast<float>(s.index());
                             });
  const MixOptions options = {.mixup = 0.4, .seed = 3};
  const Dataset mixed = mix_samples(shares, kClasses, options);
  for (int64_t i = 0; i < kSamples; ++i) {
    const data::MixChoice choice = data::draw_mix(options, {3, 0, i}, kSamples, kSide);
    const Sample sample = mixed.get(i);
    expect_label(sample, i, choice.partner, choice.share);
    EXPECT_EQ(sample.fields[2].f32()[0], static_cast<float>(i));
  }
}

// Mean 1/2 and variance 1 / (4 (2 a + 1)) are those of Beta(a, a).
TEST(DrawMix, SharesHaveTheBetaDistribution) {
  constexpr int kShares = 20000;
  for (const double alpha : {0.05, 0.2, 1.0, 4.0}) {
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < kShares; ++i) {
      const double share = data::draw_mix({.mixup = alpha}, {9, 0, i}, 100, {}).share;
      ASSERT_GE(share, 0);
      ASSERT_LE(share, 1);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / kShares, 0.5, 0.015) << alpha;
    EXPECT_NEAR(squares / kShares, 1 / (4 * (2 * alpha + 1)), 0.006) << alpha;
  }
}

TEST(DrawMix, ChoosesPartnersOfTheWholeSet) {
  std::vector<int> chosen(10);
  int cuts = 0;
  for (int64_t i = 0; i < 5000; ++i) {
    const data::MixChoice choice =
        data::draw_mix({.mixup = 1, .cutmix = 1}, {1, i / 10, i % 10}, 10, {8, 8});
    ++chosen[static_cast<size_t>(choice.partner)];
    cuts += choice.pastes ? 1 : 0;
  }
  for (const int count : chosen) EXPECT_NEAR(count, 500, 90);
  EXPECT_NEAR(cuts, 2500, 150);
  for (int64_t i = 0; i < 7; ++i) {
    const int64_t partner =
        data::draw_mix({.mixup = 1, .with_neighbour = true}, {1, 0, i}, 7, {}).partner;
    EXPECT_EQ(partner, i == 6 ? 5 : i ^ 1);
  }
}

TEST(MixSamples, ChecksItsArguments) {
  const auto message = [](const Dataset& dataset, int64_t classes, const MixOptions& options) {
    return error_of([&] { mix_samples(dataset, classes, options); });
  };
  const Dataset good = flat_pictures();
  EXPECT_SAYS(message(good, kClasses, {}), "mixup and cutmix are 0");
  EXPECT_SAYS(message(good, kClasses, {.mixup = -1}), "mixup -1", "0 to 1000");
  EXPECT_SAYS(message(good, kClasses, {.cutmix = NAN}), "cutmix nan");
  EXPECT_SAYS(message(good, 0, {.mixup = 1}), "0 classes");
  const Dataset numbers =
      Dataset::from_tensors(Tensor(DType::i32, {3, 4}), Tensor(DType::i32, {3}));
  EXPECT_SAYS(message(numbers, kClasses, {.mixup = 1}), "x i32[4]", "f32 or u8");
  const Dataset rows = Dataset::from_tensors(Tensor(DType::f32, {3, 4}), Tensor(DType::i32, {3}));
  EXPECT_SAYS(message(rows, kClasses, {.cutmix = 1}), "[height,width,channels]");
  const Dataset masks =
      Dataset::from_tensors(Tensor(DType::f32, {3, 4, 4, 3}), Tensor(DType::i32, {3, 4, 4}));
  EXPECT_SAYS(message(masks, kClasses, {.mixup = 1}), "y i32[4,4]", "class numbers");
  const Dataset made = Dataset::from_generator([](int64_t) -> Generator {
    return [left = 2]() mutable -> std::optional<Sample> {
      if (left-- == 0) return std::nullopt;
      return Sample{{Tensor(DType::f32, {4}), Tensor(DType::i32, {})}};
    };
  });
  EXPECT_SAYS(message(made, kClasses, {.mixup = 1}), "one after the other", "cache()");
  EXPECT_SAYS(error_of([&] { mix_samples(good, 2, {.mixup = 1}).get(4); }), "label", "0 to 1");
}

}  // namespace
}  // namespace pando
