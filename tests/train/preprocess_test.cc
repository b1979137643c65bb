// Wherever samples are preprocessed, a model learns the same.
#include "pando/data/image/augmented.h"
#include "pando/zoo/preprocessing.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

constexpr int64_t kSide = 8;

// Photographs of three classes: bytes, brighter in one of three bands, darker to the right.
Dataset photographs(int64_t count, int64_t channels) {
  Tensor x(DType::u8, {count, kSide, kSide, channels});
  Tensor y(DType::i32, {count});
  RandomStream random(17);
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t n = i / (kSide * kSide * channels);
    const int64_t row = i / (kSide * channels) % kSide;
    const int64_t column = i / channels % kSide;
    const auto label = static_cast<int32_t>(n * 7 % 3);
    y.i32()[static_cast<size_t>(n)] = label;
    const int64_t bright = row / 3 == label ? 90 : 10;
    x.u8()[static_cast<size_t>(i)] = static_cast<uint8_t>(
        bright + 10 * (kSide - column) + static_cast<int64_t>(random.next_below(60)));
  }
  return Dataset::from_tensors(std::move(x), std::move(y));
}

Network body(int64_t channels) {
  const SymbolicTensor input = Input({kSide, kSide, channels});
  SymbolicTensor x = Conv2D(
      {.filters = 4, .kernel = {3, 3}, .padding = "same", .activation = "relu", .name = "first"})(
      input);
  x = MaxPooling2D({.name = "pool"})(x);
  x = Flatten({.name = "flat"})(x);
  return Network(input, Dense({.units = 3, .activation = "softmax", .name = "last"})(x));
}

struct DeviceUse {
  int devices = 1;
  int64_t micro_batch = 8;
  int accumulation = 1;
  std::vector<std::string> splits = {};
  Precision precision = {};
};

struct Course {
  std::vector<double> losses;
  double test_loss = 0;  // on samples that are not augmented
};

// Three epochs of five weight updates from the same seed, then an evaluation.
Course train(const Dataset& data, const Dataset& test, const PreprocessOptions& options,
             const DeviceUse& how = {}) {
  const int64_t channels = data.fields()[0].shape.back();
  const DeviceStrategy strategy({.devices = how.devices});
  const auto scope = strategy.scope();
  Model model(with_preprocessing(body(channels), options), {.seed = 3});
  if (!how.splits.empty()) model.set_pipeline_splits(how.splits);
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = how.accumulation});
  CompileOptions compiling =
      classifier(SGD({.learning_rate = 0.05, .momentum = 0.9}), {.slices = 2});
  compiling.precision = how.precision;
  model.compile(compiling);
  Course course;
  course.losses =
      model.fit(data, {.epochs = 3, .batch_size = how.micro_batch, .verbose = 0})["loss"];
  course.test_loss = value_of(model.evaluate(test, {.batch_size = 8}), "loss");
  return course;
}

void expect_same(const Course& found, const Course& wanted, const std::string& what) {
  ASSERT_EQ(found.losses.size(), wanted.losses.size());
  for (size_t i = 0; i < wanted.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i], wanted.losses[i], 2e-5) << what << ", epoch " << i;
  }
  EXPECT_NEAR(found.test_loss, wanted.test_loss, 2e-5) << what;
}

// The host leaves the flip and the values to the device.
struct Ways {
  Dataset images;
  Dataset test;
  PreprocessValues values;
  int64_t border = 0;

  Course device(bool eight_bit, bool fused, const DeviceUse& how = {}) const {
    const AugmentOptions left = {.values = eight_bit ? PixelValues::bytes : PixelValues::plain,
                                 .flip = true,
                                 .flip_on_device = true,
                                 .border = border,
                                 .seed = 9};
    const AugmentOptions plain = {.values = left.values};
    return train(augment_images(images, left), augment_images(test, plain),
                 {.eight_bit = eight_bit, .values = values, .flip = true, .fused = fused}, how);
  }

  void expect_all(const Course& wanted) const {
    for (const bool eight_bit : {false, true}) {
      for (const bool fused : {false, true}) {
        expect_same(device(eight_bit, fused), wanted,
                    concat(eight_bit ? "eight bits" : "numbers", fused ? ", fused" : ""));
      }
    }
  }
};

Dataset by_255(const Dataset& data) {
  return data.map_in_place([](const SampleView& sample) {
    for (float& value : sample.f32(0)) value *= 1.0f / 255;
  });
}

TEST(Preprocess, ScalingIsTheSameOnTheDevice) {
  for (const int64_t channels : {1, 3}) {
    const Ways ways{photographs(40, channels), photographs(20, channels),
                    PreprocessValues::scale_255, 2};
    const Dataset train_set = augment_images(
        ways.images, {.values = PixelValues::plain, .flip = true, .border = 2, .seed = 9});
    const Dataset test_set = augment_images(ways.test, {.values = PixelValues::plain});
    const Course host = train(by_255(train_set), by_255(test_set), {});
    EXPECT_LT(host.losses.back(), 0.97 * host.losses.front());  // there is something to learn
    const Dataset unchanged = augment_images(ways.images, {.values = PixelValues::plain});
    const Course without = train(by_255(unchanged), by_255(test_set), {});
    EXPECT_GT(std::abs(without.losses[2] - host.losses[2]), 1e-3);  // and augmenting matters
    ways.expect_all(host);
  }
}

