// Finds out what the arrays in files of NumPy mean: which are pictures, which are labels, for
// training or for validation, and which task they fit.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando::datasets {

// The meaning of the name of an array.
struct ArrayRole {
  bool labels = false;  // otherwise features
  std::string part;     // "train", "validation", "val", "valid", "test"; "" for all samples
};
// Reads x_train, train_images, X_test, y, ...; nothing for other names.
std::optional<ArrayRole> role_of_array(std::string_view name);

// The features and labels of one part, with the places they came from.
struct ArrayPart {
  Tensor x;
  Tensor y;
  std::string x_place;
  std::string y_place;
};

struct NumpyArrays {
  ArrayPart train;
  std::optional<ArrayPart> validation;
  std::vector<std::string> warnings;  // about arrays that are not read
};

// Reads the arrays of an .npz file, or of a folder with .npy files or with one .npz file. Where
// there are several parts besides training, the first of validation, val, valid and test is read.
// Throws IoError for files that cannot be read and arrays that are missing or do not fit together.
NumpyArrays read_numpy(const std::string& path);

// The task that labels are for.
struct ArrayTask {
  std::string task;     // of zoo/task.h
  int64_t outputs = 0;  // classes, or numbers to predict
};

// Gives the features and labels of all parts the shapes and types of samples:
// - x [n, height, width] gets a channel; 2 or 3 axes and channels stay; integers but bytes become
//   f32.
// - y of integers [n], [n, 1]: classes, i32 [n].
// - y of integers of the shape of x without channels or with one: classes of pixels; 255 of bytes
//   and -1 are not labelled.
// - y of real numbers [n], [n, k]: f32 [n, k] values; but rows of 0 and 1 are classes, one or
//   several for each sample.
// Throws IoError for other arrays, parts of different shapes or types, classes below 0 or above
// 999999, and numbers that are not finite.
ArrayTask shape_arrays(NumpyArrays& arrays);

}  // namespace pando::datasets
