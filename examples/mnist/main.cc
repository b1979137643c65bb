// The first program: a small network learns to distinguish ten kinds of clothes (Fashion-MNIST).
// usage: mnist [SAMPLES]   SAMPLES: how many samples to use for training and for testing
// SPDX-License-Identifier: MIT
#include <iostream>
#include <optional>
#include <string>

#include <pando/pando.h>

int main(int argc, char** argv) try {
  using namespace pando;
  const std::string given = argc > 1 ? argv[1] : "";
  const std::optional<int64_t> number = parse_int(given);
  if (argc > 2 || (!given.empty() && number.value_or(0) < 1)) {
    std::cout << "usage: mnist [SAMPLES]   SAMPLES: a whole number of at least 1\n";
    return given == "-h" || given == "--help" ? 0 : 2;
  }
  const TrainTest data = load_fashion_mnist();
  const int64_t samples = number.value_or(data.train.size());

  Model model(Sequential({28, 28, 1},
                         {
                             Conv2D({.filters = 32, .kernel = {3, 3}, .activation = "relu"}),
                             MaxPooling2D(),
                             Conv2D({.filters = 64, .kernel = {3, 3}, .activation = "relu"}),
                             MaxPooling2D(),
                             Flatten(),
                             Dropout({.rate = 0.5}),
                             Dense({.units = data.classes, .activation = "softmax"}),
                         }),
              {.name = "mnist"});
  std::cout << model.summary();

  model.compile({.optimizer = SGD({.learning_rate = 0.01, .momentum = 0.9}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  model.fit(data.train.take(samples), {.epochs = 3, .batch_size = 64});

  std::cout << "test";
  for (const auto& [name, value] : model.evaluate(data.test.take(samples), {.batch_size = 64})) {
    std::cout << " - " << name << ": " << value;
  }
  std::cout << "\n";
  model.save_weights("mnist.h5");
} catch (const std::exception& error) {
  std::cerr << "mnist: " << error.what() << "\n";
  return 1;
}