Course normalised_on_the_host(const Ways& ways, const DeviceUse& how = {}) {
  return train(
      augment_images(ways.images, {.values = PixelValues::normalised, .flip = true, .seed = 9}),
      augment_images(ways.test, {.values = PixelValues::normalised}), {}, how);
}

TEST(Preprocess, NormalisingIsTheSameOnTheDevice) {
  const Ways ways{photographs(40, 3), photographs(20, 3), PreprocessValues::normalise_imagenet};
  ways.expect_all(normalised_on_the_host(ways));
}

TEST(Preprocess, SoItIsOnManyDevices) {
  const Ways ways{photographs(40, 3), photographs(20, 3), PreprocessValues::normalise_imagenet};
  const Course host = normalised_on_the_host(ways);
  const std::vector<DeviceUse> spreads = {
      {.devices = 2, .micro_batch = 4},
      {.micro_batch = 2, .accumulation = 4},
      {.devices = 2, .micro_batch = 2, .accumulation = 4, .splits = {"flat"}},
      {.devices = 4, .micro_batch = 2, .accumulation = 2, .splits = {"first"}},
      {.micro_batch = 1, .accumulation = 8}};  // calls in parts
  for (size_t i = 0; i < spreads.size(); ++i) {
    for (const bool fused : {false, true}) {
      expect_same(ways.device(true, fused, spreads[i]), host, concat("spread ", i));
    }
  }
}

// The devices get bytes and convert them to 16-bit numbers.
TEST(Preprocess, BytesMayBecomeHalfPrecision) {
  const Ways ways{photographs(40, 3), photographs(20, 3), PreprocessValues::normalise_imagenet};
  const Course host = normalised_on_the_host(ways);
  for (const char* precision : {"16.16", "bf16.32"}) {
    for (const bool fused : {false, true}) {
      const Course half = ways.device(true, fused, {.precision = parse_precision(precision)});
      for (size_t i = 0; i < host.losses.size(); ++i) {
        EXPECT_NEAR(half.losses[i], host.losses[i], 0.03) << precision;
      }
      EXPECT_NEAR(half.test_loss, host.test_loss, 0.03) << precision;
    }
  }
  Model model(with_preprocessing(body(3), {.eight_bit = true}));
  CompileOptions compiling = classifier(SGD(), {.slices = 2});
  compiling.precision = {DType::f16, DType::f16};
  model.compile(compiling);
  const std::string report =
      model.compile_report(8, {{"x", DType::u8, {kSide, kSide, 3}}, {"y", DType::i32, {}}});
  EXPECT_SAYS(report, "; 1 cast\n");
  const std::string cast_call = report.substr(report.find(" cast  "));
  EXPECT_SAYS(cast_call.substr(0, cast_call.find('\n', 1)), " 1.5 KiB");  // 4 samples of 16 bits
}

// The host standardises each image before it adds a border of zeros; the device does so afterwards,
// so that the zeros count in its mean and deviation.
TEST(Preprocess, StandardisingOnTheDeviceIncludesTheBorder) {
  const Dataset images = photographs(40, 3), test = photographs(20, 3);
  const Dataset eval = augment_images(test, {.values = PixelValues::standardised});
  for (const int64_t border : {0, 4}) {
    const Ways ways{images, test, PreprocessValues::standardise, border};
    AugmentOptions options = {
        .values = PixelValues::standardised, .flip = true, .border = border, .seed = 9};
    const Course before = train(augment_images(images, options), eval, {});
    options.values = PixelValues::plain;
    const Dataset late = augment_images(images, options).map_in_place([](const SampleView& sample) {
      standardise(sample.f32(0));
    });
    ways.expect_all(train(late, eval, {}));
    if (border == 0) {
      ways.expect_all(before);
    } else {
      EXPECT_GT(std::abs(ways.device(true, false).losses[0] - before.losses[0]), 1e-3);
    }
  }
}

TEST(Preprocess, VerificationKnowsBytes) {
  Model model(with_preprocessing(
      body(3),
      {.eight_bit = true, .values = PreprocessValues::standardise, .flip = true, .fused = true}));
  model.compile(classifier(SGD(), {.slices = 2}));
  const Verification verification = model.verify(
      5, {{"x", DType::u8, {kSide, kSide, 3}}, {"y", DType::i32, {}}, {"flip", DType::u8, {}}});
  EXPECT_TRUE(verification.ok) << verification.table;
}

// Inference takes bytes too, and needs no flags.
TEST(Preprocess, InferenceTakesBytes) {
  const auto predicted = [](bool eight_bit) {
    Tensor x(eight_bit ? DType::u8 : DType::f32, {2, kSide, kSide, 3});
    for (int64_t i = 0; i < x.elements(); ++i) {
      const auto value = static_cast<uint8_t>(i * 37 % 251);
      if (eight_bit) x.u8()[static_cast<size_t>(i)] = value;
      if (!eight_bit) x.f32()[static_cast<size_t>(i)] = value;
    }
    Model model(with_preprocessing(
        body(3), {.eight_bit = eight_bit, .values = PreprocessValues::scale_255, .flip = true}));
    return model.predict(x);
  };
  EXPECT_TRUE(same_bits(predicted(true), predicted(false)));
}

}  // namespace
}  // namespace pando
