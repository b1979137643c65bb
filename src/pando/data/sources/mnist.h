// MNIST, Fashion-MNIST and other data sets in the same four IDX files.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/sources/train_test.h"

namespace pando {

// Where the Debian package dataset-fashion-mnist puts its files.
inline constexpr const char* kFashionMnistDirectory = "/usr/share/datasets/fashion-mnist";

struct MnistLikeOptions {
  int64_t classes = 10;  // labels are 0 to classes - 1
  DType x = DType::f32;  // f32: in [0, 1], kept as bytes in memory; u8: the bytes as they are
  // If given, samples with other labels are left out and listed here; otherwise they are errors.
  std::vector<BadRecord>* skipped = nullptr;
  std::string remedy;  // ends the error about missing files
};

// Reads {train,t10k}-{images-idx3,labels-idx1}-ubyte, each raw or .gz. The fields are x
// [height, width, 1] and y i32. Throws IoError, which names the path, when files are missing,
// damaged or do not belong together.
TrainTest load_mnist_like(const std::string& directory, const MnistLikeOptions& options = {});

// The names of Fashion-MNIST's classes in the order of the labels.
const std::vector<std::string>& fashion_mnist_names();

namespace data {
// The files without .gz: images and labels for training, images and labels for testing.
inline constexpr std::array<const char*, 4> kMnistFiles = {
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte"};
// The path of a file, raw or compressed; "" when it is not there.
std::string find_mnist_file(const std::string& directory, const std::string& name);
}  // namespace data

// Like load_mnist_like(); the error about missing files tells how to get them.
TrainTest load_mnist(const std::string& directory, MnistLikeOptions options = {});
TrainTest load_fashion_mnist(const std::string& directory = kFashionMnistDirectory,
                             MnistLikeOptions options = {});

}  // namespace pando
