// Writes a small data set in the file format of MNIST that a network learns within a few steps.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/base/random.h"
#include "tests/app/test_folder.h"

namespace pando::app {

inline std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// Noise with a bright bar in the row that the label names.
inline void write_images(const TestFolder& folder, const std::string& stem, uint32_t count) {
  RandomStream random(count);
  std::string images = big_endian(0x803) + big_endian(count) + big_endian(28) + big_endian(28);
  std::string labels = big_endian(0x801) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto label = static_cast<int>(random.next_below(10));
    labels.push_back(static_cast<char>(label));
    for (int pixel = 0; pixel < 28 * 28; ++pixel) {
      const bool bar = pixel / 28 / 2 == label;
      images.push_back(static_cast<char>(bar ? 200 : random.next_below(64)));
    }
  }
  folder.write(stem + "-images-idx3-ubyte", images);
  folder.write(stem + "-labels-idx1-ubyte", labels);
}

inline void write_mnist(const TestFolder& folder) {
  write_images(folder, "train", 200);
  write_images(folder, "t10k", 50);
}

}  // namespace pando::app
