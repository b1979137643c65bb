// CIFAR-10 and CIFAR-100: 32x32 colour images in the files of the official archives, the binary
// version and the Python version, read and written; and small sets made in the same form.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/sources/train_test.h"

namespace pando {

enum class CifarLabels { fine, coarse };  // the 100 classes or the 20 groups of CIFAR-100

struct CifarOptions {
  DType x = DType::f32;  // f32: in [0, 1], kept as bytes in memory; u8: the bytes as they are
  CifarLabels labels = CifarLabels::fine;
  // If given, images whose labels are out of range, and bytes after the last whole record, are left
  // out and listed here; otherwise they are errors.
  std::vector<BadRecord>* skipped = nullptr;
};

// `folder` holds the files of one version, or the folder that the official archive unpacks to:
// data_batch_1.bin to data_batch_5.bin and test_batch.bin, or the same names without .bin; for
// CIFAR-100 train.bin and test.bin, or train and test. The binary version is taken when both are
// there. The fields are x [32,32,3] and y i32. Throws IoError, which names the file and the offset,
// when files are missing or damaged, and InvalidArgument for another type of x.
TrainTest load_cifar10(const std::string& folder, const CifarOptions& options = {});
TrainTest load_cifar100(const std::string& folder, const CifarOptions& options = {});

// The images of one or more files.
struct CifarImages {
  Tensor images;         // u8 [count,32,32,3]
  Tensor labels;         // i32 [count]
  Tensor coarse_labels;  // i32 [count]; CIFAR-100 only
};

struct CifarFiles {
  CifarImages train;
  CifarImages test;
};

// Read the same files without making data sets of them.
CifarFiles read_cifar10(const std::string& folder);
CifarFiles read_cifar100(const std::string& folder);

// Write the files into `folder`, which is made if necessary; the training images of CIFAR-10 are
// divided over five files. Throw InvalidArgument for images and labels that the files cannot hold,
// IoError when they cannot be written.
void write_cifar10_binary(const std::string& folder, const CifarFiles& files);
void write_cifar10_python(const std::string& folder, const CifarFiles& files);
void write_cifar100_binary(const std::string& folder, const CifarFiles& files);
void write_cifar100_python(const std::string& folder, const CifarFiles& files);

// The names of the classes in the order of the labels.
const std::vector<std::string>& cifar10_names();
const std::vector<std::string>& cifar100_names();
const std::vector<std::string>& cifar100_coarse_names();

struct MakeCifarOptions {
  int64_t train = 2000;
  int64_t test = 500;
  uint64_t seed = 0;
  bool python = false;  // the Python version instead of the binary one
};

// Makes images that a network can learn: a striped disc at a random place on a shaded background.
// The class is the colour of the disc (one of five, of which neighbours overlap) and the direction
// of its stripes (horizontal or vertical, with any phase), so that neither colours nor pixels at
// fixed places determine it alone. The images are a pure function of the options; the numbers of
// images of the classes differ by at most one. Throws InvalidArgument for fewer than 5 training
// images or 1 test image, one for each file.
CifarFiles make_cifar10_images(const MakeCifarOptions& options = {});

// Writes them into folder/cifar-10-batches-bin or folder/cifar-10-batches-py and returns that path.
std::string make_cifar10(const std::string& folder, const MakeCifarOptions& options = {});

}  // namespace pando
