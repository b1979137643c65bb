// Two inputs, two outputs: a picture and three numbers in, a class and a value out. A gauge shows a
// bar in one of three corners; the numbers are the slope and the offset of its scale, and the age
// of the gauge, which does not matter. The program learns which corner it is and what the gauge
// says, and fails if it did not learn both.
// usage: two_inputs [SAMPLES]   SAMPLES: how many gauges to learn from (default: 4096)
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>

#include <pando/pando.h>

namespace {

using namespace pando;

constexpr int64_t kSide = 16;

// Fields by the names of the inputs and outputs that they belong to.
Dataset make_gauges(int64_t count, uint32_t seed) {
  Tensor picture(DType::f32, {count, kSide, kSide, 1}), scale(DType::f32, {count, 3});
  Tensor corner(DType::i32, {count}), value(DType::f32, {count, 1});
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<float>(random() % 10000) / 10000; };
  for (int64_t i = 0; i < count; ++i) {
    float* pixels = picture.f32().data() + i * kSide * kSide;
    for (int64_t k = 0; k < kSide * kSide; ++k) pixels[k] = 0.1f * uniform();
    const auto which = static_cast<int32_t>(random() % 3);
    const int64_t top = which == 2 ? 9 : 1, left = which == 1 ? 9 : 1;
    const int64_t height = 1 + static_cast<int64_t>(random() % 6);
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < 6; ++x) pixels[(top + y) * kSide + left + x] = 1;
    }
    const float slope = 0.5f + uniform(), offset = uniform(), age = uniform();
    std::ranges::copy(std::array{slope, offset, age}, scale.f32().data() + 3 * i);
    corner.i32()[static_cast<size_t>(i)] = which;
    value.f32()[static_cast<size_t>(i)] = slope * static_cast<float>(height) / 6 + offset;
  }
  return Dataset::from_fields(
      {{"picture", picture}, {"scale", scale}, {"corner", corner}, {"value", value}});
}

Model gauge_reader() {
  const SymbolicTensor picture = Input({kSide, kSide, 1}, {.name = "picture"});
  const SymbolicTensor scale = Input({3}, {.name = "scale"});
  SymbolicTensor x = Conv2D({.filters = 8, .kernel = {3, 3}, .activation = "relu"})(picture);
  x = Flatten()(MaxPooling2D()(x));
  x = Dense({.units = 32, .activation = "relu"})(x);
  x = Dense({.units = 64, .activation = "relu"})(Concatenate()({x, scale}));
  const SymbolicTensor corner = Dense({.units = 3, .activation = "softmax", .name = "corner"})(x);
  return Model({picture, scale}, {corner, Dense({.units = 1, .name = "value"})(x)},
               {.name = "two_inputs", .seed = 1});
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string given = argc > 1 ? argv[1] : "";
  const std::optional<int64_t> number = given.empty() ? 4096 : parse_int(given);
  if (argc > 2 || number.value_or(0) < 1) {
    std::cout << "usage: two_inputs [SAMPLES]   SAMPLES: a whole number of at least 1\n";
    return given == "-h" || given == "--help" ? 0 : 2;
  }
  Model model = gauge_reader();
  std::cout << model.summary();
  model.compile({.optimizer = Adam({.learning_rate = 0.003}),
                 .loss = {{"corner", "sparse_categorical_crossentropy"}, {"value", "mse"}},
                 .loss_weights = {{"value", 4.0}},
                 .metrics = {{"corner", {"accuracy"}}, {"value", {"mae", "r2_score"}}}});
  model.fit(make_gauges(number.value(), 1), {.epochs = 8, .batch_size = 32, .verbose = 2});

  const Dataset others = make_gauges(512, 2);  // that it has not seen
  std::map<std::string, double> found;
  for (const auto& [name, value] : model.evaluate(others, {.batch_size = 32})) found[name] = value;
  std::cout << "corners " << found.at("corner_accuracy") << ", values R2 "
            << found.at("value_r2_score") << "\n";
  const std::vector<Tensor> answers = model.predict_all(others.take(1));
  std::cout << "first gauge: " << answers[1].f32()[0] << "\n";
  const bool learned = found.at("corner_accuracy") > 0.98 && found.at("value_r2_score") > 0.95;
  if (!learned) std::cerr << "two_inputs: expected accuracy over 0.98 and R2 over 0.95\n";
  return learned ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "two_inputs: " << error.what() << "\n";
  return 1;
}
