// One file of a CIFAR archive, in memory. Private to the sources.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pando/data/sources/cifar/cifar.h"

namespace pando::data {

inline constexpr size_t kCifarPixels = 32 * 32;
inline constexpr size_t kCifarBytes = 3 * kCifarPixels;

enum class CifarKind { cifar10, cifar100 };
enum class CifarForm { binary, python };

inline constexpr int32_t cifar_classes(CifarKind kind) {
  return kind == CifarKind::cifar10 ? 10 : 100;
}
inline constexpr int32_t kCifarCoarseClasses = 20;

// How a version of an archive names its files.
struct CifarLayout {
  CifarForm form;
  const char* folder;
  const char* archive;
  std::vector<std::string> train;
  std::string test;
  std::string test_label;                 // of the Python version
  std::vector<std::string> train_labels;  // the same, one for each file
};

CifarLayout cifar_layout(CifarKind kind, CifarForm form);

// Where the files of a data set are.
struct CifarPlace {
  CifarForm form = CifarForm::binary;
  std::string folder;
  std::vector<std::string> train;  // paths, also of files that are not there
  std::string test;
  std::vector<std::string> found;  // names
  std::vector<std::string> missing;
};

// The place at or below `folder` that has all files, or else the one with the most files.
CifarPlace find_cifar(const std::string& folder, CifarKind kind);
// Tells users how to get missing files.
std::string cifar_remedy(const std::string& folder, CifarKind kind);

// An error in a file that leaves the rest readable.
struct CifarFlaw {
  size_t offset = 0;
  std::string why;
};

// Throw IoError. `place` names the file. With `flaws`, labels out of range (then -1 in the result)
// and the end of a file that is cut are added there instead: the result has the images before it.
CifarImages parse_cifar_binary(std::span<const uint8_t> content, const std::string& place,
                               CifarKind kind, std::vector<CifarFlaw>* flaws = nullptr);
CifarImages parse_cifar_python(std::span<const uint8_t> content, const std::string& place,
                               CifarKind kind, std::vector<CifarFlaw>* flaws = nullptr);

// Convert the three planes of one image to pixels, and back.
void interleave_planes(const uint8_t* planes, uint8_t* pixels);
void split_planes(const uint8_t* pixels, uint8_t* planes);

}  // namespace pando::data
