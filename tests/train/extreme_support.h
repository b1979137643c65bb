// Tests of numbers that make no sense: a case for each number that a layer takes.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/train/train_support.h"

namespace pando {

inline constexpr int64_t kTwo31 = int64_t{1} << 31;
inline constexpr int64_t kTwo62 = int64_t{1} << 62;
inline const std::vector<int64_t> kNumbers = {0, 1, -1, kTwo31, kTwo62};

// What a number of a layer does: describes, builds, trains and predicts.
struct LayerCase {
  std::string number;
  Shape input;
  std::function<Layer(int64_t)> make;
  std::vector<int64_t> right;  // the numbers that are not errors
};

// The first word of each case is the name of its layer. extreme_numbers_test.cc:
std::vector<LayerCase> window_layer_cases();
// extreme_layers_test.cc:
std::vector<LayerCase> other_layer_cases();

inline Dataset two_rows(const Shape& sample) {
  std::vector<int64_t> dims = {2};
  dims.insert(dims.end(), sample.begin(), sample.end());
  return Dataset::from_tensors(random_tensor(Shape(dims), 3), Tensor::of_i32({2}, {0, 1}));
}

// "" if all went well; throws everything that is not a pando::Error.
inline std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text, "");
    // No words of the standard library.
    for (const char* raw : {"std::", "_M_", "vector", "stoi"}) {
      EXPECT_EQ(text.find(raw), std::string::npos) << text;
    }
    return text;
  }
  return "";
}

inline void use(const LayerCase& number, int64_t value) {
  const SymbolicTensor input = Input(number.input);
  const Layer layer = number.make(value);
  SymbolicTensor x =
      number.number.starts_with("Concat") ? layer(std::vector{input, input}) : layer(input);
  x = Dense({.units = 2, .activation = "softmax"})(Flatten()(x));
  Model model = compiled(Network(input, x), classifier("sgd", {.threads = 1}));
  const Dataset data = two_rows(number.input);
  const History history = model.fit(data, {.batch_size = 2, .verbose = 0});
  EXPECT_TRUE(std::isfinite(history["loss"][0])) << number.number << " " << value;
  const Tensor predicted = model.predict(data, {.batch_size = 2});
  for (const float p : predicted.f32()) EXPECT_TRUE(p >= 0 && p <= 1) << number.number;
}

// Each number of kNumbers is a typed error or works; the ones in `right` work, and negative ones
// that are not in it are errors.
inline void expect_errors_or_work(const std::vector<LayerCase>& cases) {
  for (const LayerCase& number : cases) {
    for (const int64_t value : kNumbers) {
      SCOPED_TRACE(number.number + " " + std::to_string(value));
      std::string failure;
      EXPECT_NO_THROW(failure = failure_of([&] { use(number, value); }));
      const bool right = std::ranges::count(number.right, value) > 0;
      if (right || value < 0) {
        EXPECT_EQ(failure == "", right) << failure;
      }
    }
  }
}

}  // namespace pando
