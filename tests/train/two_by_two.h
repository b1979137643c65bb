// A network with two inputs and two outputs, and data for it.
// SPDX-License-Identifier: MIT
#pragma once

#include "tests/train/train_support.h"

namespace pando {

// A picture and numbers in; a class and a value out.
inline Network two_by_two() {
  const SymbolicTensor picture = Input({6, 6, 1}, {.name = "picture"});
  const SymbolicTensor numbers = Input({3}, {.name = "numbers"});
  const SymbolicTensor seen = Flatten()(MaxPooling2D()(
      Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "relu", .name = "see"})(picture)));
  const SymbolicTensor both =
      Concatenate()({seen, Dense({.units = 5, .activation = "tanh", .name = "read"})(numbers)});
  const SymbolicTensor mixed = Dense({.units = 8, .activation = "relu", .name = "mix"})(both);
  return Network({picture, numbers},
                 {Dense({.units = 3, .activation = "softmax", .name = "kind"})(mixed),
                  Dense({.units = 1, .name = "amount"})(mixed)});
}

struct FieldRows {
  Images seen;
  Tensor numbers, amount;
};

inline FieldRows field_rows(int64_t count) {
  FieldRows rows{images(count), random_tensor({count, 3}, 3), Tensor(DType::f32, {count, 1})};
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(i);
    rows.amount.f32()[row] =
        rows.numbers.f32()[3 * row] - 0.5f * static_cast<float>(rows.seen.y.i32()[row]);
  }
  return rows;
}

inline Dataset field_data(int64_t count) {
  FieldRows rows = field_rows(count);
  return Dataset::from_fields({{"kind", rows.seen.y},
                               {"numbers", rows.numbers},
                               {"picture", rows.seen.x},
                               {"amount", rows.amount}});
}

inline CompileOptions both_losses() {
  return {.optimizer = SGD({.learning_rate = 0.05}),
          .loss = {{"kind", "sparse_categorical_crossentropy"}, {"amount", "mse"}},
          .loss_weights = {{"amount", 0.5}},
          .metrics = {{"kind", {"accuracy"}}, {"amount", {"mae"}}}};
}

inline FitOptions plain_fit(int64_t epochs = 1) {
  return {.epochs = epochs, .batch_size = 8, .shuffle = false, .verbose = 0};
}

}  // namespace pando
